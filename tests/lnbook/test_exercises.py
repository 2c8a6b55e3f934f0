"""All exercises of all chapters: references, answers, misconceptions, tolerances."""

import numpy as np
import pytest
import torch

from lnbook import exercises
from lnbook.exercises import Function, Text, Value

NAMES = exercises.names()


def of(kind):
    return [name for name in NAMES if isinstance(exercises.find(name), kind)]


def misconceptions():
    return [
        pytest.param(name, wrong, sentence, id=f"{name}-{i}")
        for name in of(Function | Value | Text)
        for i, (wrong, sentence) in enumerate(pairs(exercises.find(name)))
    ]


def pairs(exercise):
    """Pairs of a wrong answer and its explanation."""
    if isinstance(exercise, Function):
        return [(wrong, sentence) for sentence, wrong in exercise.misconceptions.items()]
    return list(exercise.misconceptions.items())


# All exercises of all chapters.


@pytest.mark.parametrize("name", of(Function | Value | Text))
def test_every_stored_answer_is_right(name):
    exercise = exercises.find(name)
    answer = exercise.reference if isinstance(exercise, Function) else exercise.answer
    assert exercise.feedback(answer) is None


@pytest.mark.parametrize(("name", "wrong", "sentence"), misconceptions())
def test_every_misconception_gets_its_own_explanation(name, wrong, sentence):
    exercise = exercises.find(name)
    if isinstance(exercise, Value):
        wrong = np.broadcast_to(wrong, np.shape(exercise.answer))
    assert exercise.feedback(wrong) == sentence


# Tolerances.


@pytest.mark.parametrize("name", of(Value))
def test_tolerances_do_not_reach_misconceptions(name):
    exercise = exercises.find(name)
    answer = np.asarray(exercise.answer, float)
    gaps = [np.abs(answer - np.asarray(w, float)).max() for w in exercise.misconceptions]
    assert 0 < exercise.tolerance < min(gaps) / 2
    assert exercise.tolerance <= np.abs(answer[answer != 0]).min() / 20


@pytest.mark.parametrize(
    ("answer", "message"),
    [(5.4, None), (8.1, "eight."), (8.9, "nine."), (9.6, "ten."), (6.4, "far."), (11.6, "far.")],
)
def test_the_nearest_known_wrong_number_is_explained(answer, message):
    wrong = {10: "ten.", 8: "eight.", 9: "nine."}  # each is within the tolerance of its neighbors
    feedback = Value(4, "It is.", wrong, atol=1.5, hint="far.").feedback(answer)
    assert feedback is None if message is None else feedback.endswith(message)


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("unseen", [2.5, 0.3], None),
        ("unseen", [torch.tensor(0.9), torch.tensor(0.1)], None),
        ("unseen", [0.3, 0.3], "the two are equal"),
        ("unseen", [2.9, 2.4], "uniform guess"),
        ("unseen", [0.3, 0.9], "must come first"),
        ("unseen", [0.9], "must be an array of shape (2,)"),
        ("why-post-norm-stalls", [0.05, 1e-7], None),
        ("why-post-norm-stalls", [3.0, 1e-7], "between 0 and 1"),
        ("why-post-norm-stalls", [1e-7, 0.05], "in the order pre-norm, post-norm"),
        ("why-post-norm-stalls", [0.34, 0.11], "as before training"),
    ],
)
def test_measured_answers_are_judged_by_their_relation(name, answer, message):
    feedback = exercises.find(name).feedback(answer)
    assert feedback is None if message is None else message in feedback
