"""The exercises of the chapter ``transformer_ablation``."""

import numpy as np

from lnbook.exercises import Function, Value


def _frozen(x, gain, bias, std):
    return gain * (x - x.mean(axis=-1, keepdims=True)) / std + bias


def _frozen_cases(rng):
    yield np.array([[1.0, 3.0], [2.0, 8.0]]), np.ones(2), np.zeros(2), 2.0
    yield rng.normal(3, 4, size=(5, 6)), rng.uniform(0.5, 2, 6), rng.normal(size=6), 5.5


def _outliers(x):
    rms = np.sqrt((x**2).mean(axis=0))
    return np.flatnonzero(rms > 5 * np.median(rms))


def _outlier_cases(rng):
    x = np.ones((3, 7))
    x[:, 3] = [-9.0, 9.0, 9.0]  # an outlier whose mean is not large
    x[0, 5] = 8.0  # large only for one character
    yield (x,)
    x = np.ones((5, 4))
    x[2] = 20.0  # a large character
    yield (x,)
    x = rng.normal(size=(40, 9))
    x[:, [2, 6]] *= [12, 20]
    yield (x,)


def _by_mean(x):
    mean = np.abs(x.mean(axis=0))
    return np.flatnonzero(mean > 5 * np.median(mean))


def _by_maximum(x):
    largest = np.abs(x).max(axis=0)
    return np.flatnonzero(largest > 5 * np.median(largest))


def _of_characters(x):
    rms = np.sqrt((x**2).mean(axis=1))
    return np.flatnonzero(rms > 5 * np.median(rms))


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
        misconceptions={
            "this divides each row by its own standard deviation; divide by the constant `std`.": (
                lambda x, gain, bias, std: (
                    gain * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + bias
                )
            ),
            "subtract the mean of each row; only the standard deviation is frozen.": (
                lambda x, gain, bias, std: gain * x / std + bias
            ),
            "subtract the mean over the features, `axis=-1`, not over the characters.": (
                lambda x, gain, bias, std: gain * (x - x.mean(axis=0)) / std + bias
            ),
            "apply gain and bias, too.": lambda x, gain, bias, std: (
                (x - x.mean(-1, keepdims=True)) / std
            ),
        },
        on_success="All rows are divided by the same number, so large rows stay large.",
    ),
    "outlier-features": Function(
        _outliers,
        cases=_outlier_cases,
        misconceptions={
            "positive and negative values cancel in a mean; use the root mean square.": _by_mean,
            "a feature that is large for one character only is not an outlier; use the root mean "
            "square instead of the maximum.": _by_maximum,
            "these are indices of characters; average over the characters, `axis=0`.": (
                _of_characters
            ),
        },
        on_success="The root mean square does not depend on signs, and the median is not affected "
        "by the outliers themselves.",
    ),
    "attention-score-scale": Value(
        36,
        misconceptions={
            6: "queries *and* keys are multiplied by this; a score is their product.",
            12: "multiply the two factors instead of adding them.",
            1 / 36: "without the norm the scores are larger, not smaller.",
            18: "the factor in front of the scores, 1/√(head dimension), does not change.",
        },
        on_success="Queries and keys are each 6 times as large. With scores that large, the "
        "softmax selects a single character.",
        hint="by what factor does a query grow, and by what factor does a key grow?",
    ),
    "fraction-due-to-the-mean": Function(
        _mean_share,
        cases=_mean_share_cases,
        misconceptions={
            "this is the fraction that is *not* due to the mean.": lambda x: 1 - _mean_share(x),
            "compute the fraction of each row first, then average; here large rows count more.": (
                lambda x: (x.mean(axis=1) ** 2).mean() / (x**2).mean()
            ),
            "average over the features of each character, `axis=1`.": (
                lambda x: (x.mean(axis=0) ** 2 / (x**2).mean(axis=0)).mean()
            ),
            "square the mean, too.": (
                lambda x: (np.abs(x.mean(axis=1)) / (x**2).mean(axis=1)).mean()
            ),
        },
        on_success="This is the part that layer norm removes and RMSNorm keeps.",
    ),
}
