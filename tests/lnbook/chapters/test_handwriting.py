"""Recorded movements, and layer norm of the inputs, compared with PyTorch."""

import numpy as np
import pytest
import torch

from lnbook.chapters.handwriting import figures, speed
from tests.cases import learning_curve_chapters, oracle


def test_normalized_sums_equal_pytorchs_layer_norm_of_the_product():
    x = np.r_[3 * speed.MOVE, np.zeros(speed.LETTERS), 1.0]
    x[3:7] = np.exp(-(np.arange(4.0) ** 2))
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(speed.weights() @ x), (384,), eps=1e-12
    )
    assert np.abs(x[7:-1]).max() < np.exp(-9)  # the other characters of the window
    np.testing.assert_allclose(speed.normalized(3, "window and constant 1"), expected, atol=1e-3)


@pytest.mark.parametrize("case", ["better", "worse"])
def test_the_table_of_splits_has_the_difference_of_each_loss_at_the_end(case):
    known = learning_curve_chapters.read("handwriting", case)
    records = learning_curve_chapters.records("handwriting", case)
    rows = figures.splits(known).rows
    names = {"loss on new writers": "val_new_nll", "loss on known writers": "val_seen_nll",
             "training loss": "batch_nll"}  # fmt: skip
    assert [row[0] for row in rows] == list(names)
    for row in rows:
        none, layer = (
            oracle.arm(records, "handwriting", arm, "main",
                       lambda run, name=names[row[0]]: oracle.numbers(run, name))
            for arm in ("none", "layer")
        )  # fmt: skip
        ends = [
            {s: np.mean(oracle.numbers(run, names[row[0]])[-3:]) for s, run in of.items()}
            for of in (none, layer)
        ]
        d = [ends[1][s] - ends[0][s] for s in oracle.common(*ends)]
        np.testing.assert_allclose(oracle.parsed(row[-1]), [np.mean(d), min(d), max(d)], atol=6e-4)
        fewer = [cell.partition("(")[2].partition(" ")[0] for cell in row[1:4]]
        assert set(fewer) == {str(len(d)) if case == "better" else "0"}


def test_normalized_speeds_are_drawn_and_stated():
    bars, _ = speed.draw_speed(10.0, "nothing")
    expected = speed.normalized(10.0, "nothing")[: speed.UNITS]
    np.testing.assert_array_equal(bars.data[1].y, expected)
    for extra in figures.EXTRA_INPUTS:
        text = speed.describe_speed(10.0, extra)
        assert f"by {speed.distance(extra)[-1]:.2f}" in text
        assert ("the speed is lost" in text) == (extra == "nothing")
