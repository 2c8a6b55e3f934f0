"""Curves and sentences of the page on invariances, compared with a second computation."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.chapters.invariances import digits, eps, one_layer
from lnlib.invariance import TABLE_1
from tests.cases.oracle import parsed

A, B = np.random.default_rng(8).normal(size=(2, 12))
EPS = {"0": 0.0, "1e-5": 1e-5, "1e-3": 1e-3}


def largest(scale, value, bias):
    """Return the largest change of an output when the input is scaled before the norm."""
    before, after = (
        F.layer_norm(torch.tensor(s * A + bias), (12,), eps=value) for s in (1.0, scale)
    )
    return (after - before).abs().max().item()


@pytest.mark.parametrize("before", [False, True])
def test_the_curve_shows_the_largest_change_at_every_factor(before):
    bias = B if before else 0.0
    curve, outputs = eps.draw_scale(A, B, 10.0, before)
    for trace, (label, value) in zip(curve.data, EPS.items(), strict=True):
        assert trace.name == f"eps {label}"
        wanted = [largest(scale, value, bias) for scale in trace.x]
        np.testing.assert_allclose(trace.y, wanted, atol=1e-9)
    for trace, value in zip(outputs.data, EPS.values(), strict=True):
        assert list(trace.x) == list(range(1, 13))
        expected = F.layer_norm(torch.tensor(10.0 * A + bias), (12,), eps=value)
        np.testing.assert_allclose(trace.y, expected, atol=1e-9)
    assert curve.layout.shapes[0].x0 == 10.0
    text = eps.describe_scale(A, B, 10.0, before).partition("up to ")[2]
    for part, value in zip(text.split(", "), EPS.values(), strict=True):
        number = float(part.partition(" with")[0].replace("−", "-"))
        assert number == pytest.approx(largest(10.0, value, bias), rel=0.51, abs=0.0051)


class FakeReaders:
    """Replacement of the networks with a known error for each norm, change and amount."""

    X = np.random.default_rng(1).uniform(0, 1, size=(3, 64))

    def error(self, kind, change, amount):
        at = list(digits.READERS).index(kind) + 1
        return 3 * at + (5 if change == "contrast" else 0) + abs(amount)


@pytest.mark.parametrize("change", digits.AMOUNTS)
@pytest.mark.parametrize("place", [0.0, 2.5, 3.0, 6.0])
def test_errors_are_drawn_at_every_amount_and_stated_for_the_selected_one(change, place):
    readers, amounts = FakeReaders(), digits.AMOUNTS[change]

    def amount(at):
        low, part = int(at), at % 1
        if not part:
            return amounts[low]
        a, b = amounts[low], amounts[low + 1]
        return a * (b / a) ** part if change == "contrast" else a + part * (b - a)

    _, curves = digits.draw_contrast(readers, change, place)
    texts = digits.describe_contrast(readers, change, place).partition("test error: ")[2]
    wanted = []
    for trace, kind in zip(curves.data, digits.READERS, strict=True):
        assert trace.name == digits.READERS[kind][0]
        np.testing.assert_allclose(
            trace.y, [readers.error(kind, change, amount(p)) for p in trace.x], rtol=1e-9
        )
        wanted.append(readers.error(kind, change, amount(place)))
    np.testing.assert_allclose(parsed(texts.replace("%", " ")), wanted, atol=0.051)
    ticks = dict(zip(curves.layout.xaxis.tickvals, curves.layout.xaxis.ticktext, strict=True))
    assert set(ticks) == {0, 3, 6}  # both ends, and the unchanged image
    for at, text in ticks.items():
        assert parsed(text.replace("×", ""))[0] == pytest.approx(amounts[at], rel=0.01)


CELLS = [(norm, name) for norm in TABLE_1 for name in TABLE_1[norm]]


def y_of(trace):
    return np.array(trace.y, dtype=float)


@pytest.mark.parametrize(("norm", "name"), CELLS)
@pytest.mark.parametrize("strength", one_layer.STRENGTHS)
def test_points_are_on_the_dotted_line_if_the_table_says_invariant(norm, name, strength):
    outputs = one_layer.draw_change(norm, name, strength)[2]
    off = max(np.abs(y_of(t) - np.array(t.x, float)).max() for t in outputs.data[1:])
    assert (off < 1e-9) == TABLE_1[norm][name]
    text = one_layer.describe_change(norm, name, strength)
    assert ("no output changes" in text) == TABLE_1[norm][name]
    assert text.endswith(f"Table 1 says: {'Invariant' if TABLE_1[norm][name] else 'No'}.")


def test_the_outputs_are_hidden_until_they_are_revealed():
    hidden = one_layer.draw_change("layer", "dataset_rescaling", 2.0, reveal=False)[2]
    assert all(trace.name is None for trace in hidden.data)  # the dotted lines
    assert hidden.layout.annotations[0].text == "?"
    text = one_layer.describe_change("layer", "dataset_rescaling", 2.0, reveal=False)
    assert text.endswith("Predict, then reveal.")
    assert "Table 1" not in text
