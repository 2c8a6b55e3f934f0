"""The input field below an exercise of the built book, for a number or an expression.

The right answer and the explanation of each known mistake come from the exercise
(:mod:`lnbook.exercises`). ``quiz.js`` turns them into a form and checks answers as the exercise
does.
"""

import ast
import base64
import dataclasses
import html
import inspect
import json
import math
from numbers import Real
from typing import Any

import numpy as np

from lnbook.exercises import Exercise, Function, Value
from lnbook.widgets.quiz.questions import digest
from lnbook.widgets.quiz.texts import markup

SEEDS = range(4)  # an expression is compared on the cases of several seeds


def answer_field(name: str, exercise: Exercise, starter: str) -> str:
    """Return the HTML of the input field of an exercise.

    Args:
        name: The name of the exercise.
        exercise: The exercise, which checks the answer.
        starter: The code that readers complete in a live notebook. The label of the field is taken
            from it.

    Returns:
        An element that ``quiz.js`` fills, or "" if the answer is neither numeric nor an expression.
        Its data is encoded, so that a reader does not see the answer by accident.
    """
    data = check_data(exercise)
    if data is None:
        return ""
    data["label"] = f"Your answer: <code>{html.escape(_answer_label(starter))}</code> ="
    key = digest("field", name, data["answer"], data["atol"], data["rtol"])[:8]
    packed = base64.b64encode(json.dumps(data).encode()).decode()
    return (
        f'<div class="ln-answer-field" data-kind="field" data-name="{name}" data-key="{key}"'
        f' data-check="{packed}"></div>'
    )


def check_data(exercise: Exercise) -> dict[str, Any] | None:
    """Return the data for checking an answer, for JSON; ``None`` if a page cannot check it.

    ``answer`` has a number for each part of the answer, or for each of the ``cases`` in which an
    expression is evaluated. An answer may be off by ``atol + rtol * |answer|``.
    """
    if isinstance(exercise, Value):
        return _numbers(exercise)
    return _expression(exercise) if isinstance(exercise, Function) else None


def _numbers(exercise: Value) -> dict[str, Any]:
    answer = np.asarray(exercise.answer, float)

    def flat(value):
        return np.broadcast_to(np.asarray(value, float), answer.shape).ravel().tolist()

    whole = np.array_equal(answer, answer.round())
    within = "0.1%" if exercise.atol is None and not whole else _short(exercise.tolerance)
    if not answer.ndim:
        how = f"A number, such as 0.25, 1/3, 2e-5, or sqrt(2), to within {within}."
    else:
        *rows, size = answer.shape
        listed = f"{rows[0]} rows of {size} numbers" if rows else f"{size} numbers"
        example = json.dumps(np.arange(answer.size).reshape(answer.shape).tolist())
        how = f"{listed}, such as {example}, each to within {within}."
    return {
        "how": how,
        "cases": [{}],
        "answer": flat(answer),
        "atol": exercise.tolerance,
        "rtol": 0,
        "misconceptions": [
            [flat(value), markup(text)] for value, text in exercise.misconceptions.items()
        ],
        "on_success": markup(exercise.on_success),
        "hint": markup(exercise.hint),
    }


def _expression(exercise: Function) -> dict[str, Any] | None:
    drawn = [dataclasses.replace(exercise, seed=seed) for seed in SEEDS]
    runs = [run for one in drawn for run in one.run(one.reference)]
    if not all(isinstance(x, Real) for run in runs for x in (*run.args, run.result)):
        return None
    first = {tuple(map(float, run.args)): i for i, run in reversed([*enumerate(runs)])}
    chosen = sorted(first.values())
    variables = list(inspect.signature(exercise.reference).parameters)

    def results(function):
        every = [run for one in drawn for run in one.run(function)]
        return [_finite(every[i].result) for i in chosen]

    *most, last = (f"<code>{name}</code>" for name in variables)
    listed = f"{', '.join(most)} and {last}" if most else last
    within = _short(exercise.tolerance)
    return {
        "how": f"An expression in {listed}, such as <code>sqrt({variables[0]}) / 2</code>. It is "
        f"compared with the answer at {len(chosen)} points, to within {within}.",
        "cases": [dict(zip(variables, map(float, runs[i].args), strict=True)) for i in chosen],
        "answer": results(exercise.reference),
        "atol": exercise.tolerance,
        "rtol": exercise.tolerance,
        "misconceptions": [
            [results(function), markup(text)] for text, function in exercise.misconceptions.items()
        ],
        "on_success": markup(exercise.on_success),
        "hint": "",  # the page shows a case in which the value differs
    }


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, Real) and math.isfinite(value) else None


def _short(tolerance: float) -> str:
    return f"{tolerance:g}".replace("e-0", "e-")


def _answer_label(starter: str) -> str:
    """Return what the starter asks for, such as "factor", "[batch, layer]" or "rate(n, size)"."""
    *body, check = ast.parse(starter).body
    answer = ast.unparse(check.value.args[1])
    for part in body:
        if isinstance(part, ast.FunctionDef) and part.name == answer:
            return f"{answer}({', '.join(arg.arg for arg in part.args.args)})"
    return answer
