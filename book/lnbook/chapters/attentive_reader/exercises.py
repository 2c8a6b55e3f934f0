"""The exercises of the chapter ``attentive_reader``."""

from __future__ import annotations

import numpy as np

from lnbook.exercises import Function


def _renamed(words, names):
    found = words.copy()
    are = (words > 0) & (words <= len(names))
    found[are] = names[words[are] - 1]
    return found


def _renamed_cases(rng):
    # The new names are old names of others: who renames one after another renames twice.
    yield np.array([9, 1, 7, 2, 1, 0, 3]), np.array([2, 3, 1])
    yield np.array([4, 8, 5, 4]), np.array([1, 2, 3, 5, 4])
    yield rng.integers(0, 20, size=15), 1 + rng.permutation(6)


def _one_by_one(words, names):
    found = words.copy()
    for k, name in enumerate(names, 1):
        found[found == k] = name
    return found


def _shares(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def _look(scores, outputs, length):
    return _shares(scores[:length]) @ outputs[:length]


def _look_cases(rng):
    yield np.array([0.0, 1.0, 5.0]), np.array([[1.0, 0], [0, 1], [9, 9]]), 2
    yield np.array([2.0, 2.0]), np.array([[1.0, 3], [5, 7]]), 2
    T = int(rng.integers(5, 9))
    yield rng.normal(size=T), rng.normal(size=(T, 3)), T - 2


def _late(scores, outputs, length):
    weights = _shares(scores)
    weights[length:] = 0
    return weights @ outputs


def _as_zero(scores, outputs, length):
    known = scores.copy()
    known[length:] = 0
    return _shares(known) @ outputs


def _choose(logits, present):
    return _shares(np.where(present == 1, logits, -np.inf))


def _choose_cases(rng):
    yield np.array([3.0, 1.0, -1.0]), np.array([0, 1, 1])
    yield np.array([0.5, 0.5, 2.0, 0.0]), np.array([1, 1, 0, 1])
    yield rng.normal(size=6), rng.permutation([1, 0, 1, 1, 0, 1])


def _masked_to_zero(logits, present):
    return _shares(np.where(present == 1, logits, 0.0))


def _cut(logits, present):
    return np.where(present == 1, _shares(logits), 0)


def _counted(passage, query, names):
    times = np.array([np.sum(passage == k) for k in range(1, names + 1)])
    times[[k - 1 for k in query if 0 < k <= names]] = 0
    return 1 + int(np.argmax(times))


def _counted_cases(rng):
    yield np.array([1, 9, 1, 2, 8, 2, 1, 3]), np.array([1, 9, 7]), 3
    yield np.array([5, 3, 9, 3, 2, 5, 9, 9, 5, 9]), np.array([8, 3]), 5
    yield np.r_[rng.permutation([1, 1, 1, 2, 2, 3]), 7, 7, 7, 7], np.array([1, 7]), 4


def _count_all(passage, query, names):
    return 1 + int(np.argmax([np.sum(passage == k) for k in range(1, names + 1)]))


def _count_words(passage, query, names):
    left = [k for k in passage if k not in query]
    return int(np.bincount(left).argmax())


def _at_step(x, mean, var):
    steps = np.minimum(np.arange(len(x)), len(mean) - 1)
    return (x - mean[steps]) / np.sqrt(var[steps] + 1e-5)


def _at_step_cases(rng):
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
    "rename-the-names": Function(
        _renamed,
        cases=_renamed_cases,
        wrong={
            "a name is renamed twice: look up all of them in the words as they were.": _one_by_one,
            "words from len(names) + 1 on, and 0, are no names; they stay.": lambda words, names: (
                names[(words - 1) % len(names)]
            ),
            "names count from 1, and places in an array from 0.": lambda words, names: np.where(
                (words > 0) & (words <= len(names)), names[words % len(names)], words
            ),
        },
        right="So no network can know that David met Goliath: it must read.",
    ),
    "look-by-attention": Function(
        _look,
        cases=_look_cases,
        wrong={
            "what stands behind the end still has a part of the attention.": (
                lambda scores, outputs, length: _shares(scores) @ outputs
            ),
            "the shares no longer add up to 1: leave out what is behind the end first.": _late,
            "a score of 0 is no share of 0: exp(0) is 1.": _as_zero,
            "these are sums, not shares: divide by the sum of the exponentials.": (
                lambda scores, outputs, length: np.exp(scores[:length]) @ outputs[:length]
            ),
            "attention weighs the words unequally; this is their plain mean.": (
                lambda scores, outputs, length: outputs[:length].mean(0)
            ),
        },
        right="The shares are what the picture shades words by.",
    ),
    "choose-among-the-names": Function(
        _choose,
        cases=_choose_cases,
        wrong={
            "a name that is not in the passage has a chance.": lambda logits, present: (
                _shares(logits)
            ),
            "a logit of 0 is still a chance; it takes minus infinity.": _masked_to_zero,
            "the chances no longer add up to 1.": _cut,
        },
        right="With five names in the passage, a network that knows nothing is right once in five.",
    ),
    "count-without-reading": Function(
        _counted,
        cases=_counted_cases,
        wrong={
            "the query's own names cannot be missing in it; leave them out.": _count_all,
            "words above `names` are no names.": _count_words,
            "names count from 1.": lambda *given: _counted(*given) - 1,
        },
        right="This rule reads nothing, and beats a network that has not learnt enough.",
    ),
    "statistics-of-a-step": Function(
        _at_step,
        cases=_at_step_cases,
        wrong={
            "each step has statistics of its own; these are means over all steps.": _of_all_steps,
            "a later step takes those of the last known one, and does not begin anew.": (
                _from_the_start
            ),
            "this is layer norm, which needs no statistics of other cases.": _own,
            "divide by the root of the variance.": _by_variance,
        },
        right="Layer norm has nothing to look up here, at any length.",
    ),
}  # fmt: skip
