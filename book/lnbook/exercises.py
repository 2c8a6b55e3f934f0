"""Check the answers to the book's exercises and explain what is wrong with them.

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
            on_success="There is one mean per example, whatever else the batch holds.",
        ),
        "unbiased-at-four": Value(
            1.1547,
            misconceptions={
                1.3333: "that is the ratio of the variances; outputs change by its square root.",
            },
            on_success="It is √(4/3).",
            hint="compare the two standard deviations of the same four numbers.",
        ),
    }

Each exercise lists the misconceptions that its author knows. Other mistakes are found
automatically: the dots of the starter, a wrong signature, an exception, a wrong shape, NaN, a
modified input, and finally the smallest case with wrong numbers. Texts that follow "Not yet: "
begin with a lowercase letter and, like all others, end with a period.
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
    """Return the names of the chapters that have exercises."""
    return sorted(path.parent.name for path in HERE.glob("chapters/*/exercises.py"))


def check(name: str, answer: object, *, seed: int = 0) -> None:
    """Print whether the answer to an exercise is right and, if it is not, what to look at.

    Args:
        name: The name of the exercise.
        answer: A function, a number, an array or a string, depending on the exercise.
        seed: Seed of the random inputs of a function. Each class gets its own for its homework.

    Raises:
        ValueError: If there is no exercise of this name.

    Example:
        >>> check("two-units", ...)
        Not yet: the answer is still `...`; put yours in its place.
    """
    text = feedback(name, answer, seed=seed)
    print(f"Right. {find(name).on_success}" if text is None else f"Not yet: {text}")


def feedback(name: str, answer: object, *, seed: int = 0) -> str | None:
    """Return what :func:`check` says is wrong with an answer, or ``None`` if it is right."""
    exercise = find(name, seed=seed)
    if _feedback.is_missing(answer):
        return "the answer is still `...`; put yours in its place."
    return exercise.feedback(answer)


def find(name: str, *, seed: int = 0) -> "Exercise":
    """Return the exercise of this name; a function is tested on inputs drawn with ``seed``."""
    if not isinstance(name, str) or name not in _all():
        near = difflib.get_close_matches(str(name), names(), cutoff=0.5)
        hint = "did you mean " + " or ".join(map(repr, near)) if near else "try exercises.names()"
        raise ValueError(f"check: name must be an exercise of the book, got {name!r}; {hint}")
    exercise = _all()[name]
    return dataclasses.replace(exercise, seed=seed) if isinstance(exercise, Function) else exercise


def names() -> list[str]:
    """Return the names of all exercises, sorted by chapter."""
    return list(_all())


@functools.cache
def _all() -> dict[str, "Exercise"]:
    results: dict[str, Exercise] = {}
    for chapter in chapters():
        module = importlib.import_module(f"lnbook.chapters.{chapter}.exercises")
        for name, exercise in module.EXERCISES.items():
            if name in results:
                raise ValueError(f"{chapter}: there is another exercise {name!r}; rename this one")
            results[name] = exercise
    return results


@dataclass(frozen=True)
class Function:
    """An answer that is a function, compared with a reference on several cases.

    The cases are generated anew for each run, so an answer that modifies its input does no harm.

    Args:
        reference: Computes the expected result. Its signature names the arguments. It returns a
            tuple if there are several results.
        cases: Takes a random generator and returns tuples of arguments. Include a small case: the
            smallest one that fails is shown.
        on_success: What the reader has learned, in one or two sentences.
        misconceptions: Maps the explanation of a misconception to a function that has it. This
            function may raise an error in some cases, but not in all.
        tolerance: Relative and absolute tolerance. For an answer that simulates, a few standard
            errors.
        returns: Names of the results, if there are several.
        dtype: Whether the result must have the dtype of the expected one.
        seed: Seed of the random generator that ``cases`` receives.
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
        """Whether the inputs depend on the seed."""
        rng = np.random.default_rng(0)
        list(self.cases(rng))
        return rng.bit_generator.state != np.random.default_rng(0).bit_generator.state

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, or ``None`` if it is right."""
        if not callable(answer):
            return f"the answer must be a function, got {_feedback.describe(answer)}."
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
        for args, expected, run in sorted(results, key=lambda case: _feedback.case_size(case[0])):
            if problem := self._problem(args, expected.result, run, answer):
                return problem
        return None

    def run(self, function: Callable) -> list["Run"]:
        """Run a function on every case, with warnings suppressed."""
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
        """Return whether two functions behave alike in every case, including exceptions."""

        def same(a: Run, b: Run) -> bool:
            if a.error or b.error:
                return type(a.error) is type(b.error)
            return _feedback.are_equal(a.result, b.result, self.tolerance)

        return all(map(same, runs, others))

    def _problem(self, args: tuple, expected: Any, run: "Run", answer: Callable) -> str | None:
        """Return what is wrong in one case, or ``None`` if it is right."""
        where = f"for {_feedback.arguments(self.reference, args)},"
        if run.error is not None:
            return _feedback.describe_exception(run.error, answer, where)
        if run.result is None:
            return "the function returns nothing; end it with `return` and the result."
        if _feedback.is_missing(run.result):
            return "the function still returns `...`; put your code in its place."
        if changed := _feedback.modified_argument(self.reference, args, run.args):
            return (
                f"the function modifies its input {changed}, which belongs to the caller; "
                "work on a copy, and write x = x - 1 instead of x -= 1."
            )
        if not isinstance(expected, tuple):
            problem = _feedback.difference(expected, run.result, self.tolerance, self.dtype)
            return problem and f"{where} {problem}"
        labels = self.returns or [f"result {i}" for i in range(1, len(expected) + 1)]
        if not isinstance(run.result, tuple | list) or len(run.result) != len(expected):
            count = _feedback.result_count(run.result)
            return f"the function must return {', '.join(labels)}; {count}."
        for label, want, got in zip(labels, expected, run.result, strict=True):
            if problem := _feedback.difference(want, got, self.tolerance, self.dtype, label):
                return f"{where} {problem}"
        return None


@dataclass(frozen=True)
class Run:
    """One case: the arguments after the call, and the result or the exception."""

    args: tuple
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Value:
    """An answer that is a number or an array of numbers.

    Args:
        answer: The right answer.
        on_success: What the reader has learned, in one or two sentences.
        misconceptions: Maps a wrong number (for an array, a tuple) to the explanation of the
            misconception. If the answer is within the tolerance of several, the nearest one is
            used.
        hint: What to look at, for every other wrong answer.
        atol: Absolute tolerance, for an answer that is measured or read from a figure. ``None``:
            0.01 for whole numbers, otherwise 1/1000 of the smallest number.
    """

    answer: float | Sequence[Any] | np.ndarray
    on_success: str
    misconceptions: Mapping[Any, str] = field(default_factory=dict)
    hint: str = "look at the question again."
    atol: float | None = None

    @property
    def tolerance(self) -> float:
        """The largest absolute error that still counts as right."""
        if self.atol is not None:
            return self.atol
        numbers = np.abs(np.asarray(self.answer, float))
        whole = np.array_equal(numbers, np.round(numbers))
        return 0.01 if whole else 1e-3 * float(numbers[numbers > 0].min())

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, or ``None`` if it is right."""
        expected = np.asarray(self.answer, float)
        if problem := _feedback.form_problem(expected, answer, "the answer"):
            return problem
        got = _feedback.numbers(answer).reshape(expected.shape)

        def off(value):
            return np.abs(got - np.asarray(value, float)).max()

        if off(self.answer) <= self.tolerance:
            return None
        nearest = min(self.misconceptions, key=off, default=None)
        if nearest is not None and off(nearest) <= self.tolerance:
            return self.misconceptions[nearest]
        return f"{_feedback.format_array(got)} is not the answer; {self.hint}"


