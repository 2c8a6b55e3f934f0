"""The norms and their gradients: against PyTorch."""

import numpy as np
import pytest
import torch.nn.functional as F
from numpy.testing import assert_array_equal

import lnlib
from tests.cases.norms import (
    BACKWARD,
    EPS,
    FORWARD,
    NORMS,
    assert_close,
    assert_equals_autograd,
    draw,
    each_case,
    each_data,
    each_shift_invariant,
    run_oracle,
)

# Against PyTorch.


@each_case
@each_data
def test_output_and_gradients_match_torch(norm, shape, mean, scale):
    dy, x, gain, bias = draw(norm, shape, mean, scale)
    y, expected = run_oracle(norm, dy, x, gain, bias)
    assert_close(norm.forward(x, gain, bias), y, FORWARD)
    for actual, wanted in zip(norm.backward(dy, x, gain), expected, strict=True):
        assert_close(actual, wanted, BACKWARD)


@each_shift_invariant
@pytest.mark.parametrize("scale", [1.0, -3.0, 3e-3])
def test_a_mean_of_1e4_costs_no_accuracy_in_float64(norm, scale):
    dy, x, gain, bias = draw(norm, (6, 4, 32), 1e4, scale)
    if norm.axis == -1:
        dy, x, gain, bias = draw(norm, (6, 128), 1e4, scale)
    # PyTorch itself loses 1e-11 here; it gets the same numbers, less 1e4 (an exact subtraction).
    y, gradients = run_oracle(norm, dy, x - 1e4, gain, bias)
    assert_close(norm.forward(x, gain, bias), y, FORWARD)
    for actual, wanted in zip(norm.backward(dy, x, gain), gradients, strict=True):
        assert_close(actual, wanted, BACKWARD)


# Every feature, beside outliers too: the root mean square of its error over all rows, against
# float64, for features of like output. Not the largest error of a row: an outlier's own hides it.
OUTLIERS = {"none": [], "last": [-1], "several": [0, 32, -1, 7]}
ARRANGED = {  # from rows that share a mean to an input, and an output back to rows
    "layer": (lambda rows: rows, lambda y, n: y),
    "group": (lambda rows: rows.reshape(-1, 4, rows.shape[1] // 2), lambda y, n: y.reshape(-1, n)),
    "instance": (lambda rows: rows.reshape(-1, 4, rows.shape[1]), lambda y, n: y.reshape(-1, n)),
    "batch": (lambda rows: np.ascontiguousarray(rows.T), lambda y, n: y.T),
}


def by_two_passes(x, dy):
    """Return ``y`` and ``dx`` of rows, in their dtype."""
    centered = x - x.mean(-1, keepdims=True)
    std = np.sqrt(np.square(centered).mean(-1, keepdims=True) + x.dtype.type(EPS))
    y = centered / std
    slope = (dy * y).mean(-1, keepdims=True)
    return y, (dy - dy.mean(-1, keepdims=True) - slope * y) / std


@pytest.mark.parametrize("name", ARRANGED)
@pytest.mark.parametrize("width", [64, 4096])
@pytest.mark.parametrize("mean", [0, -30, 1e4], ids="{:g}".format)
@pytest.mark.parametrize(
    ("outliers", "size"),
    [(place, size) for place in OUTLIERS for size in ([100, 1e4] if OUTLIERS[place] else [0])],
    ids=lambda v: v if isinstance(v, str) else f"{v:g}",
)
def test_float32_is_as_accurate_in_every_feature(name, width, mean, outliers, size):
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, {64: 400, 512: 120, 4096: 40}[width], width))
    x[:, OUTLIERS[outliers]] += size
    x, dy = (x + mean).astype(np.float32), dy.astype(np.float32)
    exact = by_two_passes(x.astype(float), dy.astype(float))
    put, back = ARRANGED[name]
    ones = np.ones(put(x).shape[NORMS[name].axis], np.float32)
    theirs, (their_dx, *_) = run_oracle(NORMS[name], put(dy), put(x), ones, 0 * ones)
    ours = NORMS[name].forward(put(x), None, None), NORMS[name].backward(put(dy), put(x), None)[0]
    # Features whose outputs are alike, 10 to the power of -2 to 1; the smallest are one lot.
    lot = np.clip(np.floor(np.log10(np.abs(exact[0]))), -2, 1)
    for which, (a, b, c, e) in enumerate(
        zip(ours, (theirs, their_dx), by_two_passes(x, dy), exact, strict=True)
    ):
        for k in np.unique(lot):
            if (lot == k).sum() < 200:
                continue
            mine, torchs, twos = (
                np.sqrt(np.square(v.astype(float) - e)[lot == k].mean())
                for v in (back(a, width), back(b, width), c)
            )
            # Measured: 1.55 at most, in instance norm.
            assert mine <= 1.6 * min(torchs, twos), (which, k)


# Weight normalization has a W, hence its own tests.


@pytest.mark.parametrize("x_shape", [(5, 3), (3,), (2, 6, 3)], ids=str)
def test_weight_norm_and_its_gradients_match_torch(x_shape):
    rng = np.random.default_rng(0)
    assert_equals_autograd(
        lnlib.weight_norm,
        lambda dy, x, W, gain, bias: lnlib.weight_norm_backward(dy, x, W, gain),
        lambda x, W, gain, bias: F.linear(x, gain[:, None] * W / W.norm(dim=1)[:, None], bias),
        *(rng.standard_normal(shape) for shape in (x_shape, (4, 3), (4,), (4,))),
    )


def test_weight_norm_gives_nan_for_a_neuron_without_weights():
    x, W = np.ones((2, 3)), np.ones((2, 3))
    W[1] = 0
    with pytest.warns(RuntimeWarning, match="invalid value"):
        y = lnlib.weight_norm(x, W)
    assert_array_equal(np.isnan(y), [[False, True]] * 2)
