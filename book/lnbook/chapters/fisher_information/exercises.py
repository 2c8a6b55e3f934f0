"""The exercises of the chapter ``fisher_information``."""

import numpy as np

from lnbook.exercises import Function, Value


def _kl(p, q):
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def _kl_cases(rng):
    yield np.array([0.5]), np.array([0.25])
    yield rng.uniform(0.1, 0.9, size=(2, 5))


def _mean(X, w, b):
    return 1 / (1 + np.exp(-(X @ w + b)))


def _other_matrix(*, weigh=lambda p: p * (1 - p), total=False, bias=True):
    def one_unit_fisher(X, w, b):
        rows = np.concatenate([X, np.ones((len(X), 1))], axis=1) if bias else X
        F = rows.T @ (weigh(_mean(X, w, b))[:, None] * rows)
        return F if total else F / len(X)

    return one_unit_fisher


def _matrix_cases(rng):
    yield np.array([[1.0], [2.0]]), np.array([0.5]), 0.0
    for cases, inputs in ((5, 3), (4, 4)):
        yield rng.normal(size=(cases, inputs)), rng.normal(size=inputs), 0.7


EXERCISES = {
    "two-coins": Function(
        _kl,
        cases=_kl_cases,
        misconceptions={
            "the two distributions are swapped; the mean is over the labels of the first.": (
                lambda p, q: _kl(q, p)
            ),
            "a label has two values: add the term with 1 − p and 1 − q.": (
                lambda p, q: p * np.log(p / q)
            ),
            "these are bits; nats come from the natural logarithm.": (
                lambda p, q: _kl(p, q) / np.log(2)
            ),
            "this is the cross-entropy; subtract the entropy of the first.": (
                lambda p, q: -p * np.log(q) - (1 - p) * np.log(1 - q)
            ),
        },
        on_success="It is in nats, it is 0 for equal probabilities, and it is not symmetric.",
    ),
    "one-unit-fisher": Function(
        _other_matrix(),
        cases=_matrix_cases,
        misconceptions={
            "the variance of a label that is 0 or 1 is p (1 − p).": _other_matrix(
                weigh=lambda p: p
            ),
            "the variance p (1 − p) is missing; this is the matrix of a Gaussian.": _other_matrix(
                weigh=np.ones_like
            ),
            "the expectation over x is a mean over the examples, not a sum.": _other_matrix(
                total=True
            ),
            "the bias is a parameter too: append a 1 to every x.": _other_matrix(bias=False),
        },
        on_success="Eq. 12 for one unit: variance times data, averaged.",
    ),
    "flat-directions": Value(
        (5, 9),
        on_success="With batch norm, one per unit; with layer norm, D for the shift and one for "
        "the scale.",
        misconceptions={
            (5, 1): "one direction scales all weights. Table 1 has a second invariance of layer "
            "norm: the same vector added to every row of W.",
            (5, 8): "those are the D shifts of all rows; the scale of W is one more.",
            (1, 9): "with batch norm each unit has its own scale.",
            (9, 5): "these are the right numbers in the wrong order.",
            (5, 5): "under layer norm a single unit's weights cannot be scaled: all units "
            "share the mean and the standard deviation.",
        },
        hint="count the independent directions in which W can change without changing any "
        "prediction; Table 1 lists them.",
    ),
}