@dataclass(frozen=True)
class Measured:
    """An answer that consists of numbers that the reader has measured and that vary between runs.

    Args:
        results: Names of the numbers, in order.
        on_success: What the reader has learned, in one or two sentences.
        misconceptions: Maps an explanation to the condition under which it is shown, a function of
            the numbers.
    """

    results: Sequence[str]
    on_success: str
    misconceptions: Mapping[str, Callable[..., bool]]

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, or ``None`` if it is right."""
        expected = np.zeros(len(self.results))
        if problem := _feedback.form_problem(
            expected, answer, f"the answer ({', '.join(self.results)})"
        ):
            return problem
        got = _feedback.numbers(answer).tolist()
        return next(
            (sentence for sentence, applies in self.misconceptions.items() if applies(*got)), None
        )


@dataclass(frozen=True)
class Text:
    """An answer that is a word or a few; case and surrounding spaces are ignored.

    Args:
        answer: The right answer.
        on_success: What the reader has learned, in one or two sentences.
        misconceptions: Maps a wrong answer to the explanation of the misconception behind it.
        hint: What to look at, for every other wrong answer.
    """

    answer: str
    on_success: str
    misconceptions: Mapping[str, str] = field(default_factory=dict)
    hint: str = "look at the question again."

    def feedback(self, answer: object) -> str | None:
        """Return what is wrong with the answer, or ``None`` if it is right."""
        if not isinstance(answer, str):
            return (
                f"the answer must be a text in quotation marks, got {_feedback.describe(answer)}."
            )
        for text, sentence in {self.answer: None, **self.misconceptions}.items():
            if answer.casefold().split() == text.casefold().split():
                return sentence
        return f"{answer!r} is not the answer; {self.hint}"


Exercise = Function | Value | Measured | Text


def _takes(function: Callable, args: tuple) -> bool:
    try:
        inspect.signature(function).bind(*args)
    except ValueError:  # some NumPy functions have no signature
        return True
    except TypeError:
        return False
    return True
