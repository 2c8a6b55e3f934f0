"""The exercises of the chapter ``attentive_reader``."""

import numpy as np

from lnbook.exercises import Function


def _softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def _attend(scores, outputs, length):
    return _softmax(scores[:length]) @ outputs[:length]


def _attention_cases(rng):
    yield np.array([0.0, 1.0, 5.0]), np.array([[1.0, 0], [0, 1], [9, 9]]), 2
    yield np.array([2.0, 2.0]), np.array([[1.0, 3], [5, 7]]), 2
    T = int(rng.integers(5, 9))
    yield rng.normal(size=T), rng.normal(size=(T, 3)), T - 2


def _masked_late(scores, outputs, length):
    weights = _softmax(scores)
    weights[length:] = 0
    return weights @ outputs


def _as_zero(scores, outputs, length):
    known = scores.copy()
    known[length:] = 0
    return _softmax(known) @ outputs


def _probabilities(logits, present):
    return _softmax(np.where(present == 1, logits, -np.inf))


def _probability_cases(rng):
    yield np.array([3.0, 1.0, -1.0]), np.array([0, 1, 1])
    yield np.array([0.5, 0.5, 2.0, 0.0]), np.array([1, 1, 0, 1])
    yield rng.normal(size=6), rng.permutation([1, 0, 1, 1, 0, 1])


def _masked_to_zero(logits, present):
    return _softmax(np.where(present == 1, logits, 0.0))


def _cut(logits, present):
    return np.where(present == 1, _softmax(logits), 0)


def _most_frequent(passage, query, names):
    times = np.array([np.sum(passage == k) for k in range(1, names + 1)])
    times[[k - 1 for k in query if 0 < k <= names]] = 0
    return 1 + int(np.argmax(times))


def _passages(rng):
    yield np.array([1, 9, 1, 2, 8, 2, 1, 3]), np.array([1, 9, 7]), 3
    yield np.array([5, 3, 9, 3, 2, 5, 9, 9, 5, 9]), np.array([8, 3]), 5
    yield np.r_[rng.permutation([1, 1, 1, 2, 2, 3]), 7, 7, 7, 7], np.array([1, 7]), 4


def _count_all(passage, query, names):
    return 1 + int(np.argmax([np.sum(passage == k) for k in range(1, names + 1)]))


def _count_words(passage, query, names):
    left = [k for k in passage if k not in query]
    return int(np.bincount(left).argmax())


def _normalize(x, mean, var):
    steps = np.minimum(np.arange(len(x)), len(mean) - 1)
    return (x - mean[steps]) / np.sqrt(var[steps] + 1e-5)


def _step_cases(rng):
    yield np.ones((3, 2)), np.array([[0.0, 1], [2, 3]]), np.array([[1.0, 1], [4, 9]])
    yield rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.uniform(0.5, 2, size=(6, 3))
    yield rng.normal(size=(7, 2)), rng.normal(size=(4, 2)), rng.uniform(0.5, 2, size=(4, 2))


def _of_all_steps(x, mean, var):
    return (x - mean.mean(0)) / np.sqrt(var.mean(0) + 1e-5)


def _from_the_start(x, mean, var):
    steps = np.arange(len(x)) % len(mean)
    return (x - mean[steps]) / np.sqrt(var[steps] + 1e-5)


def _by_variance(x, mean, var):
    steps = np.minimum(np.arange(len(x)), len(mean) - 1)
    return (x - mean[steps]) / (var[steps] + 1e-5)


def _own(x, mean, var):
    center, spread = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - center) / np.sqrt(spread + 1e-5)


EXERCISES = {
    "masked-attention": Function(
        _attend,
        cases=_attention_cases,
        misconceptions={
            "the padding still gets attention.": (
                lambda scores, outputs, length: _softmax(scores) @ outputs
            ),
            "the weights must sum to 1: remove the padding before the softmax.": _masked_late,
            "a score of 0 does not give a weight of 0, because exp(0) is 1.": _as_zero,
            "the weights must sum to 1: divide by the sum of the exponentials.": (
                lambda scores, outputs, length: np.exp(scores[:length]) @ outputs[:length]
            ),
            "this is the unweighted mean; use the scores.": (
                lambda scores, outputs, length: outputs[:length].mean(0)
            ),
        },
        on_success="These weights are what the shading of the words shows.",
    ),
    "masked-softmax": Function(
        _probabilities,
        cases=_probability_cases,
        misconceptions={
            "an absent name has a probability above 0.": lambda logits, present: (
                _softmax(logits)
            ),
            "a logit of 0 still gives a probability above 0; use minus infinity.": _masked_to_zero,
            "the probabilities no longer sum to 1.": _cut,
        },
        on_success="With five names in a passage, guessing is correct for one question in five.",
    ),
    "most-frequent-name": Function(
        _most_frequent,
        cases=_passages,
        misconceptions={
            "leave out the names that occur in the question.": _count_all,
            "words above `names` are not names.": _count_words,
            "names are numbered from 1.": lambda *given: _most_frequent(*given) - 1,
        },
        on_success="Early in training, all models on this page have a higher error than this rule.",
    ),
    "statistics-per-time-step": Function(
        _normalize,
        cases=_step_cases,
        misconceptions={
            "each time step has its own statistics; do not average them.": _of_all_steps,
            "steps beyond the last known one use the statistics of the last one.": (
                _from_the_start
            ),
            "this is layer norm, which computes its statistics from the example itself.": _own,
            "divide by the square root of the variance.": _by_variance,
        },
        on_success="Layer norm needs no such table, whatever the length of the passage.",
    ),
}  # fmt: skip
