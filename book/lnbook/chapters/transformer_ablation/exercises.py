"""The exercises of the chapter ``transformer_ablation``."""

from __future__ import annotations

import numpy as np

from lnbook.exercises import Function, Value


def _frozen(x, gain, bias, deviation):
    return gain * (x - x.mean(axis=-1, keepdims=True)) / deviation + bias


def _frozen_cases(rng):
    yield np.array([[1.0, 3.0], [2.0, 8.0]]), np.ones(2), np.zeros(2), 2.0
    yield rng.normal(3, 4, size=(5, 6)), rng.uniform(0.5, 2, 6), rng.normal(size=6), 5.5


def _nats(logits, following):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(following)), following].mean()


def _nats_cases(rng):
    yield np.zeros((2, 65)), np.array([3, 9])
    yield rng.normal(size=(5, 7)), rng.integers(7, size=5)
    yield 900 * rng.normal(size=(4, 6)), rng.integers(6, size=4)  # as with norms off


def _summed(logits, following):
    return _nats(logits, following) * len(following)


def _chances(logits, temperature):
    p = np.exp((logits - logits.max()) / temperature)
    return p / p.sum()


def _chances_cases(rng):
    yield np.array([0.0, np.log(4)]), 2.0
    yield rng.normal(size=6), 0.5
    yield rng.normal(size=5), 3.0


def _mean_share(x):
    return (x.mean(axis=1) ** 2 / (x**2).mean(axis=1)).mean()


def _mean_share_cases(rng):
    yield (np.array([[1.0, 3.0], [2.0, 2.0]]),)
    yield (rng.normal(0.5, 2, size=(6, 8)),)
    yield (rng.normal(-3, 1, size=(4, 5)) * np.array([[1], [10], [1], [3]]),)


EXERCISES = {
    "frozen-norm": Function(
        _frozen,
        cases=_frozen_cases,
        wrong={
            "this divides each row by its own deviation; frozen means the given constant.": (
                lambda x, gain, bias, deviation: (
                    gain * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + bias
                )
            ),
            "each row's mean still comes off; only the deviation is frozen.": (
                lambda x, gain, bias, deviation: gain * x / deviation + bias
            ),
            "the mean is that of a row, `axis=-1`; this one runs over the characters.": (
                lambda x, gain, bias, deviation: gain * (x - x.mean(axis=0)) / deviation + bias
            ),
            "gain and bias stay where they are.": lambda x, gain, bias, deviation: (
                (x - x.mean(-1, keepdims=True)) / deviation
            ),
        },
        right="One number for all rows: what differs before differs behind.",
    ),
    "nats-a-character": Function(
        _nats,
        cases=_nats_cases,
        wrong={
            "this is their sum; asked is the mean of a character.": _summed,
            "this is the logarithm of the probabilities; a loss is *minus* that.": (
                lambda logits, following: -_nats(logits, following)
            ),
            "these are bits, not nats; take `np.log`, not `np.log2`.": (
                lambda logits, following: _nats(logits, following) / np.log(2)
            ),
        },
        right="And no overflow: the largest logit comes off first.",
    ),
    "next-at-temperature": Function(
        _chances,
        cases=_chances_cases,
        wrong={
            "logits are *divided* by the temperature, not multiplied.": (
                lambda logits, temperature: _chances(logits, 1 / temperature)
            ),
            "the temperature acts on the logits, before `np.exp`; here it does nothing.": (
                lambda logits, temperature: _chances(logits, 1.0)
            ),
        },
        right="A last norm that is off does the same: logits times a number are a temperature.",
    ),
    "sharper-scores": Value(
        36,
        wrong={
            6: "queries *and* keys grow by this; a score is their product.",
            12: "the two factors multiply, they do not add.",
            1 / 36: "without the norm they are larger, not smaller.",
            18: "the root in the scores is of the number of features, which stays.",
        },
        right="Queries and keys grow 6 times each. Softmax of scores so large picks one character.",
        otherwise="how much does a query grow, and how much a key?",
    ),
    "mean-share": Function(
        _mean_share,
        cases=_mean_share_cases,
        wrong={
            "this is the share that is *not* mean.": lambda x: 1 - _mean_share(x),
            "take each row's share first, then the mean over rows; here large rows count more.": (
                lambda x: (x.mean(axis=1) ** 2).mean() / (x**2).mean()
            ),
            "a mean runs over the features of one character, `axis=1`.": (
                lambda x: (x.mean(axis=0) ** 2 / (x**2).mean(axis=0)).mean()
            ),
            "squares are compared with squares: the mean has to be squared, too.": (
                lambda x: (np.abs(x.mean(axis=1)) / (x**2).mean(axis=1)).mean()
            ),
        },
        right="That is all that RMSNorm leaves in and layer norm takes out.",
    ),
}
