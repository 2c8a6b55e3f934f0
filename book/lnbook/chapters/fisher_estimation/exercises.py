"""The exercises of the chapter ``fisher_estimation``."""

import numpy as np

from lnbook.exercises import Function, Value


def _mean(X, w, b):
    return 1 / (1 + np.exp(-(X @ w + b)))


def _product(X, w, b, v):
    p = _mean(X, w, b)
    ds = X @ v[:-1] + v[-1]
    u = p * (1 - p) * ds / len(X)
    return np.concatenate([X.T @ u, [u.sum()]])


def _other_product(*, weigh=lambda p: p * (1 - p), total=False, moves=True):
    def product(X, w, b, v):
        ds = X @ v[:-1] + (v[-1] if moves else 0)
        u = weigh(_mean(X, w, b)) * ds / (1 if total else len(X))
        return np.concatenate([X.T @ u, [u.sum()]])

    return product


def _product_cases(rng):
    yield np.array([[1.0], [2.0]]), np.array([0.5]), 0.0, np.array([1.0, -1.0])
    for cases, inputs in ((5, 3), (6, 2000)):
        X, w = rng.normal(size=(cases, inputs)), rng.normal(size=inputs) / inputs
        yield X, w, 0.7, rng.normal(size=inputs + 1)


EXERCISES = {
    "labels-for-one-percent": Value(
        4000,
        on_success="Twenty times the precision takes four hundred times as many labels.",
        misconceptions={
            200: "the error is not proportional to 1 / labels, but to 1 / √labels.",
            400: "that is the factor; you started with ten labels.",
            45: "multiply by the square of 20, not by its square root.",
        },
        hint="the error is proportional to 1 / √labels.",
    ),
    "product-without-matrix": Function(
        _product,
        cases=_product_cases,
        misconceptions={
            "the variance p (1 − p) of the labels is missing.": _other_product(weigh=np.ones_like),
            "the variance of a label that is 0 or 1 is p (1 − p).": _other_product(
                weigh=lambda p: p
            ),
            "the expectation over x is a mean over the examples, not a sum.": _other_product(
                total=True
            ),
            "the last entry of v changes the bias, and thereby the summed input.": _other_product(
                moves=False
            ),
        },
        on_success="A derivative along v, a multiplication by the variance, and a backward pass: "
        "the matrix is never formed.",
    ),
}
