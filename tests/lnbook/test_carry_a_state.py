"""Carry a state through time: what is drawn is what a loop in PyTorch computes."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lnbook.carry_a_state import figures
from lnbook.show import Explorer

EXACT = 1e-12
ACTIVATIONS = {"identity": lambda a: a, "relu": torch.relu, "tanh": torch.tanh}
FORMS = list(figures.LOOKS)


def network(form, scale=1.0, gain=1.0, f="tanh", eps=1e-5):
    """One step in PyTorch, float64."""
    W_ih, W_hh = map(torch.tensor, figures.weights())
    weight = torch.full((32,), float(gain), dtype=torch.float64)

    def layer(a):
        return F.layer_norm(a, (32,), weight, None, eps)

    def batch(a):
        return F.batch_norm(a, None, None, weight, training=True, eps=eps)

    def step(x, h):
        from_x, from_h = x @ W_ih.T, h @ (scale * W_hh).T
        summed = from_x + from_h
        normalized = {
            "plain": lambda: summed,
            "paper": lambda: layer(summed),
            "parts": lambda: layer(from_x) + layer(from_h),
            "batch": lambda: batch(from_x) + batch(from_h),
        }[form]()
        return summed, ACTIVATIONS[f](normalized)

    return step


def lines(figure):
    return {trace.name: np.array(trace.y, dtype=float) for trace in figure.data if trace.name}


# Forward and back.


def test_the_recurrent_weights_keep_every_length():
    _, W_hh = figures.weights()
    np.testing.assert_allclose(W_hh @ W_hh.T, np.eye(32), atol=EXACT)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("scale", "f", "inputs", "gain"),
    [(1.1, "identity", "first", 1.0), (0.9, "relu", "every", 1.0), (2.0, "tanh", "every", 0.1)],
)
def test_sizes_and_gradients_are_those_of_a_loop_with_autograd(form, scale, f, inputs, gain):
    rng = np.random.default_rng(1)
    x = torch.tensor(rng.normal(size=(200, 16, 8)))
    reads = torch.tensor(rng.normal(size=(16, 32)))
    if inputs == "first":
        x[1:] = 0
    gain = 1.0 if form == "plain" else gain
    step, h = network(form, scale, gain, f), torch.zeros(16, 32, dtype=torch.float64)
    states, sizes = [], []
    for x_t in x:
        summed, h = step(x_t, h)
        h.requires_grad_() if h.is_leaf else h.retain_grad()
        states.append(h)
        sizes.append(summed.square().mean().sqrt().item())
    (h * reads).sum().backward()
    lengths = [s.grad.norm().item() for s in reversed(states)]
    run = figures.carry(form, scale, f, inputs, gain)
    # 200 steps enlarge the rounding of the first ones; measured 2e-6.
    np.testing.assert_allclose(run.summed, sizes, rtol=1e-4)
    np.testing.assert_allclose(run.gradient[:60], np.array(lengths[:60]) / lengths[0], rtol=1e-4)


@pytest.mark.parametrize("scale", [0.5, 1.1, 2.0])
def test_a_linear_network_grows_by_its_scale_forward_and_back(scale):
    run = figures.carry("plain", scale, "identity", "first")
    np.testing.assert_allclose(run.summed[1:] / run.summed[:-1], scale, rtol=1e-9)
    np.testing.assert_allclose(run.gradient, scale ** np.arange(200.0), rtol=1e-9)


def test_the_lines_are_the_runs_at_the_steps_shown():
    figure = figures.draw_forward(1.1, "identity", "every")
    assert list(lines(figure)) == ["no norm", "layer norm, sum", "batch norm"]
    steps = np.array(figure.data[0].x)
    assert (steps[0], steps[-1]) == (1, 200)
    run = figures.carry("plain", 1.1, "identity", "every")
    three = 0.005  # digits
    np.testing.assert_allclose(lines(figure)["no norm"], run.summed[steps - 1], rtol=three)
    back = figures.draw_backward(1.1, "identity", "every", 0.1)
    run, steps = figures.carry("parts", 1.1, "identity", "every", 0.1), np.array(back.data[0].x)
    assert steps[0] == 0
    found = lines(back)["layer norm, parts"]
    np.testing.assert_allclose(found, run.gradient[steps], rtol=three)


def test_the_gain_belongs_to_the_norms_alone():
    small, large = (lines(figures.draw_backward(2.0, "tanh", "every", g)) for g in (0.1, 1.0))
    assert np.array_equal(small.pop("no norm"), large.pop("no norm"))
    assert not any(np.allclose(small[name][1:], large[name][1:]) for name in small)


def test_a_gradient_below_the_smallest_float_is_not_drawn():
    assert figures.carry("paper", 0.1, "tanh", "every", 0.05).gradient[-1] == 0
    drawn = figures.draw_backward(0.1, "tanh", "every", 0.05)
    assert np.isnan(lines(drawn)["layer norm, sum"][-1])
    assert "3·10⁻¹¹³ with layer norm of the sum" in figures.describe_backward(
        0.1, "tanh", "every", 0.05
    )


def test_the_sentences_say_sizes_and_what_is_left():
    assert figures.describe_forward(1.1, "identity", "first") == (
        "At step 200, the summed inputs have size 2·10⁸ with no norm, 1.10 with layer norm and "
        "1.10 with batch norm."
    )
    said = figures.describe_backward(2.0, "identity", "first", 1.0)
    assert said.startswith("Fifty steps back, a gradient of length 1 has length 10¹⁵ with no norm")


# Re-scaling.


@pytest.mark.parametrize("form", ["plain", "paper", "parts"])
@pytest.mark.parametrize("matrix", figures.MATRICES.values())
def test_the_change_is_that_of_a_loop(form, matrix):
    rng = np.random.default_rng(2)
    start, inputs = (torch.tensor(rng.normal(size=size)) for size in ((16, 32), (20, 16, 8)))

    def run(delta):
        into = delta if matrix != "hidden" else 1
        on = delta if matrix != "input" else 1
        h, step = start, network(form, on, eps=1e-3)
        for x in inputs:  # a scale of W_ih is one of x
            _, h = step(into * x, h)
        return h

    expected = (run(0.1) - run(1)).abs().max().item()
    assert figures.change(form, 0.1, matrix, 1e-3) == pytest.approx(expected, rel=1e-6)


def test_the_diagonal_is_left_by_those_that_change():
    changes, units = figures.draw_rescaled(0.1, "hidden", 0.0)
    points = {t.name: np.array([t.x, t.y], float) for t in units.data if t.name}
    moved = {name: np.abs(x - y).max() for name, (x, y) in points.items()}
    assert moved["no norm"] > 0.1
    assert moved["layer norm, sum"] > 0.1
    assert moved["layer norm, parts"] == 0
    at = int(np.argmin(np.abs(np.array(changes.data[0].x) - 0.1)))
    assert lines(changes)["no norm"][at] == round(figures.change("plain", 0.1, "hidden", 0.0), 3)


def test_the_sentence_names_the_matrix_and_the_changes():
    assert figures.describe_rescaled(0.01, "both", 1e-5) == (
        "With both weight matrices multiplied by 0.01, some state changes by 0.98 with no norm, "
        "by 0.08 with layer norm of the sum and by 0.20 with layer norm of the parts."
    )
    assert "nothing changes" in figures.describe_rescaled(1, "both", 0.0)
    said = figures.describe_rescaled(100, "input", 0.0)
    assert said.startswith("With W_ih multiplied by 100,")
    assert said.endswith("by 0.00 with layer norm of the parts.")


# Padding.


def padded_inputs(value):
    x = np.random.default_rng(3).normal(size=(5, 8, 8))
    for row, length in enumerate(figures.LENGTHS):
        x[row, length:] = value
    return torch.tensor(x)


@pytest.mark.parametrize("value", [0.0, 10.0])
def test_layer_norm_gives_a_padded_sequence_the_states_it_has_alone(value):
    step, states = network("paper"), figures.padded_run("layer", value)
    for row, length in enumerate(figures.LENGTHS):
        h = torch.zeros(1, 32, dtype=torch.float64)
        for t in range(length):
            _, h = step(padded_inputs(0.0)[row : row + 1, t], h)
            np.testing.assert_allclose(states[row, t], h[0].numpy(), atol=EXACT)
    assert np.nanmax(figures.padding_change("layer", value)) < EXACT


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_batch_norm_counts_padding_or_leaves_it_out(value):
    step, x = network("batch"), padded_inputs(value)
    counted, left_out = (figures.padded_run(norm, value) for norm in ("counted", "left out"))
    all_rows = some = torch.zeros(5, 32, dtype=torch.float64)
    for t in range(6):  # PyTorch's batch norm refuses one row
        _, all_rows = step(x[:, t], all_rows)
        n = sum(length > t for length in figures.LENGTHS)
        _, some = step(x[:n, t], some[:n])
        np.testing.assert_allclose(counted[:, t], all_rows.numpy(), atol=1e-9)
        np.testing.assert_allclose(left_out[:n, t], some.numpy(), atol=1e-9)
        assert np.isnan(left_out[n:, t]).all()
    assert not left_out[0, 6:].any()


def test_the_table_and_the_bars_show_the_change_and_the_company():
    table, bars = figures.draw_padding("counted", 1.0)
    changed, shown = figures.padding_change("counted", 1.0), table.data[0]
    assert shown.text[0][3] == f"{changed[0, 3]:.2f}"
    assert [row.count("pad") for row in map(list, shown.text)] == [0, 2, 3, 5, 6]
    stairs = set(zip(table.data[1].x, table.data[1].y, strict=True))
    for row, length in enumerate(figures.LENGTHS, 1):
        assert {(length + 0.5, row - 0.5), (length + 0.5, row + 0.5)} <= stairs
    assert lines(bars)["sequences"].tolist() == [5, 5, 4, 3, 3, 2, 1, 1]
    assert (lines(bars)["sequences"] + lines(bars)["padding"]).tolist() == [5] * 8
    assert lines(figures.draw_padding("layer", 1.0)[1])["sequences"].tolist() == [1] * 8
    assert not lines(figures.draw_padding("left out", 1.0)[1])["padding"].any()


def test_the_sentence_says_where_the_padding_reaches():
    largest = np.nanmax(figures.padding_change("counted", 10.0))
    said = figures.describe_padding("counted", 10.0)
    assert said.startswith(f"Padding of 10 changes states by up to {largest:.2f}, from step 3 on:")
    assert "by more than 0.00" in figures.describe_padding("layer", 10.0)
    said = figures.describe_padding("left out", 0.0)
    assert "from step 7 on one sequence is left" in said
    assert said.endswith("0.00 in every unit.")


# Longer than in training.


def test_a_walk_spreads_as_the_root_of_time_and_steady_inputs_do_not():
    root = np.sqrt(np.arange(1, 61))
    spread = np.sqrt((figures.weights()[0] ** 2).sum(1).mean())
    np.testing.assert_allclose(figures.longer(20, "walk").data / root, spread, rtol=0.15)
    np.testing.assert_allclose(figures.longer(20, "steady").data, spread, rtol=0.15)


@pytest.mark.parametrize("inputs", ["walk", "steady"])
@pytest.mark.parametrize("trained", figures.LENGTHS_TRAINED)
def test_statistics_end_where_training_does(trained, inputs):
    run = figures.longer(trained, inputs)
    kept = run.kept["each step"]
    assert len(set(kept[:trained])) == trained
    assert set(kept[trained:]) <= {kept[trained - 1]}
    np.testing.assert_allclose(kept[:trained], run.data[:trained], rtol=0.15)
    assert len(set(run.kept["shared"])) == 1
    np.testing.assert_allclose(run.size["layer"], 1, atol=1e-4)


def test_the_size_after_the_norm_is_the_data_over_what_was_kept():
    run = figures.longer(5, "walk")
    for kind in ("each step", "shared"):
        # Not exact: a deviation is averaged over the units here, and a mean is not quite 0.
        np.testing.assert_allclose(run.size[kind], run.data / run.kept[kind], rtol=0.2)
    assert run.size["each step"][-1] > 3


def test_the_panels_show_what_is_kept_and_what_comes_out():
    kept, size = figures.draw_longer(20, "walk")
    run = figures.longer(20, "walk")
    np.testing.assert_array_equal(lines(kept)["test data"], run.data.round(3))
    name = "batch norm, shared"
    np.testing.assert_array_equal(lines(kept)[name], run.kept["shared"].round(3))
    np.testing.assert_array_equal(lines(size)[name], run.size["shared"].round(3))
    assert kept.layout.shapes[0].x0 == 20.5
    said = figures.describe_longer(20, "walk")
    assert said.startswith("Trained on 20 steps, ")
    assert f"{run.size['each step'][-1]:.2f} at step 60 with statistics for each step" in said
    assert said.endswith("layer norm 1.00 and 1.00.")


# All of them.

CONTROLS = {
    "forward": {
        "scale": [0.9, 1.1], "nonlinearity": ["tanh", "relu"], "inputs": ["first", "every"]
    },
    "backward": {
        "scale": [0.9, 1.1], "nonlinearity": ["tanh", "relu"], "inputs": ["first", "every"],
        "gain": [0.1, 1.0],
    },
    "rescaled": {"delta": [0.01, 10], "matrix": ["both", "hidden"], "eps": [0.0, 1e-3]},
    "padding": {"norm": ["counted", "left out"], "value": [0.0, 10.0]},
    "longer": {"trained": [5, 40], "inputs": ["walk", "steady"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "control"), [(name, control) for name, all_ in CONTROLS.items() for control in all_]
)
def test_every_control_moves_the_figure_and_the_sentence(name, control):
    draw, describe = (getattr(figures, f"{verb}_{name}") for verb in ("draw", "describe"))
    start = {key: values[0] for key, values in CONTROLS[name].items()}
    states = [start, start | {control: CONTROLS[name][control][1]}]

    def drawn(params):
        found = draw(**params)
        return [f.to_json() for f in (found if isinstance(found, list) else [found])]

    assert drawn(states[0]) != drawn(states[1])
    assert describe(**states[0]) != describe(**states[1])


@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_drawn_fits_a_page_and_is_said(name):
    draw, describe = (getattr(figures, f"{verb}_{name}") for verb in ("draw", "describe"))
    for values in itertools.product(*CONTROLS[name].values()):
        params = dict(zip(CONTROLS[name], values, strict=True))
        shown = Explorer(
            lambda: draw(**params),  # noqa: B023
            title=name,
            describe=lambda: describe(**params),  # noqa: B023
        )
        assert len(shown.to_html()) < 40_000
        assert describe(**params).endswith(".")
        assert not any(word in describe(**params) for word in ("nan", "inf", "e-", "e+"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"), (0.01, "0.01"), (1.1, "1.10"), (9.96, "10"), (54.3, "54"), (999, "999"),
        (1000, "10³"), (2.1e8, "2·10⁸"), (3.2e-12, "3·10⁻¹²"), (0.0094, "9·10⁻³"),
    ],
)  # fmt: skip
def test_numbers_are_written_short(value, said):
    assert figures.say(value) == said
