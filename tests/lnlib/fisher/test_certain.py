"""Accuracy for models that are nearly certain, compared with 80-digit arithmetic.

A variance of 1e-17 is below the rounding error of the probability, which is 1.
"""

import numpy as np
import pytest
from mpmath import mp, mpf

from lnlib import cells, dynamic_tanh_backward
from lnlib.fisher import GLM
from lnlib.transformer import attention_backward

LOGITS = [0.3, -0.3, 5, -5, 17, -17, 37, -37, 38, -38, 100, -100, 700, -700]
# Rows of logits: one class is certain (the first or the last), or two of three share the label.
ROWS = [[0, 38], [38, 0], [-20, 20, 0], [100, 0, 99], [1, 2, 3], [400, -300, 0], [50, 50, 0]]
close = {"rtol": 2e-13, "atol": 0}


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(700):  # 1 + exp(-1400) is not 1
        yield


def probabilities(family, s):
    s = [mpf(float(a)) for a in s]
    if family == "bernoulli":
        return [1 / (1 + mp.exp(-a)) for a in s]
    if family == "poisson":
        return [mp.exp(a) for a in s]
    total = mp.fsum(map(mp.exp, s))
    return [mp.exp(a) / total for a in s]


def covariance(family, s):
    """``Cov[y]`` of the labels with natural parameters ``s``."""
    p, H = probabilities(family, s), range(len(s))
    if family == "categorical":
        return [[p[i] * ((i == j) - p[j]) for j in H] for i in H]
    var = {"bernoulli": lambda p: p * (1 - p), "poisson": lambda p: p}[family]
    return [[var(p[i]) if i == j else mpf(0) for j in H] for i in H]


def model_of(s, family):
    """A model with natural parameters ``s`` for inputs of 1: F is Cov[y] for b."""
    s = np.array(s, float)
    return GLM(np.zeros((len(s), 1)), s, norm="none", family=family), np.ones((1, 1))


def floats(rows):
    return np.array([[float(a) for a in row] for row in rows])


CASES = [("bernoulli", LOGITS), ("poisson", LOGITS), *(("categorical", row) for row in ROWS)]
each = pytest.mark.parametrize(("family", "s"), CASES, ids=str)


@each
@pytest.mark.parametrize("kind", ["exact", "paper"])
def test_fisher_information_is_accurate_for_certain_labels(family, s, kind):
    model, X = model_of(s, family)
    F = model.fisher(X, kind=kind)[1::2, 1::2]
    np.testing.assert_allclose(F, floats(covariance(family, s)), **close)


@each
def test_fisher_products_are_accurate_for_certain_labels(family, s):
    model, X = model_of(s, family)
    v = np.random.default_rng(0).normal(size=len(s)) + 1
    cov = covariance(family, s)
    expected = [[mp.fsum(c * mpf(a) for c, a in zip(row, v, strict=True))] for row in cov]
    step = np.stack([0 * v, v], 1).ravel()
    np.testing.assert_allclose(model.fisher_product(X, step)[1::2], floats(expected)[:, 0], **close)
    quadratic = mp.fsum(mpf(a) * e[0] for a, e in zip(v, expected, strict=True)) / 2
    assert model.quadratic(X, step) == pytest.approx(float(quadratic), rel=2e-12)


STEPS = [-1000, -30, -2, -1, -0.5, -1e-3, 1e-3, 0.5, 1, 2, 30, 1000]


@each
@pytest.mark.parametrize("size", STEPS)
def test_the_divergence_from_a_certain_label_is_accurate(family, s, size):
    if family == "poisson" and size > 2 and max(s) > 100:
        pytest.skip("past the largest number")
    d = size * np.linspace(0.4, 1.2, len(s))
    end = np.array(s, float) + d
    d = end - np.array(s, float)  # after rounding
    p = probabilities(family, s)
    eta = {
        "bernoulli": lambda s: mp.fsum(mp.log1p(mp.exp(mpf(float(a)))) for a in s),
        "poisson": lambda s: mp.fsum(mp.exp(mpf(float(a))) for a in s),
        "categorical": lambda s: mp.log(mp.fsum(mp.exp(mpf(float(a))) for a in s)),
    }[family]
    mean = mp.fsum(a * mpf(float(b)) for a, b in zip(p, d, strict=True))
    kl = eta(end) - eta(s) - mean
    model, X = model_of(s, family)
    assert model.kl(X, np.stack([0 * d, d], 1).ravel()) == pytest.approx(float(kl), rel=1e-11)


# The slopes of tanh and of the logistic function, in cells, attention and dynamic tanh.

SQUASHED = [0.2, -0.7, 3, -9, 20, -19, 38, -38, 60, 1e4, -1e4]


def logistic(a):
    return 1 / (1 + mp.exp(-a))


def slope(a):
    return logistic(a) * logistic(-a)


def tanh_slope(a):
    return 1 / mp.cosh(a) ** 2


def equal(ours, right):
    np.testing.assert_allclose(np.ravel(ours), floats([right])[0], rtol=1e-12, atol=0)


@pytest.mark.parametrize("a", SQUASHED)
def test_the_slope_of_a_saturated_tanh_is_accurate(a):
    x, one = np.array([[float(a)]]), np.ones((1, 1))
    params = {"W_ih": one, "W_hh": 0 * one}
    dx, *_ = cells.rnn_step_backward(one, x, 0 * one, params, form="plain")
    equal(dx, [tanh_slope(mpf(a))])
    equal(dynamic_tanh_backward(one, x, np.array(1.0))[0], [tanh_slope(mpf(a))])


@pytest.mark.parametrize("shift", range(len(SQUASHED)))
def test_gradients_of_saturated_lstm_gates_are_accurate(shift):
    gates = np.roll(SQUASHED, shift)[:4]
    i, f, g, o = (mpf(float(a)) for a in gates)
    state, x, one = (np.zeros((1, 1)), np.full((1, 1), 3.0)), np.zeros((1, 1)), np.ones((1, 1))
    params = {"W_ih": np.zeros((4, 1)), "W_hh": np.zeros((4, 1)), "b": gates}
    h, c = cells.lstm_step(x, state, params, form="plain")
    cell = logistic(f) * 3 + logistic(i) * mp.tanh(g)
    equal(c, [cell])
    equal(h, [logistic(o) * mp.tanh(cell)])
    dstate = (one, 0 * one)
    _, (_, dc), grads = cells.lstm_step_backward(dstate, x, state, params, form="plain")
    d = logistic(o) * tanh_slope(cell)
    right = [d * mp.tanh(g) * slope(i), d * 3 * slope(f), d * logistic(i) * tanh_slope(g)]
    equal(grads["b"], [*right, mp.tanh(cell) * slope(o)])
    equal(dc, [d * logistic(f)])


@pytest.mark.parametrize("gap", [0.5, 20, 38, 100])
def test_gradients_of_saturated_attention_are_accurate(gap):
    # One feature: scores of the second token are gap * key, values are the tokens.
    one = np.ones((1, 1))
    params = {"W_q": one, "W_k": one, "W_v": one, "W_o": one}
    x, dy = np.array([[float(gap)], [1.0]]), np.array([[0.0], [1.0]])
    dx, grads = attention_backward(dy, x, params)
    a, b = mpf(float(gap)), mpf(1)
    p = logistic(a * b - b * b)  # of the first; the second is 1 - p
    d_score = p * (1 - p) * (a - b)  # of the first, minus it of the second
    equal(grads["W_q"], [d_score * (a - b) * b])
    equal(dx[1], [d_score * (a - b) - d_score * b + (1 - p)])
