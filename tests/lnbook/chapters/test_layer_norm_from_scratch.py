"""The figures of one example: what is drawn is what the formulas say, and so is every sentence."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lnlib
from lnbook.chapters.layer_norm_from_scratch import figures
from lnlib import numerics

EXACT = 1e-12
A = np.array([2.0, -1.0, 0.5, 3.0, 1.0, -4.0])
GAIN, BIAS = np.array([1.2, 0.3, -0.8, 1.0, 2.0, 0.5]), np.linspace(-1, 1, 6)


def y_of(figure):
    return [np.array(trace.y, dtype=float) for trace in figure.data]


# Steps.


@pytest.mark.parametrize("shift", [-6.0, 0.0, 2.5])
@pytest.mark.parametrize("scale", [0.25, 1.0, 2.0])
def test_the_last_step_is_layer_norm_whatever_shift_and_scale(shift, scale):
    before, after = figures.draw_steps(A, GAIN, BIAS, 3, shift, scale)
    np.testing.assert_allclose(y_of(before)[0], scale * A + shift, atol=EXACT)
    expected = F.layer_norm(*map(torch.tensor, (A,)), (6,), *map(torch.tensor, (GAIN, BIAS)), eps=0)
    np.testing.assert_allclose(y_of(after)[0], expected.numpy(), atol=EXACT)


def test_the_sentence_says_what_became_of_unit_1():
    assert figures.describe_steps(A, GAIN, BIAS, 1, 0.0, 1.0) == (
        "μ = 0.25 and σ = 2.27. The summed input of unit 1, 2.00, becomes 1.75."
    )
    text = figures.describe_steps(A, GAIN, BIAS, 1, 1.0, 2.0)
    assert text.endswith("unit 1, 5.00, becomes 3.50 instead of 1.75.")
    text = figures.describe_steps(A, GAIN, BIAS, 2, 1.0, 2.0)
    assert text.endswith("becomes 0.77, the same as without the change.")


# Who computes what.


def test_the_sentence_names_those_whose_settings_they_are():
    text = figures.describe_variant("0.0948, 0.1644", "features", 0, "inside", 1e-3)
    assert text == "The first row becomes (−0.73996, 0.73996). These are the settings of Keras."
    text = figures.describe_variant("1, 0, 0, 0", "features", 1, "outside", 1e-6)
    assert text.startswith("The first row becomes (1.50000, −0.50000,")
    assert text.endswith("These are the settings of the Annotated Transformer.")
    text = figures.describe_variant("1, 0, 0, 0", "features", 0, "inside", 1e-5)
    assert text.endswith("These are the settings of PyTorch and the authors' Theano code.")
    text = figures.describe_variant("1, 0, 0, 0", "features", 0, "outside", 1e-3)
    assert text.endswith("No implementation in the table uses these settings.")


@pytest.mark.parametrize("recipe", numerics.RECIPES, ids=lambda recipe: recipe.name)
def test_every_recipe_can_be_set_with_the_switches(recipe):
    assert recipe.eps in figures.EPS
    for sample in figures.SAMPLES:
        text = figures.describe_variant(sample, recipe.axis, recipe.ddof, recipe.place, recipe.eps)
        assert recipe.name in text


def test_the_table_shows_what_is_computed():
    shown = figures.draw_variant("0.0948, 0.1644", "batch", 0, "inside", 1e-5)[1].data[0]
    np.testing.assert_allclose(
        np.array(shown.z, dtype=float),
        lnlib.batch_norm(figures.SAMPLES["0.0948, 0.1644"]),
        atol=EXACT,
    )
    assert shown.text[0][0] == f"{shown.z[0][0]:.5f}".replace("-", "−")


def test_the_table_of_recipes_says_formula_and_numbers():
    rows = {row[0]: row[2:] for row in figures.recipes().rows}
    assert rows["the paper"] == ["σ", "±1.00000", "1.7321"]
    assert rows["Keras"] == ["√(σ²\u00a0+\u00a01e−3)", "±0.73996", "1.7275"]
    assert rows["the Annotated Transformer"] == ["s\u00a0+\u00a01e−6", "±0.70709", "1.5000"]
    assert rows["TensorFlow 1"][0] == "√(σ²\u00a0+\u00a01e−12), of the sample"


# Floats.


def test_a_failure_is_infinite_and_nothing_to_measure_is_nan():
    assert figures.error_of_std(4.0, "float32", 256)["naive"] == np.inf  # a negative variance
    assert all(np.isnan(e) for e in figures.error_of_std(5.0, "float16", 16).values())


def test_the_curve_is_cut_only_where_it_cannot_be_drawn():
    errors, outputs = figures.draw_floats(3.5, "float32", 16)
    lines = {trace.name: np.array(trace.y, dtype=float) for trace in errors.data}
    for name, line in lines.items():
        for exponent, shown in zip(figures.EXPONENTS, line, strict=True):
            error = figures.error_of_std(float(exponent), "float32", 16)[name]
            expected = figures.LOST if np.isinf(error) else max(error, figures.FLOOR)
            assert shown == pytest.approx(expected, nan_ok=True)
    right = next(trace for trace in outputs.data if trace.name == "shifted")
    np.testing.assert_allclose(right.y, right.x, atol=1e-5)
