"""Exercises that say what is wrong with an answer.

A reader calls one function::

    exercises.check("one-mean-a-row", answer)      # prints "Right. …" or "Not yet: …"

The exercises of a chapter are a dict ``EXERCISES`` in the module ``exercises`` of its folder::

    EXERCISES = {
        "one-mean-a-row": Function(
            lambda x: x.mean(axis=1),
            cases=lambda rng: [
                (np.array([[1.0, 2.0], [3.0, 5.0]]),),
                (rng.normal(size=(4, 6)),),
            ],
            misconceptions={
                "these are the means of the columns; an example is a row.": lambda x: x.mean(axis=0)
            },
            on_success="One mean an example, whatever else the batch holds.",
        ),
        "unbiased-at-four": Value(
            1.1547,
            misconceptions={
                1.3333: "that is the ratio of the variances; the outputs change by its root.",
            },
            on_success="It is √(4/3).",
            hint="compare the two standard deviations of the same four numbers.",
        ),
    }

An exercise says what it knows of a misconception; what is wrong with any other answer the engine
finds by itself: the dots of the starter, a wrong signature, an exception, a wrong shape, NaN, an
input written over, and at last the smallest case whose numbers differ. Texts that follow
"Not yet: " begin in lower case and, like the others, end with a full stop.
"""

import dataclasses
import difflib
import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lnbook import _feedback

HERE = Path(__file__).parent


def chapters() -> list[str]:
    """Return the chapters that have exercises, by name."""
    return sorted(path.parent.name for path in HERE.glob("chapters/*/exercises.py"))


def check(name: str, answer: object, *, seed: int = 0) -> None:
    """Print whether an answer to an exercise is right and, if it is not, what to look at.

    Args:
        name: The exercise, as its chapter calls it.
        answer: A function, a number, an array or a text, whichever the exercise asks for.
        seed: A function is tried on inputs drawn with it; homework gives each class its own.

    Raises:
        ValueError: If there is no exercise of this name.

    Example:
        >>> check("two-units", ...)
        Not yet: the answer is still `...`; put yours in its place.
    """
    text = feedback(name, answer, seed=seed)
    print(f"Right. {find(name).on_success}" if text is None else f"Not yet: {text}")


def feedback(name: str, answer: object, *, seed: int = 0) -> str | None:
    """Return what :func:`check` says is wrong with an answer, ``None`` if nothing is."""
    exercise = find(name, seed=seed)
    if _feedback.missing(answer):
        return "the answer is still `...`; put yours in its place."
    return exercise.feedback(answer)


def find(name: str, *, seed: int = 0) -> "Exercise":
    """Return the exercise of this name, its inputs drawn with a seed if it draws any."""
    if not isinstance(name, str) or name not in _all():
        near = difflib.get_close_matches(str(name), names(), cutoff=0.5)
        hint = "did you mean " + " or ".join(map(repr, near)) if near else "try exercises.names()"
        raise ValueError(f"check: name must be an exercise of the book, got {name!r}; {hint}")
    exercise = _all()[name]
    return dataclasses.replace(exercise, seed=seed) if isinstance(exercise, Function) else exercise


def names() -> list[str]:
    """Return the names of all exercises, chapter by chapter."""
    return list(_all())


@functools.cache
def _all() -> dict[str, "Exercise"]:
    results: dict[str, Exercise] = {}
    for chapter in chapters():
        module = importlib.import_module(f"lnbook.chapters.{chapter}.exercises")
        for name, exercise in module.EXERCISES.items():
            if name in results:
                raise ValueError(f"{chapter}: an exercise {name!r} exists already; rename this one")
            results[name] = exercise
    return results


