"""Recorded movements, and layer norm of the inputs, compared with PyTorch."""

import numpy as np
import pytest
import torch

from lnbook.chapters.handwriting import figures, speed, splits
from tests.cases import learning_curve_chapters, oracle


def test_normalized_sums_equal_pytorchs_layer_norm_of_the_product():
    x = np.r_[3 * speed.MOVE, np.zeros(speed.LETTERS), 1.0]
    x[3:7] = np.exp(-(np.arange(4.0) ** 2))
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(speed.weights() @ x), (384,), eps=1e-12
    )
    assert np.abs(x[7:-1]).max() < np.exp(-9)  # the other characters of the window
    np.testing.assert_allclose(speed.normalized(3, "window and constant 1"), expected, atol=1e-3)


def test_movements_of_a_record_are_in_units_of_their_std():
    arrays = {
        "strokes": np.array([[[9, 9]], [[3, -4]]], "i2"), "lifts": np.array([[0], [1]], "u1"),
        "window": np.array([[0.0], [1.0]], "f2"),
    }  # fmt: skip
    moves, window_vectors = figures.moves({"arrays": arrays}, "aba")
    np.testing.assert_allclose(moves, [[3 / 3.5, -4 / 3.5, 1]])
    near = np.exp(-1.0)
    np.testing.assert_allclose(window_vectors[0, :3], [2 * near, 1, 0])  # two letters a, one b


@pytest.mark.parametrize("extra", figures.EXTRA_INPUTS)
def test_the_figure_and_its_sentence_agree(extra):
    bars, lines = speed.draw_speed(10.0, extra)
    np.testing.assert_array_equal(bars.data[1].y, speed.normalized(10.0, extra)[: speed.UNITS])
    assert {line.name for line in lines.data} == set(figures.EXTRA_INPUTS)
    text = speed.describe_speed(10.0, extra)
    assert f"by {speed.distance(extra)[-1]:.2f}" in text
    assert ("the speed is lost" in text) == (extra == "nothing")
    assert "it is the same movement" in speed.describe_speed(1.0, extra)


@pytest.mark.parametrize("case", ["better", "worse"])
def test_the_table_of_splits_has_the_difference_of_each_loss_at_the_end(case):
    known = learning_curve_chapters.read("handwriting", case)
    records = learning_curve_chapters.records("handwriting", case)
    rows = splits.splits(known).rows
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
