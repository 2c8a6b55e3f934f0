"""Layer norm as others compute it, and variances in the dtype of their numbers."""

import math
import statistics

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lnlib
from lnlib import numerics
from lnlib.numerics import METHODS, RECIPES, deviation_after, errors_of_std, variant

SAMPLE = np.random.default_rng(0).normal(3, 0.01, size=(5, 4))  # variance near eps


def by_loop(x, ddof, eps, eps_placement):
    """One row, number by number."""
    mean = sum(x) / len(x)
    var = sum((v - mean) ** 2 for v in x) / (len(x) - ddof)
    below = math.sqrt(var + eps) if eps_placement == "inside" else math.sqrt(var) + eps
    return [(v - mean) / below for v in x]


MISTAKES = {
    "axis": (lambda: variant(SAMPLE, axis="row"), "one of features, batch, sample, got 'row'"),
    "place": (lambda: variant(SAMPLE, eps_placement="under"), "eps_placement .*inside or outside"),
    "place of eps": (lambda: deviation_after(1.0, eps_placement="lua"), "inside or outside, got"),
    "ddof": (lambda: variant(SAMPLE[:, :1], ddof=1), "over 1 number has no variance with ddof=1"),
    "method": (lambda: numerics.layer_norm(SAMPLE, "foo"), "method must be .*Welford.* got 'foo'"),
}


@pytest.mark.parametrize(("wrong", "match"), MISTAKES.values(), ids=MISTAKES)
def test_invalid_values_are_named_in_the_error(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()


RECIPES_IN_TORCH = {
    "the paper": lambda x: F.layer_norm(x, (4,), eps=0),
    "Flax": lambda x: F.layer_norm(x, (4,), eps=1e-6),
    "PyTorch": torch.nn.LayerNorm(4, dtype=torch.float64),
    "the authors' Theano code": lambda x: F.layer_norm(x, (4,), eps=1e-5),
    "BERT": lambda x: F.layer_norm(x, (4,), eps=1e-12),
    "Keras": lambda x: F.layer_norm(x, (4,), eps=1e-3),
    "the authors' Lua code": lambda x: centered(x) / (x.std(1, correction=0, keepdim=True) + 1e-5),
    "the Annotated Transformer": lambda x: centered(x) / (x.std(1, keepdim=True) + 1e-6),
    "TensorFlow 1": lambda x: F.layer_norm(x, x.shape, eps=1e-12),
    "PyTorch's batch norm": torch.nn.BatchNorm1d(4, dtype=torch.float64),
}


def centered(x):
    return x - x.mean(1, keepdim=True)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_recipes_compute_the_same_as_their_source(recipe):
    expected = RECIPES_IN_TORCH[recipe.name](torch.tensor(SAMPLE)).detach()
    np.testing.assert_allclose(recipe(SAMPLE), expected, rtol=1e-9)


def test_without_arguments_the_variant_is_that_of_the_paper():
    np.testing.assert_array_equal(variant(SAMPLE), RECIPES[0](SAMPLE))


def about(offset, dtype, seed=3, H=64):
    z = np.random.default_rng(seed).normal(size=(50, H))
    return (offset + z).astype(dtype)


def errors(name, x):
    true = x.astype(np.float64).std(-1)
    with np.errstate(invalid="ignore"):
        return np.abs(np.sqrt(METHODS[name](x)[1].astype(np.float64)) / true - 1)


def test_the_naive_variance_fails_at_the_predicted_offset():
    assert numerics.breaking_offset(np.float32) == 4096
    assert numerics.breaking_offset(np.float16, std=2) == pytest.approx(2 * math.sqrt(2048))
    before, after = (about(4096 * factor, np.float32) for factor in (1 / 64, 4))
    assert errors("naive", before).max() < 0.01  # measured 0.0015
    worst = errors("naive", after)
    assert (np.isnan(worst) | (worst > 0.5)).mean() > 0.9  # measured 1.0


def test_the_naive_variance_can_be_negative():
    x = np.array([40000, 40001, 40002, 40003], dtype=np.float32)  # onnxruntime issue 28463
    assert numerics.naive(x)[1] == -128
    assert np.isnan(numerics.layer_norm(x, "naive")).all()
    for name in ("Welford", "two-pass", "shifted"):
        assert METHODS[name](x)[1] == 1.25
    np.testing.assert_allclose(lnlib.layer_norm(x), by_loop(x.tolist(), 0, 1e-5, "inside"), 1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_layer_norm_by_any_method_is_layer_norm(name):
    x = np.random.default_rng(4).normal(2, 3, size=(4, 9))
    np.testing.assert_allclose(numerics.layer_norm(x, name), lnlib.layer_norm(x), atol=1e-12)
    np.testing.assert_allclose(
        numerics.layer_norm(x, name, eps=0.1), lnlib.layer_norm(x, eps=0.1), atol=1e-12
    )


DEVIATIONS = np.array([1e-6, 1e-4, 1e-3, 1.0, 20.0])


def drawn(size):
    x = np.random.default_rng(1).normal(size=50)
    return size * (x - x.mean()) / x.std() + 3 * size


@pytest.mark.parametrize("eps_placement", ["inside", "outside"])
@pytest.mark.parametrize("eps", [0, 1e-8, 1e-5, 1e-3])
def test_the_deviation_after_layer_norm_is_that_of_a_loop(eps, eps_placement):
    out = [np.std(by_loop(drawn(size), 0, eps, eps_placement)) for size in DEVIATIONS]
    ours = deviation_after(DEVIATIONS, eps=eps, eps_placement=eps_placement)
    np.testing.assert_allclose(ours, out, rtol=1e-6)


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 300), (np.float16, 10)])
def test_the_error_is_the_maximum_over_vectors(dtype, offset):
    x = (offset + np.random.default_rng(2).normal(size=(7, 24))).astype(dtype)
    result = errors_of_std(x)
    assert list(result) == list(METHODS)
    for name, method in METHODS.items():
        worst = max(
            abs(math.sqrt(float(method(row)[1])) / statistics.pstdev(map(float, row)) - 1)
            for row in x
        )
        assert result[name] == pytest.approx(worst, rel=1e-9)
    assert result["naive"] > 10 * result["shifted"]


def test_failures_of_one_vector_are_infinite():
    x = np.array([[40000, 40001, 40002, 40003], [0, 1, 2, 4]], np.float32)  # naive: below 0
    assert errors_of_std(x)["naive"] == np.inf
    assert errors_of_std(x)["shifted"] < 1e-6


@pytest.mark.parametrize("row", [[3, 3, 3, 3], [1, 2, 3, np.inf], [1, 2, np.nan, 4]])
def test_the_error_of_constant_vectors_is_nan(row):
    x = np.array([[1, 2, 3, 4], row], np.float32)
    assert all(np.isnan(error) for error in errors_of_std(x).values())
