"""Arrays of every dtype and layout, and mistakes."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lnlib
from tests.cases.norms import BACKWARD, FORWARD, assert_close

# Arrays.

FUNCTIONS = {
    "layer": (lnlib.layer_norm, lnlib.layer_norm_backward),
    "rms": (lnlib.rms_norm, lnlib.rms_norm_backward),
    "batch": (lnlib.batch_norm, lnlib.batch_norm_backward),
    "instance": (lnlib.instance_norm, lnlib.instance_norm_backward),
    "group": (
        lambda x, gain: lnlib.group_norm(x, 2, gain),
        lambda dy, x, gain: lnlib.group_norm_backward(dy, x, 2, gain),
    ),
    "weight": (
        lambda x, gain: lnlib.weight_norm(x, x[0], gain),
        lambda dy, x, gain: lnlib.weight_norm_backward(dy, x, x[0], gain),
    ),
    "adaptive": (
        lambda x, gain: lnlib.adaptive_layer_norm(x, gain[None, None], np.resize(gain, (8, 4))),
        lambda dy, x, gain: lnlib.adaptive_layer_norm_backward(
            dy, x, gain[None, None], np.resize(gain, (8, 4))
        ),
    ),
    "dynamic tanh": (
        lambda x, gain: lnlib.dynamic_tanh(x, gain[:1], gain),
        lambda dy, x, gain: lnlib.dynamic_tanh_backward(dy, x, gain[:1], gain),
    ),
}
each_function = pytest.mark.parametrize(("forward", "backward"), FUNCTIONS.values(), ids=FUNCTIONS)


@each_function
def test_dtypes_are_preserved_and_promoted_as_in_numpy(forward, backward):
    for of_x, of_gain in ("ee", "ff", "dd", "fd"):
        x, gain = np.ones((5, 4, 4), of_x), np.ones(4, of_gain)
        for a in (forward(x, gain), *backward(x, x, gain)):
            assert a.dtype == np.result_type(x, gain)


@each_function
def test_float16_results_are_correctly_rounded(forward, backward):
    # Sums of a thousand numbers near 200, and of four squares, overflow float16: 65504 at most.
    rng = np.random.default_rng(0)
    x, gain = rng.normal(200, 16, (6, 4, 4)), np.ones(4)
    x = np.repeat(x, 64, axis=0).astype(np.float16)
    exact = forward(x.astype(float), gain)
    # Half a unit in the last place is 2**-11 of a number; measured: a third of what is allowed.
    y = forward(x, gain.astype(np.float16))
    assert_allclose(y, exact, rtol=2**-10, atol=2**-11)
    dy = (x - 200) / 512
    exact = backward(dy.astype(float), x.astype(float), gain)
    for actual, wanted in zip(backward(dy, x, gain.astype(np.float16)), exact, strict=True):
        assert_allclose(actual, wanted, rtol=2**-10, atol=2**-10)


# In float32, 2**24 + 1 is 2**24: added up there, nothing is left of the ones.
LARGE_THEN_ONES = np.array([2.0**24] + [1.0] * 64 + [-(2.0**24)], np.float32)
SIGNS = np.array([1, -1] * 33, np.float32)  # normalized, they stay as they are


@pytest.mark.parametrize("name", ["layer", "rms", "group", "instance", "batch", "weight"])
def test_gradients_of_parameters_are_summed_in_float64(name):
    ones = np.ones((66, 2), np.float32)
    if name == "batch":
        x_hat = np.stack([SIGNS, SIGNS], 1)
    elif name == "weight":
        x_hat = ones
    else:
        x_hat = SIGNS[:2] * ones
    dbias_dy, dgain_dy = LARGE_THEN_ONES[:, None] * ones, LARGE_THEN_ONES[:, None] * x_hat
    if name == "instance":  # (66, 1, 2): one channel, two positions
        x, back = x_hat[:, None], lambda dy: lnlib.instance_norm_backward(dy[:, None], x, eps=0)
        expected = [128.0]
    elif name == "weight":
        W = np.eye(2, dtype=np.float32)
        back = lambda dy: lnlib.weight_norm_backward(dy, ones, W)[1:]  # noqa: E731
        expected = [64.0, 64.0]
        # Each row is orthogonal to the row of W.
        assert_array_equal(back(dgain_dy)[0], [[0, 64], [64, 0]])
    else:
        call = {
            "layer": lnlib.layer_norm_backward,
            "rms": lambda *a, eps: (*lnlib.rms_norm_backward(*a, eps=eps), np.array(expected)),
            "group": lambda dy, x, eps: lnlib.group_norm_backward(dy, x, 1, eps=eps),
            "batch": lnlib.batch_norm_backward,
        }[name]
        back = lambda dy: call(dy, x_hat, eps=0)  # noqa: E731
        expected = [64.0, 64.0]
    assert_array_equal(back(dgain_dy)[-2], expected)
    assert_array_equal(back(dbias_dy)[-1], expected)


@pytest.mark.parametrize("layout", ["two axes", "images"])
def test_statistics_are_summed_in_float64(layout):
    x = np.stack([LARGE_THEN_ONES, LARGE_THEN_ONES[::-1]], 1)
    x = x if layout == "two axes" else x.reshape(11, 6, 2).transpose(0, 2, 1).copy()
    assert_allclose(lnlib.batch_statistics(x)[0], [64 / 66] * 2, rtol=1e-7)
    x = np.sign(x) * np.sqrt(np.abs(x))  # squares: 2**24 and ones
    for ddof in (0, 1):
        exact = x.astype(float).var((0,) if x.ndim == 2 else (0, 2), ddof=ddof)
        assert_allclose(lnlib.batch_statistics(x, ddof=ddof)[1], exact, rtol=1e-7)


@pytest.mark.parametrize("eps", [0.3, 60.0])  # 65,504 + 60 is no float16
def test_given_statistics_of_float16_are_used_in_float32(eps):
    x = np.array([[40000, 1.0], [-20000, 2.0]], np.float16)
    given = {"mean": np.array([-40000, 1.5], np.float16), "var": np.array([65504, 0.1], np.float16)}
    wide = {name: a.astype(float) for name, a in given.items()}
    exact = lnlib.batch_norm(x.astype(float), eps=eps, **wide)
    std = np.sqrt(wide["var"] + eps)
    assert_allclose(exact, (x - wide["mean"]) / std, rtol=1e-12)
    assert_allclose(lnlib.batch_norm(x, eps=eps, **given), exact, rtol=2**-11)
    exact = lnlib.batch_norm_backward(x / 1e4, x.astype(float), eps=eps, **wide)
    assert_allclose(exact[0], (x / 1e4) / std, rtol=1e-12)
    actual = lnlib.batch_norm_backward((x / 1e4).astype(np.float16), x, eps=eps, **given)
    for a, b in zip(actual, exact, strict=True):
        assert_allclose(a, b, rtol=2**-9, atol=2**-24)  # the smallest float16


@each_function
def test_memory_layout_does_not_matter_and_arguments_are_not_modified(forward, backward):
    dy, x = np.random.default_rng(0).standard_normal((2, 5, 4, 4))
    gain = np.arange(1.0, 5.0)
    views = [np.asfortranarray(a) for a in (dy, x)]
    for a in (dy, x, gain, *views):
        a.flags.writeable = False
    assert_close(forward(views[1], gain), forward(x, gain), FORWARD)
    for actual, wanted in zip(backward(*views, gain), backward(dy, x, gain), strict=True):
        assert_close(actual, wanted, BACKWARD)


@pytest.mark.parametrize("name", ["layer", "rms", "instance", "group"])
def test_a_batch_of_no_examples_gives_no_examples(name):
    forward, backward = FUNCTIONS[name]
    x, gain = np.ones((0, 4, 4)), np.ones(4)
    assert forward(x, gain).shape == (0, 4, 4)
    dx, dgain, *_ = backward(x, x, gain)
    assert dx.shape == (0, 4, 4)
    assert_array_equal(dgain, np.zeros(4))


# Mistakes. Each message: function, argument, what it must be, what it got; the likely fix.

X, ONES = np.ones((4, 6)), np.ones(6)
MISTAKES = {
    "list": (lambda: lnlib.layer_norm([[1.0, 2.0]]), "x must be .* got list"),
    "integers": (lambda: lnlib.layer_norm(np.arange(6)), "of floats, got int64"),
    "masked": (lambda: lnlib.layer_norm(np.ma.masked_array(X, X > 0)), r"MaskedArray.*x\.filled"),
    "scalar x": (lambda: lnlib.layer_norm(np.array(1.0)), r"\(\.\.\., H\).* got \(\)"),
    "no features": (lambda: lnlib.layer_norm(np.ones((4, 0))), r"got \(4, 0\)"),
    "gain of the batch": (lambda: lnlib.layer_norm(X, np.ones(4)), r"gain .*\(6,\), got \(4,\)"),
    "dy": (lambda: lnlib.layer_norm_backward(X[0], X), r"dy must be .* got \(6,\)"),
    "batch of no cases": (lambda: lnlib.batch_norm(X[:0]), "got ddof=0 for 0; use a"),
    "batch of 1, unbiased": (lambda: lnlib.batch_norm(X[:1], ddof=1), "got ddof=1 for 1; use a la"),
    "ddof of 1.5": (lambda: lnlib.batch_norm(X, ddof=1.5), "whole number >= 0 .* got ddof=1.5"),
    "negative var": (lambda: lnlib.batch_norm(X, mean=ONES, var=-ONES), "var must be >= 0, got -1"),
    "mean alone": (lambda: lnlib.batch_norm(X, mean=ONES), "must be given together"),
    "momentum": (lambda: lnlib.update_running(ONES, ONES, 1.1), "momentum must .* 1.1"),
    "groups": (lambda: lnlib.group_norm(X, 4), r"divide the 6 .*got 4; try one of \[1, 2, 3, 6\]"),
    "groups forgotten": (lambda: lnlib.group_norm(X, ONES, ONES), "groups must .*, got ndarray"),
    "instance without pixels": (lambda: lnlib.instance_norm(X), r"\(N, C, L, \.\.\.\).* got"),
    "W transposed": (lambda: lnlib.weight_norm(X, np.ones((6, 3))), r"\(6, 3\); try W.T"),
}
TYPES = {"list", "integers", "masked", "groups forgotten"}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_state_the_expected_value_and_the_fix(name):
    mistake, match = MISTAKES[name]
    with pytest.raises(TypeError if name in TYPES else ValueError, match=match) as raised:
        mistake()
    assert re.match(r"\w+: \w+( and \w+)? must .*, got .*; \w+", str(raised.value))


@each_function
@pytest.mark.parametrize(
    ("dtype", "power"), [(np.float32, 66), (np.float32, 115), (np.float64, 512), (np.float64, 1010)]
)
def test_numbers_whose_squares_overflow_are_normalized_as_others_are(
    forward, backward, dtype, power, request
):
    if "weight" in request.node.name or "tanh" in request.node.name:
        pytest.skip("takes no squares of the data")
    dy, x = np.random.default_rng(0).standard_normal((2, 5, 4, 4)).astype(dtype)
    x[:, 1] += 50
    gain = np.linspace(0.5, 2, 4).astype(dtype)
    # A power of 2 rounds nothing; beside the square of 2**40, eps is nothing either.
    moderate, large = x * dtype(2.0**40), x * dtype(2.0**power)
    assert_close(forward(large, gain), forward(moderate, gain), 0)
    (dx, *rest), (expected, *others) = (backward(dy, a, gain) for a in (large, moderate))
    assert_allclose(dx * dtype(2.0 ** (power - 40)), expected, rtol=1e-5)
    for actual, wanted in zip(rest, others, strict=True):
        assert_array_equal(actual, wanted)
