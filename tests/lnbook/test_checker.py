"""The checker of the exercises."""

import numpy as np
import pytest
import torch

from lnbook import exercises
from lnbook.exercises import Function, Text, Value

# The checker.


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
        (lambda x: centered(x).tolist(), None),
        (lambda x, eps=0.0: centered(x), None),
        (3.0, "the answer must be a function, got the number 3.0."),
        (lambda: 0, "the function must take (x), yours takes none."),
        (lambda x: x - x.mean(axis=0), "by columns."),
        (lambda x: ..., "the function still returns `...`; put your code in its place."),
        (lambda x: (..., ...), "the function still returns `...`; put your code in its place."),
        (lambda x: None, "the function returns nothing; end it with `return` and the result"),
        (lambda x: {}[0], "the function raised KeyError (0) at `"),
        (lambda x, y, z: x, "the function must take (x), yours takes (x, y, z)."),
        (lambda x: x - ..., "there is still a `...` in the function; put your code in its place."),
        (
            lambda x: centered(x)[0],
            "for x = [[1, 2, 6], [3, 1, 1]], the result must be an array of shape (2, 3), "
            "got an array of shape (3,).",
        ),
        (lambda x: centered(x).T, "got an array of shape (3, 2); its axes are in reverse order"),
        (lambda x: centered(x).sum(), "must be an array of shape (2, 3), got a single number."),
        (lambda x: "x", "an array of numbers, got the text 'x'; take the quotation marks away."),
        (lambda x: [[1], [2, 3]], "the result must be an array of numbers, got a list."),
        (lambda x: np.log(x - 1), "3 of 6 numbers of the result are infinite; look for a div"),
        (lambda x: x * np.nan, "6 of 6 numbers of the result are NaN; look for 0 / 0"),
        (
            lambda x: x,
            "for x = [[1, 2, 6], [3, 1, 1]], the result must be "
            "[[-2, -1, 3], [1.333, -0.667, -0.667]], got [[1, 2, 6], [3, 1, 1]].",
        ),
        (lambda x: -centered(x), "; every sign is reversed."),
        (lambda x: 1.5 * centered(x), "; every number is 1.5 times what it must be."),
        (lambda x: centered(x) - 2, "; every number is too small by 2."),
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


def test_misconceptions_can_raise_errors_in_some_cases(exercise):
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


def test_misconceptions_must_match_in_all_cases(exercise):
    assert "by columns" not in exercise.feedback(lambda x: x - x.mean(axis=0) if len(x) == 2 else x)


def test_modified_inputs_are_reported_and_do_not_affect_other_cases(exercise):
    shared = np.ones((2, 3))

    def answer(x):
        x -= x.mean(axis=1, keepdims=True)
        return x

    text = "the function modifies its input x, which belongs to the caller; work on a copy, and "
    assert exercise.feedback(answer).startswith(text)
    checked = Function(centered, lambda rng: [(shared.copy(),)], "It is.")
    assert checked.feedback(answer).startswith(text)
    assert exercise.feedback(centered) is None


def test_several_results_are_reported_by_name():
    exercise = Function(
        lambda x: (x.mean(), x.var()),
        cases=lambda rng: [(np.array([1.0, 3.0, 8.0]),)],
        on_success="It is.",
        returns=("mean", "variance"),
        misconceptions={"swapped.": lambda x: (x.var(), x.mean())},
    )
    assert exercise.feedback(lambda x: [x.mean(), x.var()]) is None
    assert exercise.feedback(lambda x: [x.var(), x.mean()]) == "swapped."
    assert exercise.feedback(lambda x: (x.mean(), x.std())) == (
        "for x = [1, 3, 8], variance must be 8.667, got 2.944."
    )
    text = "the function must return mean, variance; it returns "
    assert exercise.feedback(lambda x: x.mean()) == text + "one result."
    assert exercise.feedback(lambda x: (x.mean(), x.var(), 0)) == text + "3 results."


