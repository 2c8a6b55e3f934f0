"""Kinds, verdicts and what layer norm hides, as records and equations have them."""

import numpy as np
import pytest
import torch

from lnbook.chapters.handwriting import figures, network, runs, speed
from lnbook.figures.run_groups import CHOSEN, LAYER, PLAIN
from lnlab.experiments._task import STARTS
from lnlab.experiments.handwriting import Settings, results
from lnlab.experiments.handwriting.model import model

EPOCHS = [0.0, 0.5, 1.0, 2.0]


def made(arm, rate, seed, losses, off=1.0, test=1.0, **other):
    """A record of 200 updates, measured at four points; 2 s an epoch."""
    settings = Settings(**STARTS[arm], learning_rate=rate, epochs=2, **other)
    result = {"epoch": EPOCHS, "wall_s": [2 * e for e in EPOCHS], "val_new_nll": losses,
             "val_new_window_off": [off + k for k in range(4)],
             "test_new_nll": [test] * 4}  # fmt: skip
    return {"settings": settings.as_dict(), "seed": seed, "curves": result}


def book(**other):
    """Layer norm is at no norm's best in half its updates, and within 0.1 of it."""
    result = []
    for s in range(3):
        result += [
            made(PLAIN, 0.01, s, [3.0, 0.5, 0.0, -0.5], off=2.0, **other),
            made(CHOSEN, 0.01, s, [3.0, 0.4, -0.2, -0.9], test=0.5, **other),
            made(LAYER, 0.003, s, [3.0, 0.3, -0.5, -0.55 - 0.01 * s], **other),
        ]
    return result


def sweep():
    return [
        made(arm, rate, 0, [3.0, 1.0, 0.5, low], updates_an_epoch=50)
        for arm, lows in ((PLAIN, (-0.3, -0.4, 0.1)), (LAYER, (-0.5, -0.2, -0.1)))
        for rate, low in zip((0.001, 0.003, 0.01), lows, strict=True)
    ]


@pytest.fixture(scope="module")
def known():
    result = sweep() + book() + book(length=1400)[:3] + book(constant=False, batch_size=8)[:1]
    return figures.Runs(result, results.TASK)


def test_runs_are_told_apart_by_their_kind(known):
    assert list(known.recorded()) == [figures.MAIN, runs.LONGER, runs.BARE]
    assert known.missing == ["batch size 2"]
    assert {name: arm.rate for name, arm in known.sweep.items()} == {PLAIN: 0.003, LAYER: 0.001}
    small = figures.Runs(book(batch_size=2), results.TASK)
    assert list(small.kinds) == [runs.SMALLER]


# What layer norm hides.


def test_of_a_move_alone_layer_norm_keeps_the_direction_and_drops_the_length():
    for length in (0.1, 0.5, 10):
        np.testing.assert_allclose(
            speed.normalized(length, "nothing"), speed.normalized(1, "nothing"), atol=1e-11
        )
    for extra in ("window", "constant 1", "window and constant 1"):
        assert np.all(np.delete(speed.distance(extra), 12) > 0.01)
        assert speed.distance(extra)[12] == 0


def test_what_passes_is_pytorch_s_layer_norm_of_the_product():
    x = np.r_[3 * speed.MOVE, np.zeros(speed.LETTERS), 1.0]
    x[3:7] = np.exp(-(np.arange(4.0) ** 2))
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(speed.weights() @ x), (384,), eps=1e-12
    )
    assert np.abs(x[7:-1]).max() < np.exp(-9)  # the other characters of the window
    np.testing.assert_allclose(speed.normalized(3, "window and constant 1"), expected, atol=1e-3)


def test_the_weights_are_drawn_as_a_run_draws_them():
    drawn = model(Settings(), 27, 0.04, generator=torch.Generator().manual_seed(0))
    own = drawn.first.cell.weight_ih.detach()
    assert own.shape == (4 * speed.HIDDEN, 3 + 1 + speed.LETTERS) == speed.weights().shape
    assert float(own.abs().max()) == pytest.approx(np.abs(speed.weights()).max(), rel=1e-3)


def test_the_speed_can_be_read_where_something_stands_beside_the_move():
    rng = np.random.default_rng(1)
    angle, length = rng.uniform(0, 2 * np.pi, 600), np.exp(rng.normal(size=600))
    moves = np.c_[length * np.cos(angle), length * np.sin(angle), np.zeros(600)]
    moves[5] = 0
    window_vectors = speed.window(rng.uniform(0, 15, 600))
    shares = {
        extra: speed.explained_variance(moves, window_vectors, extra)
        for extra in figures.EXTRA_INPUTS
    }
    assert abs(shares.pop("nothing")) < 0.05
    assert min(shares.values()) > 0.6


def test_the_moves_of_a_record_are_in_units_of_their_deviation():
    arrays = {
        "strokes": np.array([[[9, 9]], [[3, -4]]], "i2"), "lifts": np.array([[0], [1]], "u1"),
        "window": np.array([[0.0], [1.0]], "f2"),
    }  # fmt: skip
    moves, window_vectors = figures.moves({"arrays": arrays}, "aba")
    np.testing.assert_allclose(moves, [[3 / 3.5, -4 / 3.5, 1]])
    near = np.exp(-1.0)
    np.testing.assert_allclose(window_vectors[0, :3], [2 * near, 1, 0])  # two of a, one of b


@pytest.mark.parametrize("extra", figures.EXTRA_INPUTS)
def test_the_figure_draws_what_it_says(extra):
    bars, lines = speed.draw_speed(10.0, extra)
    np.testing.assert_array_equal(bars.data[1].y, speed.normalized(10.0, extra)[: speed.UNITS])
    assert {line.name for line in lines.data} == set(figures.EXTRA_INPUTS)
    text = speed.describe_speed(10.0, extra)
    assert f"by {speed.distance(extra)[-1]:.2f}" in text
    assert ("the speed is lost" in text) == (extra == "nothing")
    assert "it is the same movement" in speed.describe_speed(1.0, extra)


def test_in_the_drawing_every_layer_reads_the_pen_the_layer_before_and_the_window():
    into = {}
    for wire in network.FLOW.wires:
        into.setdefault(wire.target, set()).add(wire.source)
    assert into["two"] == {"pen", "window", "one"}
    assert into["three"] == {"pen", "window", "two"}
    assert into["window"] == {"text", "one"}
    assert [into[name] for name in ("one", "mixture", "next")] == [{"pen"}, {"three"}, {"mixture"}]
