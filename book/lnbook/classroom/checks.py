"""Check homework without the reference solutions, using data only.

The files that students get, and those that run during grading, contain no reference solution. An
exercise whose answer is a function is a list of inputs, with the expected outputs and the outputs
for each known misconception. For other exercises, the students' files do not contain the answer; it
is in the hidden tests of the teacher's notebook.
"""

import base64
import builtins
import contextlib
import dataclasses
import functools
import inspect
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lnbook import _feedback, exercises
from lnbook.classroom.data import pack, unpack
from lnbook.exercises import Exercise, Function, Measured, Text, Value

FILE = "checks.json"
HERE = Path.cwd()  # the notebook's folder, even if a cell changes the working directory
RECORDED = "Recorded. Your answer will be graded after you hand in the notebook."


# Called in notebooks.


def check(name: str, answer: object) -> None:
    """Print what the open check of a homework says about an answer.

    Args:
        name: The name of the exercise.
        answer: What the exercise asks for.

    Raises:
        ValueError: If the homework has no such exercise.
    """
    described = _opened(HERE / FILE)
    if name not in described:
        raise ValueError(
            f"check: name must be one of {', '.join(described)}, got {name!r}; "
            "restore the checks as they were handed out"
        )
    with _quiet():
        message = feedback(described[name], answer)
    print(described[name].get("on_success", RECORDED) if message is None else f"Not yet: {message}")


def mark(name: str, answer: object, sealed: str) -> None:
    """Raise an error if an answer is wrong, so that nbgrader gives no points for the cell.

    Args:
        name: The name of the exercise.
        answer: What the exercise asks for.
        sealed: The hidden test, encoded by :func:`seal`.

    Raises:
        Misconception: If the answer shows a known misconception.
        NotYet: If it is wrong in another way.
    """
    tests = [json.loads(zlib.decompress(base64.b64decode(sealed)))]
    with contextlib.suppress(OSError):
        shown = _opened(HERE / FILE).get(name, {})
        if "expected" in shown:  # so that the student sees the feedback of the open check again
            tests.insert(0, shown)
    for number, described in enumerate(tests):
        with _quiet():
            message = feedback(described, answer)
        if message is not None:
            known = message in (sentence for _, sentence in described["misconceptions"])
            before = "right on the inputs of the check; " if number else ""
            raise (Misconception if known else NotYet)(before + message)


class NotYet(AssertionError):
    """A wrong answer."""

    def _render_traceback_(self) -> list[str]:
        """Show only the message: IPython would also show the hidden test."""
        return [f"Not yet: {self}"]


class Misconception(NotYet):
    """A wrong answer that shows a known misconception."""


def _quiet() -> contextlib.AbstractContextManager:
    """Hide what an answer writes to standard error, for which nbgrader would give no points."""
    return contextlib.redirect_stderr(io.StringIO())


@functools.cache
def _opened(path: Path) -> dict[str, dict]:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"check: {FILE} must be in the folder of the notebook, {path.parent}; copy it from "
            "the homework's folder and restart the kernel"
        ) from None


# Conversion of exercises to data and back.


def describe(name: str, *, seed: int, key: bool) -> dict[str, Any]:
    """Return an exercise as data.

    Args:
        name: The name of the exercise.
        seed: Seed of the inputs.
        key: Whether to include the right answer.

    Raises:
        ValueError: If a case of the exercise cannot be stored as data.
    """
    exercise = exercises.find(name, seed=seed)
    described: dict[str, Any] = {
        "kind": type(exercise).__name__,
        "on_success": f"Right. {exercise.on_success}",
    }
    if isinstance(exercise, Function):
        described |= {
            "arguments": _arguments(exercise.reference),
            "cases": [pack(list(args)) for args in exercise._cases()],
            "expected": _runs(exercise, exercise.reference),
            "misconceptions": [
                [_runs(exercise, wrong), message]
                for message, wrong in exercise.misconceptions.items()
            ],
            "returns": list(exercise.returns),
            "tolerance": exercise.tolerance,
            "dtype": exercise.dtype,
        }
    elif isinstance(exercise, Measured):
        described["results"] = list(exercise.results)
        described["misconceptions"] = [
            [pack(condition), message] for message, condition in exercise.misconceptions.items()
        ]
        return described  # measured numbers have no right answer
    else:
        described["misconceptions"] = [
            [pack(wrong), message] for wrong, message in exercise.misconceptions.items()
        ]
        described |= {"expected": pack(exercise.answer), "hint": exercise.hint}
        if isinstance(exercise, Value):
            described |= {"shape": list(np.shape(exercise.answer)), "atol": exercise.tolerance}
    if not key:
        for secret in ("expected", "on_success", "hint"):
            described.pop(secret, None)
    return described