def test_strings_and_booleans_can_be_results():
    words = Function(lambda n: "odd" if n % 2 else "even", lambda rng: [(1,), (2,)], "It is.")
    assert words.feedback(lambda n: ("even", "odd")[n % 2]) is None
    assert words.feedback(lambda n: "odd") == "for n = 2, the result must be 'even', got 'odd'."
    assert words.feedback(lambda n: 3) == "for n = 1, the result must be 'odd', got the number 3."
    truth = Function(lambda n: n > 1, lambda rng: [(1,), (2,)], "It is.")
    assert truth.feedback(lambda n: n >= 2) is None
    assert truth.feedback(lambda n: True) == "for n = 1, the result must be False, got True."


def test_the_dtype_is_checked_if_the_exercise_says_so():
    def case(rng):
        return [(np.ones(3, np.float32),)]

    strict = Function(lambda x: 2 * x, case, "It is.", dtype=True)
    wide = Function(lambda x: 2 * x, case, "It is.")
    assert wide.feedback(lambda x: 2 * x.astype(float)) is None
    assert strict.feedback(lambda x: 2 * x) is None
    assert strict.feedback(lambda x: 2 * x.astype(float)) == (
        "for x = [1, 1, 1], the result must be of dtype float32, got float64."
    )


def test_simulations_are_right_within_their_tolerance():
    exercise = Function(
        lambda n, rng: n**-0.5,
        cases=lambda rng: [(4, np.random.default_rng(1)), (16, np.random.default_rng(2))],
        on_success="It is.",
        tolerance=0.03,
        misconceptions={"not the root.": lambda n, rng: 1 / n},
    )
    assert exercise.feedback(lambda n, rng: rng.normal(size=(4000, n)).mean(1).std()) is None
    assert exercise.feedback(lambda n, rng: rng.normal(size=(4000, n)).mean(1).var()) == (
        "not the root."
    )
    text = "for n = 4, rng a random generator, the result must be 0.5, got 0."
    assert exercise.feedback(lambda n, rng: 0) == text


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1.1547, None),
        ([1.155], None),
        (np.float32(1.1547), None),
        (torch.tensor(1.1547, requires_grad=True), None),
        (1.3333, "the variances."),
        (2, "2 is not the answer; think."),
        (1.16, "1.16 is not the answer; think."),
        ("1.1547", "the answer must be a number, got the text '1.1547'; take the quotation marks"),
        ([1.0, 2.0], "the answer must be a single number, got an array of shape (2,)."),
        (np.nan, "the answer is NaN; look for 0 / 0"),
        (np.inf, "the answer is infinite; look for a division by 0."),
        ({}, "the answer must be a number, got a dict."),
    ],
)
def test_numbers_get_feedback(answer, message):
    exercise = Value(1.1547, "It is.", {1.3333: "the variances."}, hint="think.")
    feedback = exercise.feedback(answer)
    assert feedback is None if message is None else message in feedback


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("layer norm", None),
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
        exercises.check("two-units", np.zeros((3, 2)))
        exercises.check("two-lines", lambda x, eps: x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == lines[3:]
    assert lines[0] == "Right. With two units, only their order survives."
    assert lines[1].startswith("Not yet: only a single unit would give 0;")
    assert lines[2].startswith("Not yet: for x = [[1, 2, 6], [3, 3, 3]], eps = 1e-05, the result")


def test_unknown_names_get_suggestions():
    with pytest.raises(ValueError, match=r"got 'two-unit'; did you mean 'two-units'"):
        exercises.check("two-unit", 1)
    with pytest.raises(ValueError, match=r"got 'zzz'; try exercises.names\(\)"):
        exercises.check("zzz", 1)
    with pytest.raises(ValueError, match=r"name must be an exercise of the book, got \[1\]"):
        exercises.check([1], "two-units")