@dataclass(frozen=True)
class Function:
    """An answer that is a function, run on several cases beside a reference.

    The cases are made anew for each run, so an answer that writes into its input spoils nothing.

    Args:
        reference: What the answer should compute. Its signature names the arguments. A tuple
            stands for several results.
        cases: From a generator to tuples of arguments; a small one among them, since the smallest
            that fails is shown.
        on_success: What the reader has now seen, in a sentence or two.
        misconceptions: From what to say of a misconception to the function that has it. It may
            raise in some of the cases, not in all.
        tolerance: Relative and absolute. For an answer that simulates, a few standard errors.
        returns: Names of the results, if there are several.
        dtype: Whether the result must be of the reference's dtype.
        seed: Of the generator.
    """

    reference: Callable
    cases: Callable[[np.random.Generator], Iterable[tuple]]
    on_success: str
    misconceptions: Mapping[str, Callable] = field(default_factory=dict)
    tolerance: float = 1e-6
    returns: Sequence[str] = ()
    dtype: bool = False
    seed: int = 0

    @property
    def varies(self) -> bool:
        """Whether another seed gives other inputs."""
        rng = np.random.default_rng(0)
        list(self.cases(rng))
        return rng.bit_generator.state != np.random.default_rng(0).bit_generator.state

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, ``None`` if nothing is."""
        if not callable(answer):
            return f"the answer must be a function, got {_feedback.kind(answer)}."
        cases = self._cases()
        if not _takes(answer, cases[0]):
            return (
                f"the function must take {_feedback.signature(self.reference)}, "
                f"yours takes {_feedback.signature(answer)}."
            )
        runs = self.run(answer)
        for sentence, misconception in self.misconceptions.items():
            if self._same(runs, self.run(misconception)):
                return sentence
        results = list(zip(cases, self.run(self.reference), runs, strict=True))
        for args, expected, run in sorted(results, key=lambda case: _feedback.size(case[0])):
            if problem := self._problem(args, expected.result, run, answer):
                return problem
        return None

    def run(self, function: Callable) -> list["Run"]:
        """Run a function on every case, quietly."""
        runs = []
        for args in self._cases():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    runs.append(Run(args, function(*args)))
                except Exception as error:
                    runs.append(Run(args, error=error))
        return runs

    def _cases(self) -> list[tuple]:
        return list(self.cases(np.random.default_rng(self.seed)))

    def _same(self, runs: list["Run"], others: list["Run"]) -> bool:
        """Whether two functions do the same in every case, exceptions included."""

        def same(a: Run, b: Run) -> bool:
            if a.error or b.error:
                return type(a.error) is type(b.error)
            return _feedback.agree(a.result, b.result, self.tolerance)

        return all(map(same, runs, others))

    def _problem(self, args: tuple, expected: Any, run: "Run", answer: Callable) -> str | None:
        """Say what is wrong in one case."""
        where = f"for {_feedback.arguments(self.reference, args)},"
        if run.error is not None:
            return _feedback.raised(run.error, answer, where)
        if run.result is None:
            return "the function returns nothing; end it with `return` and what you have computed."
        if _feedback.missing(run.result):
            return "the function still returns `...`; put your code in its place."
        if changed := _feedback.changed(self.reference, args, run.args):
            return (
                f"the function writes into its input {changed}, which is the caller's; "
                "work on a copy, and write x = x - 1 in place of x -= 1."
            )
        if not isinstance(expected, tuple):
            problem = _feedback.difference(expected, run.result, self.tolerance, self.dtype)
            return problem and f"{where} {problem}"
        labels = self.returns or [f"result {i}" for i in range(1, len(expected) + 1)]
        if not isinstance(run.result, tuple | list) or len(run.result) != len(expected):
            return f"the function must return {', '.join(labels)}; {_feedback.count(run.result)}."
        for label, want, got in zip(labels, expected, run.result, strict=True):
            if problem := _feedback.difference(want, got, self.tolerance, self.dtype, label):
                return f"{where} {problem}"
        return None


@dataclass(frozen=True)
class Run:
    """One case: the arguments as the function left them, and its result or its error."""

    args: tuple
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Value:
    """An answer that is a number or an array of numbers.

    Args:
        answer: The right one.
        on_success: What the reader has now seen, in a sentence or two.
        misconceptions: From a wrong number (a tuple, for an array) to the misconception behind it.
            Of several that an answer is within the tolerance of, the nearest explains it.
        hint: What to look at, said of every other answer.
        atol: Absolute tolerance, for an answer that is measured or read off. ``None``: 0.01 for
            whole numbers, else a thousandth of the smallest number.
    """

    answer: float | Sequence[Any] | np.ndarray
    on_success: str
    misconceptions: Mapping[Any, str] = field(default_factory=dict)
    hint: str = "look at the question again."
    atol: float | None = None

    @property
    def tolerance(self) -> float:
        """How far off a number may be."""
        if self.atol is not None:
            return self.atol
        numbers = np.abs(np.asarray(self.answer, float))
        whole = np.array_equal(numbers, np.round(numbers))
        return 0.01 if whole else 1e-3 * float(numbers[numbers > 0].min())

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, ``None`` if nothing is."""
        expected = np.asarray(self.answer, float)
        if problem := _feedback.unlike(expected, answer, "the answer"):
            return problem
        got = _feedback.numbers(answer).reshape(expected.shape)

        def off(value):
            return np.abs(got - np.asarray(value, float)).max()

        if off(self.answer) <= self.tolerance:
            return None
        nearest = min(self.misconceptions, key=off, default=None)
        if nearest is not None and off(nearest) <= self.tolerance:
            return self.misconceptions[nearest]
        return f"{_feedback.short(got)} is not it; {self.hint}"


@dataclass(frozen=True)
class Measured:
    """An answer that is numbers the reader has measured, other ones in every run.

    Args:
        results: What they are, in their order.
        on_success: What the reader has now seen, in a sentence or two.
        misconceptions: From what to say to the condition under which it is said, a function of
            the numbers.
    """

    results: Sequence[str]
    on_success: str
    misconceptions: Mapping[str, Callable[..., bool]]

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, ``None`` if nothing is."""
        expected = np.zeros(len(self.results))
        if problem := _feedback.unlike(expected, answer, f"the answer ({', '.join(self.results)})"):
            return problem
        got = _feedback.numbers(answer).tolist()
        return next(
            (sentence for sentence, applies in self.misconceptions.items() if applies(*got)), None
        )


@dataclass(frozen=True)
class Text:
    """An answer that is a word or a few; case and blanks around them do not matter.

    Args:
        answer: The right one.
        on_success: What the reader has now seen, in a sentence or two.
        misconceptions: From a wrong answer to the misconception behind it.
        hint: What to look at, said of every other answer.
    """

    answer: str
    on_success: str
    misconceptions: Mapping[str, str] = field(default_factory=dict)
    hint: str = "look at the question again."

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, ``None`` if nothing is."""
        if not isinstance(answer, str):
            return f"the answer must be a text in quotation marks, got {_feedback.kind(answer)}."
        for text, sentence in {self.answer: None, **self.misconceptions}.items():
            if answer.casefold().split() == text.casefold().split():
                return sentence
        return f"{answer!r} is not it; {self.hint}"


Exercise = Function | Value | Measured | Text


def _takes(function: Callable, args: tuple) -> bool:
    try:
        inspect.signature(function).bind(*args)
    except ValueError:  # some of NumPy's functions do not tell
        return True
    except TypeError:
        return False
    return True
