"""Layer norm as others compute it, and variances in the dtype of their numbers."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import lnlib
from lnlib import numerics
from lnlib.numerics import METHODS, RECIPES, variant

EXACT = 1e-12  # float64 identities; measured up to 5e-16
PAIR = np.array([[0.09484422, 0.16441762]])
BY_NAME = {recipe.name: recipe for recipe in RECIPES}
SAMPLE = np.random.default_rng(0).normal(3, 0.01, size=(5, 4))  # variance near eps


def by_loop(x, ddof, eps, place):
    """One row, number by number."""
    mean = sum(x) / len(x)
    var = sum((v - mean) ** 2 for v in x) / (len(x) - ddof)
    below = math.sqrt(var + eps) if place == "inside" else math.sqrt(var) + eps
    return [(v - mean) / below for v in x]


# The switches.


@pytest.mark.parametrize("place", ["inside", "outside"])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("eps", [0, 1e-5, 1e-2])
def test_variant_is_the_formula_on_every_axis(place, ddof, eps):
    options = {"ddof": ddof, "eps": eps, "place": place}
    rows = np.array([by_loop(row, **options) for row in SAMPLE])
    columns = np.array([by_loop(column, **options) for column in SAMPLE.T]).T
    whole = np.array(by_loop(SAMPLE.ravel(), **options)).reshape(SAMPLE.shape)
    for axis, expected in (("features", rows), ("batch", columns), ("sample", whole)):
        np.testing.assert_allclose(variant(SAMPLE, axis=axis, **options), expected, rtol=1e-10)


def test_a_switch_that_is_unknown_is_refused():
    with pytest.raises(ValueError, match="axis must be one of features, batch, sample, got 'row'"):
        variant(SAMPLE, axis="row")
    with pytest.raises(ValueError, match="place must be inside or outside, got 'under'"):
        variant(SAMPLE, place="under")
    with pytest.raises(ValueError, match="a mean over 1 number has no variance with ddof=1"):
        variant(SAMPLE[:, :1], ddof=1)


def test_a_wrong_method_or_eps_is_named():
    with pytest.raises(ValueError, match=r"method must be one of naive, Welford.* got 'foo'"):
        numerics.layer_norm(SAMPLE, "foo")
    for normalize in (variant, lambda x, eps: numerics.layer_norm(x, "naive", eps=eps)):
        with pytest.raises(ValueError, match="eps must be finite and >= 0, got -1"):
            normalize(SAMPLE, eps=-1.0)


# Who computes what: against their code where it is installed, else against the numbers they gave.


def test_pytorch():
    expected = F.layer_norm(torch.tensor(SAMPLE), (4,)).numpy()
    np.testing.assert_allclose(BY_NAME["PyTorch"](SAMPLE), expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(BY_NAME["PyTorch"](SAMPLE), lnlib.layer_norm(SAMPLE), atol=EXACT)


def test_pytorch_batch_norm():
    norm = torch.nn.BatchNorm1d(4, dtype=torch.float64)
    expected = norm(torch.tensor(SAMPLE)).detach().numpy()
    np.testing.assert_allclose(
        BY_NAME["PyTorch's batch norm"](SAMPLE), expected, rtol=0, atol=EXACT
    )


def test_the_annotated_transformer_is_its_three_lines_in_pytorch():
    x = torch.tensor(SAMPLE)
    mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
    expected = ((x - mean) / (std + 1e-6)).numpy()
    np.testing.assert_allclose(BY_NAME["the Annotated Transformer"](SAMPLE), expected, rtol=1e-12)


def test_the_authors_ship_two_answers():
    theano, lua = (BY_NAME[f"the authors' {name} code"] for name in ("Theano", "Lua"))
    std = PAIR.std()
    assert theano(PAIR)[0, 1] == pytest.approx(std / math.sqrt(std**2 + 1e-5), abs=EXACT)
    assert lua(PAIR)[0, 1] == pytest.approx(std / (std + 1e-5), abs=EXACT)
    assert lua(PAIR)[0, 1] - theano(PAIR)[0, 1] > 0.003


@pytest.mark.parametrize(
    ("who", "eps"), [("Flax", 1e-6), ("BERT", 1e-12), ("TensorFlow 1", 1e-12), ("Keras", 1e-3)]
)
def test_sizes_of_eps_are_those_of_the_documentation(who, eps):
    assert (BY_NAME[who].eps, BY_NAME[who].place, BY_NAME[who].ddof) == (eps, "inside", 0)


def test_tensorflow_1_takes_one_mean_for_a_sample():
    expected = F.layer_norm(torch.tensor(SAMPLE), SAMPLE.shape, eps=1e-12).numpy()
    np.testing.assert_allclose(BY_NAME["TensorFlow 1"](SAMPLE), expected, rtol=1e-9)


# Variances in the dtype of their numbers.


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=16), st.sampled_from(list(METHODS)))
def test_methods_agree_where_arithmetic_is_exact(numbers, name):
    # Sixteen times the numbers: the mean is whole. Welford's running mean is not: it rounds.
    x = np.array(numbers * 16, dtype=np.float64)
    x = np.concatenate([x, -x])
    centered, var = METHODS[name](x)
    np.testing.assert_allclose(centered, x, rtol=0, atol=1e-10)
    np.testing.assert_allclose(var, np.mean(x**2), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", METHODS)
def test_every_result_has_the_dtype_of_the_numbers(name, dtype):
    x = np.random.default_rng(1).normal(size=(2, 3, 8)).astype(dtype)
    centered, var = METHODS[name](x)
    assert (centered.dtype, centered.shape) == (dtype, x.shape)
    assert (var.dtype, var.shape) == (dtype, (2, 3))
    assert numerics.layer_norm(x, name).dtype == dtype


@pytest.mark.parametrize("name", METHODS)
def test_a_loop_of_scalars_gives_the_same_bits(name):
    x = (30 + np.random.default_rng(2).normal(size=12)).astype(np.float16)
    f = np.float16
    n = f(len(x))

    def added(values):
        total = f(0)
        for v in values:
            total = f(total + v)
        return total

    def two_pass(values):
        mean = f(added(values) / n)
        return f(added([f(f(v - mean) * f(v - mean)) for v in values]) / n)

    mean = squares = f(0)
    for k, v in enumerate(x, 1):
        step = f(v - mean)
        mean = f(mean + f(step / f(k)))
        squares = f(squares + f(step * f(v - mean)))
    first = f(added(x) / n)
    expected = {
        "naive": f(f(added([f(v * v) for v in x]) / n) - f(first * first)),
        "Welford": f(squares / n),
        "two-pass": two_pass(x),
        "shifted": two_pass([f(v - x[0]) for v in x]),
    }
    assert METHODS[name](x)[1] == expected[name]


def about(offset, dtype, seed=3, H=64):
    z = np.random.default_rng(seed).normal(size=(50, H))
    return (offset + z).astype(dtype)


def errors(name, x):
    true = x.astype(np.float64).std(-1)
    with np.errstate(invalid="ignore"):
        return np.abs(np.sqrt(METHODS[name](x)[1].astype(np.float64)) / true - 1)


def test_naive_breaks_at_the_offset_the_formula_says():
    assert numerics.breaking_offset(np.float32) == 4096
    assert numerics.breaking_offset(np.float16, std=2) == pytest.approx(2 * math.sqrt(2048))
    before, after = (about(4096 * factor, np.float32) for factor in (1 / 64, 4))
    assert errors("naive", before).max() < 0.01  # measured 0.0015
    worst = errors("naive", after)
    assert (np.isnan(worst) | (worst > 0.5)).mean() > 0.9  # measured 1.0


def test_naive_variance_can_be_negative_and_its_root_no_number():
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


def test_numbers_given_stay_as_they_are():
    x = np.random.default_rng(5).normal(size=(3, 4))
    original = x.copy()
    for name in METHODS:
        numerics.layer_norm(x, name)
    variant(x)
    assert np.array_equal(x, original)
