"""Figures and sentences about one example follow the formulas."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.chapters.layer_norm_from_scratch import figures
from lnlib import numerics

EXACT = 1e-12
A = np.array([2.0, -1.0, 0.5, 3.0, 1.0, -4.0])
GAIN, BIAS = np.array([1.2, 0.3, -0.8, 1.0, 2.0, 0.5]), np.linspace(-1, 1, 6)


def y_of(figure):
    return [np.array(trace.y, dtype=float) for trace in figure.data]


@pytest.mark.parametrize("shift", [-6.0, 0.0, 2.5])
@pytest.mark.parametrize("scale", [0.25, 1.0, 2.0])
def test_the_last_step_is_layer_norm_for_any_shift_and_scale(shift, scale):
    before, after = figures.draw_steps(A, GAIN, BIAS, 3, shift, scale)
    np.testing.assert_allclose(y_of(before)[0], scale * A + shift, atol=EXACT)
    expected = F.layer_norm(*map(torch.tensor, (A,)), (6,), *map(torch.tensor, (GAIN, BIAS)), eps=0)
    np.testing.assert_allclose(y_of(after)[0], expected.numpy(), atol=EXACT)
    text = figures.describe_steps(A, GAIN, BIAS, 3, shift, scale)
    assert (
        f"unit 1, {scale * A[0] + shift:.2f}, becomes {expected[0]:.2f}".replace("-", "−") in text
    )


@pytest.mark.parametrize("recipe", numerics.RECIPES, ids=lambda recipe: recipe.name)
def test_every_recipe_can_be_selected(recipe):
    assert recipe.eps in figures.EPS
    for sample in figures.SAMPLES:
        text = figures.describe_variant(
            sample, recipe.axis, recipe.ddof, recipe.eps_placement, recipe.eps
        )
        assert recipe.name in text
    text = figures.describe_variant("1, 0, 0, 0", "features", 1, "inside", 1e-3)
    assert not any(one.name in text for one in numerics.RECIPES)


def test_failures_are_infinite_and_missing_measurements_are_nan():
    assert figures.error_of_std(4.0, "float32", 256)["naive"] == np.inf  # a negative variance
    assert all(np.isnan(e) for e in figures.error_of_std(5.0, "float16", 16).values())


def test_curves_are_only_clipped_where_they_cannot_be_drawn():
    errors, outputs = figures.draw_floats(3.5, "float32", 16)
    lines = {trace.name: np.array(trace.y, dtype=float) for trace in errors.data}
    for name, line in lines.items():
        for exponent, shown in zip(figures.EXPONENTS, line, strict=True):
            error = figures.error_of_std(float(exponent), "float32", 16)[name]
            expected = figures.LOST if np.isinf(error) else max(error, figures.FLOOR)
            assert shown == pytest.approx(expected, nan_ok=True)
    right = next(trace for trace in outputs.data if trace.name == "shifted")
    np.testing.assert_allclose(right.y, right.x, atol=1e-5)
