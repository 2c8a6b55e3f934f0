"""All exercises of all chapters: references, answers, misconceptions, tolerances."""

import numpy as np
import pytest
import torch

from lnbook import exercises
from lnbook.exercises import Function, Text, Value

NAMES = exercises.names()


def of(kind):
    return [name for name in NAMES if isinstance(exercises.find(name), kind)]


def misconceptions(kind):
    return [
        pytest.param(name, wrong, sentence, id=f"{name}-{i}")
        for name in of(kind)
        for i, (wrong, sentence) in enumerate(pairs(exercises.find(name)))
    ]


def pairs(exercise):
    """Pairs of a wrong answer and its explanation."""
    if isinstance(exercise, Function):
        return [(wrong, sentence) for sentence, wrong in exercise.misconceptions.items()]
    return list(exercise.misconceptions.items())


def numeric(name):
    """Whether a function returns numbers rather than a string."""
    exercise = exercises.find(name)
    return not isinstance(exercise.run(exercise.reference)[0].result, str)


NUMERIC = [name for name in of(Function) if numeric(name)]


def spoiled(reference, spoil):
    """The reference with a changed result (the first one, if there are several)."""

    def answer(*args):
        result = reference(*args)
        if isinstance(result, tuple):
            return spoil(np.asarray(result[0], float)), *result[1:]
        return spoil(np.asarray(result, float))

    return answer


# All exercises of all chapters.


@pytest.mark.parametrize("name", of(Function | Value | Text))
def test_every_stored_answer_is_right(name):
    exercise = exercises.find(name)
    answer = exercise.reference if isinstance(exercise, Function) else exercise.answer
    assert exercise.feedback(answer) is None


@pytest.mark.parametrize(("name", "wrong", "sentence"), misconceptions(Function | Value | Text))
def test_every_misconception_gets_its_own_explanation(name, wrong, sentence):
    exercise = exercises.find(name)
    if isinstance(exercise, Value):
        wrong = np.broadcast_to(wrong, np.shape(exercise.answer))
    assert exercise.feedback(wrong) == sentence


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.3, 0.3], "the two are equal"),
        ([2.9, 2.4], "those of guessing"),
        ([0.3, 0.9], "the loss in train() must come first and in eval() second"),
        ([0.9], "(loss in train(), loss in eval()) must be an array of shape (2,)"),
    ],
    ids=["equal", "untrained", "swapped", "one"],
)
def test_measured_losses_are_judged_by_their_difference(answer, message):
    assert message in exercises.find("unseen").feedback(answer)
    assert exercises.find("unseen").feedback([2.5, 0.3]) is None
    assert exercises.find("unseen").feedback([torch.tensor(0.9), torch.tensor(0.1)]) is None


@pytest.mark.parametrize(
    ("pre", "post", "message"),
    [
        (0.05, 1e-7, None),
        (0.003, 3e-7, None),
        (3.0, 1e-7, "between 0 and 1"),
        (1e-7, 0.05, "in the order pre-norm, post-norm"),
        (0.05, 0.05, "nearly equal"),
        (0.34, 0.11, "as before training"),
        (1e-4, 1e-7, "as after the first updates"),
    ],
)
def test_fractions_of_the_residual_stream_reveal_mistakes(pre, post, message):
    feedback = exercises.find("why-post-norm-stalls").feedback([pre, post])
    assert feedback is message if message is None else message in feedback


# Tolerances.


def test_every_exercise_has_a_misconception():
    assert [name for name in NAMES if not exercises.find(name).misconceptions] == []


def far(a, b):
    """The distance of two answers, at least a little more than rounding."""
    apart = np.abs(np.asarray(a, float) - np.asarray(b, float)).max()
    assert apart > 0
    return apart


@pytest.mark.parametrize("name", of(Value))
def test_tolerances_do_not_reach_misconceptions(name):
    exercise = exercises.find(name)
    answer = np.abs(np.asarray(exercise.answer, float))
    nearest = min(far(exercise.answer, wrong) for wrong in exercise.misconceptions)
    assert 0 < exercise.tolerance < nearest / 2
    assert exercise.tolerance <= answer[answer > 0].min() / 20


@pytest.mark.parametrize("name", of(Value))
def test_numbers_of_an_answer_can_differ_by_the_tolerance_only(name):
    exercise = exercises.find(name)
    answer = np.asarray(exercise.answer, float)
    for unit in np.eye(answer.size).reshape(-1, *answer.shape):
        for sign in (-1, 1):
            moved = answer + sign * 0.9 * exercise.tolerance * unit
            assert exercise.feedback(moved) is None
            assert exercise.feedback(answer + sign * 1.1 * exercise.tolerance * unit)
            if np.array_equal(answer, answer.round()):
                assert exercise.feedback(answer + sign * unit)


@pytest.mark.parametrize("name", NUMERIC)
def test_results_can_differ_by_rounding_only(name):
    exercise = exercises.find(name)
    assert exercise.tolerance <= 1e-5
    for sign in (-1, 1):
        near = sign * 0.5 * exercise.tolerance
        assert exercise.feedback(
            spoiled(exercise.reference, lambda y, near=near: y * (1 + near))
        ) is (None)
        off = sign * 2.5e-5
        spoil = spoiled(exercise.reference, lambda y, off=off: y + off * (1 + np.abs(y)))
        assert exercise.feedback(spoil)


@pytest.mark.parametrize(
    ("answer", "tolerance"),
    [(44, 0.01), ((5, 9), 0.01), (-1.0, 0.01), (0.5, 5e-4), ((0, -0.25, 4), 2.5e-4)],
)
def test_a_tolerance_follows_from_the_answer(answer, tolerance):
    assert Value(answer, "It is.").tolerance == tolerance
    assert Value(answer, "It is.", atol=0.3).tolerance == 0.3


@pytest.mark.parametrize(
    ("answer", "message"), [(8.1, "eight."), (8.9, "nine."), (9.6, "ten."), (11.6, "far.")]
)
def test_the_nearest_known_wrong_number_is_explained(answer, message):
    wrong = {10: "ten.", 8: "eight.", 9: "nine."}  # each is within the tolerance of its neighbors
    exercise = Value(4, "It is.", wrong, atol=1.5, hint="far.")
    assert exercise.feedback(answer).endswith(message)
    assert exercise.feedback(5.4) is None
    assert exercise.feedback(6.4).endswith("is not the answer; far.")
    pairs = Value((4, 0), "It is.", {(8, 0): "eight.", (9, 9): "nine."}, atol=1.5)
    assert pairs.feedback((8.9, 1.2)) == "eight."