def seal(described: dict) -> str:
    """Encode the description of an exercise as one word, for a cell with hidden tests."""
    return base64.b64encode(zlib.compress(json.dumps(described).encode(), 9)).decode()


def _arguments(function: Callable) -> list[list]:
    """Return the name of each argument, and whether it is optional."""
    parameters = inspect.signature(function).parameters.values()
    return [[p.name, p.default is not p.empty] for p in parameters if p.kind is not p.KEYWORD_ONLY]


def _runs(exercise: Function, function: Callable) -> list[dict]:
    return [
        {"result": pack(run.result)} if run.error is None else {"error": type(run.error).__name__}
        for run in exercise.run(function)
    ]


def feedback(described: dict, answer: object) -> str | None:
    """Return what is wrong with an answer by the description of its exercise, or ``None``.

    Without the right answer, only the form of the answer and the misconceptions are checked.
    """
    if _feedback.is_missing(answer):
        return "the answer is still `...`; put yours in its place."
    if "expected" in described or described["kind"] == "Measured":
        return rebuild(described).feedback(answer)
    return {"Function": _open_function, "Value": _open_value, "Text": _open_text}[
        described["kind"]
    ](described, answer)


def _open_function(described: dict, answer: Any) -> str | None:
    exercise = rebuild(described | {"expected": []})
    if not callable(answer):
        return exercise.feedback(answer)
    return dataclasses.replace(exercise, reference=answer).feedback(answer)


def _open_value(described: dict, answer: object) -> str | None:
    shape = described["shape"]
    if problem := _feedback.form_problem(np.zeros(shape), answer, "the answer"):
        return problem
    got = _feedback.numbers(answer).reshape(shape)
    off = [
        (np.abs(got - unpack(wrong)).max(), message)
        for wrong, message in described["misconceptions"]
    ]
    distance, message = min(off, default=(np.inf, None))
    return message if distance <= described["atol"] else None


def _open_text(described: dict, answer: object) -> str | None:
    if not isinstance(answer, str):
        return rebuild(described | {"expected": "", "hint": ""}).feedback(answer)
    tokens = answer.casefold().split()
    known = {
        tuple(wrong.casefold().split()): message for wrong, message in described["misconceptions"]
    }
    return known.get(tuple(tokens))


def rebuild(described: dict) -> Exercise:
    """Return the exercise of a description, with functions that replay the stored results."""
    kind, on_success = described["kind"], described.get("on_success", "")
    if kind == "Function":
        names = described["arguments"]
        return Function(
            Replay(names, described["expected"]),
            cases=lambda rng: [tuple(unpack(args)) for args in described["cases"]],
            on_success=on_success,
            misconceptions={
                message: Replay(names, runs) for runs, message in described["misconceptions"]
            },
            tolerance=described["tolerance"],
            returns=described["returns"],
            dtype=described["dtype"],
        )
    if kind == "Measured":
        misconceptions = {
            message: unpack(condition) for condition, message in described["misconceptions"]
        }
        return Measured(described["results"], on_success, misconceptions)
    misconceptions = {unpack(answer): message for answer, message in described["misconceptions"]}
    answer, hint = unpack(described["expected"]), described["hint"]
    if kind == "Text":
        return Text(answer, on_success, misconceptions, hint)
    return Value(answer, on_success, misconceptions, hint, described["atol"])


class Replay:
    """A function that replays stored results in order, and then starts again.

    Args:
        arguments: The name of each argument, and whether it is optional.
        runs: A result or an error for each case.
    """

    def __init__(self, arguments: list[list], runs: list[dict]):
        self._runs, self._next = runs, 0
        empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(n, kind, default=None if o else empty) for n, o in arguments]
        )

    def __call__(self, *args: Any) -> Any:
        """Return the next result, or raise the next error."""
        run = self._runs[self._next]
        self._next = (self._next + 1) % len(self._runs)
        if "error" in run:
            raise _exception(run["error"])
        return unpack(run["result"])


@functools.cache
def _exception_type(name: str) -> type[Exception]:
    result = getattr(builtins, name, None) or getattr(np.linalg, name, None)
    return result if inspect.isclass(result) else type(name, (Exception,), {})


def _exception(name: str) -> Exception:
    return _exception_type(name)("stored")
