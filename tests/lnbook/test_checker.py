"""The checker of the exercises."""

import numpy as np
import pytest
import torch

from lnbook import exercises
from lnbook.exercises import Function, Text, Value

SMALL = np.array([[1.0, 2.0, 6.0], [3.0, 1.0, 1.0]])


def centered(x):
    return x - x.mean(axis=1, keepdims=True)


@pytest.fixture
def exercise():
    return Function(
        centered,
        cases=lambda rng: [(rng.normal(size=(4, 6)),), (SMALL.copy(),)],
        on_success="It is.",
        misconceptions={"by columns.": lambda x: x - x.mean(axis=0)},
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (centered, None),
        (lambda x: torch.tensor(centered(x), requires_grad=True), None),
        (lambda x, eps=0.0: centered(x), None),
        (3.0, "must be a function, got the number 3.0"),
        (lambda: 0, "must take (x), yours takes none"),
        (lambda x: x - x.mean(axis=0), "by columns."),
        (lambda x: ..., "still returns `...`"),
        (lambda x: {}[0], "raised KeyError (0) at `"),
        (lambda x: x - ..., "still a `...` in the function"),
        (lambda x: centered(x)[0], "must be an array of shape (2, 3), got an array of shape (3,)"),
        (lambda x: centered(x).T, "axes are in reverse order"),
        (lambda x: "x", "an array of numbers, got the text 'x'"),
        (lambda x: np.log(x - 1), "3 of 6 numbers of the result are infinite"),
        (
            lambda x: x,
            "for x = [[1, 2, 6], [3, 1, 1]], the result must be "
            "[[-2, -1, 3], [1.333, -0.667, -0.667]], got [[1, 2, 6], [3, 1, 1]].",
        ),
        (lambda x: -centered(x), "every sign is reversed."),
        (lambda x: 1.5 * centered(x), "every number is 1.5 times what it must be."),
        (lambda x: centered(x) - 2, "every number is too small by 2."),
        (lambda x: centered(x) * (1 + 1e-5), "must be [[-2, -1, 3], [1.3333333, "),
    ],
    ids=lambda part: part[-25:] if isinstance(part, str) else "",
)
def test_functions_get_feedback(exercise, answer, message):
    feedback = exercise.feedback(answer)
    assert feedback is None if message is None else message in feedback


def test_feedback_shows_the_smallest_failing_case_or_the_worst_number(exercise):
    def answer(x):
        y = centered(x)
        y[-1, -1] += 5 * (x.size > 6)
        return y

    want = centered(np.random.default_rng(0).normal(size=(4, 6)))[3, 5]
    assert exercise.feedback(answer) == (
        "for x of shape (4, 6), 1 of 24 numbers of the result are wrong; the one with the "
        f"largest error, at [3, 5], must be {want:.4g}, got {want + 5:.4g}."
    )


def test_modified_inputs_are_reported_and_do_not_affect_other_cases(exercise):
    def answer(x):
        x -= x.mean(axis=1, keepdims=True)
        return x

    assert exercise.feedback(answer).startswith("the function modifies its input x")
    assert exercise.feedback(centered) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1.1547, None),
        (torch.tensor([1.155], requires_grad=True), None),
        (1.3333, "the variances."),
        (1.16, "1.16 is not the answer; think."),
        ("1.1547", "must be a number, got the text '1.1547'; take the quotation marks"),
        ([1.0, 2.0], "must be a single number, got an array of shape (2,)."),
        (np.nan, "the answer is NaN"),
    ],
)
def test_numbers_get_feedback(answer, message):
    exercise = Value(1.1547, "It is.", {1.3333: "the variances."}, hint="think.")
    feedback = exercise.feedback(answer)
    assert feedback is None if message is None else message in feedback


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (" Layer  NORM\n", None),
        ("Batch norm", "it is not."),
        ("RMS norm", "'RMS norm' is not the answer; look at the question again."),
        (2, "the answer must be a text in quotation marks, got the number 2."),
    ],
)
def test_texts_get_feedback(answer, message):
    exercise = Text("layer norm", "It is.", {"batch norm": "it is not."})
    assert exercise.feedback(answer) == message


def test_check_prints_one_paragraph_deterministically(capsys):
    for _ in range(2):
        exercises.check("two-units", [[-1, 1], [1, -1], [-1, 1]])
        exercises.check("two-lines", lambda x, eps: x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == lines[2:]
    assert lines[0].startswith("Right. ")
    assert lines[1].startswith("Not yet: for x = [[1, 2, 6], [3, 3, 3]], eps = 1e-05, the result")


@pytest.mark.parametrize(
    ("name", "match"),
    [("two-unit", "did you mean 'two-units'"), ("zzz", "try exercises.names"), ([1], r"got \[1\]")],
)
def test_unknown_names_get_suggestions(name, match):
    with pytest.raises(ValueError, match=match):
        exercises.check(name, 1)


def test_misconceptions_must_match_in_all_cases_and_can_raise_errors_in_some(exercise):
    square = Function(
        centered,
        cases=lambda rng: [(rng.normal(size=(3, 3)),), (SMALL,)],
        on_success="It is.",
        misconceptions={"no keepdims.": lambda x: x - x.mean(axis=1)},
    )
    assert square.feedback(lambda x: x - x.mean(1)) == "no keepdims."
    assert "could not be broadcast" in exercise.feedback(lambda x: x - x.mean(1))
    # An exception of another type is another mistake.
    assert "IndexError" in square.feedback(lambda x: x - x.mean(1) if len(x) == 3 else x[9])
    assert "by columns" not in exercise.feedback(lambda x: x - x.mean(axis=0) if len(x) == 2 else x)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: [x.mean(), x.var()], None),
        (lambda x: [x.var(), x.mean()], "swapped."),
        (lambda x: (x.mean(), x.std()), "for x = [1, 3, 8], variance must be 8.667, got 2.944."),
        (lambda x: x.mean(), "must return mean, variance; it returns one result."),
        (lambda x: (x.mean(), x.var(), 0), "it returns 3 results."),
    ],
)
def test_several_results_are_reported_by_name(answer, message):
    exercise = Function(
        lambda x: (x.mean(), x.var()),
        cases=lambda rng: [(np.array([1.0, 3.0, 8.0]),)],
        on_success="It is.",
        returns=("mean", "variance"),
        misconceptions={"swapped.": lambda x: (x.var(), x.mean())},
    )
    feedback = exercise.feedback(answer)
    assert feedback is None if message is None else message in feedback
