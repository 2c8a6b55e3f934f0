"""Recurrent networks: figures and sentences show the computed numbers."""

import numpy as np
import pytest

from lnbook.chapters.recurrent_networks import longer, network, padding, through_time
from tests.cases.drawn import heights as lines


@pytest.mark.parametrize(
    ("form", "places"), [("plain", ""), ("paper", "s"), ("parts", "ih"), ("batch", "ih")]
)
def test_scale_and_gain_apply_to_the_parameters_of_the_form(form, places):
    params = network.parameters(form, 2.0, 0.5)
    np.testing.assert_array_equal(params.pop("W_hh"), 2 * network.weights()[1])
    np.testing.assert_array_equal(params.pop("W_ih"), network.weights()[0])
    assert set(params) == {f"gain_{place}" for place in places}
    assert all(np.array_equal(gain, np.full(32, 0.5)) for gain in params.values())


def test_lines_show_the_computed_runs():
    figure = through_time.draw_forward(1.1, "identity", "every")
    assert list(lines(figure)) == ["no norm", "layer norm, sum", "batch norm"]
    steps = np.array(figure.data[0].x)
    assert (steps[0], steps[-1]) == (1, 200)
    run = through_time.carry("plain", 1.1, "identity", "every")
    three = 0.005  # tolerance of three digits
    np.testing.assert_allclose(lines(figure)["no norm"], run.summed[steps - 1], rtol=three)
    back = through_time.draw_backward(1.1, "identity", "every", 0.1)
    run, steps = (
        through_time.carry("parts", 1.1, "identity", "every", 0.1),
        np.array(back.data[0].x),
    )
    assert steps[0] == 0
    result = lines(back)["layer norm, parts"]
    np.testing.assert_allclose(result, run.gradient[steps], rtol=three)


@pytest.mark.parametrize("value", [0.0, 10.0])
def test_steps_after_the_end_of_a_sequence_have_no_state(value):
    counted = padding.padding_change("counted", value)
    ends = np.arange(8) >= np.array(padding.LENGTHS)[:, None]
    assert np.array_equal(np.isnan(counted), ends)
    left_out = padding.padded_run("left out", value)
    assert np.array_equal(np.isnan(left_out).all(-1), ends)
    assert np.array_equal(left_out[~ends], padding.padded_run("left out", 3.0)[~ends])


def test_table_and_bars_show_changes_and_shared_means():
    table, bars = padding.draw_padding("counted", 1.0)
    changed, shown = padding.padding_change("counted", 1.0), table.data[0]
    assert shown.text[0][3] == f"{changed[0, 3]:.2f}"
    assert [row.count("pad") for row in map(list, shown.text)] == [0, 2, 3, 5, 6]
    stairs = set(zip(table.data[1].x, table.data[1].y, strict=True))
    for row, length in enumerate(padding.LENGTHS, 1):
        assert {(length + 0.5, row - 0.5), (length + 0.5, row + 0.5)} <= stairs
    assert lines(bars)["sequences"].tolist() == [5, 5, 4, 3, 3, 2, 1, 1]
    assert (lines(bars)["sequences"] + lines(bars)["padding"]).tolist() == [5] * 8
    assert lines(padding.draw_padding("layer", 1.0)[1])["sequences"].tolist() == [1] * 8
    assert not lines(padding.draw_padding("left out", 1.0)[1])["padding"].any()


@pytest.mark.parametrize("inputs", ["walk", "steady"])
@pytest.mark.parametrize("trained", longer.LENGTHS_TRAINED)
def test_statistics_end_at_the_last_training_step(trained, inputs):
    run = longer.longer(trained, inputs)
    running = run.running["each step"]
    assert len(set(running[:trained])) == trained
    assert set(running[trained:]) <= {running[trained - 1]}
    np.testing.assert_allclose(running[:trained], run.data[:trained], rtol=0.15)
    assert len(set(run.running["shared"])) == 1
    np.testing.assert_allclose(run.size["layer"], 1, atol=1e-4)


def test_the_panels_show_running_stds_and_outputs():
    running, size = longer.draw_longer(20, "walk")
    run = longer.longer(20, "walk")
    np.testing.assert_array_equal(lines(running)["test data"], run.data.round(3))
    name = "batch norm, shared"
    np.testing.assert_array_equal(lines(running)[name], run.running["shared"].round(3))
    np.testing.assert_array_equal(lines(size)[name], run.size["shared"].round(3))
    assert running.layout.shapes[0].x0 == 20.5


def test_sentences_state_the_drawn_numbers():
    largest = np.nanmax(padding.padding_change("counted", 10.0))
    text = padding.describe_padding("counted", 10.0)
    assert f"changes states by up to {largest:.2f}, from step 3 on" in text
    drawn, text = lines(longer.draw_longer(5, "walk")[1]), longer.describe_longer(5, "walk")
    for name in ("batch norm, per step", "batch norm, shared", "layer norm"):
        assert all(f"{drawn[name][t]:.2f}" in text for t in (0, -1))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"), (0.01, "0.01"), (1.1, "1.10"), (9.96, "10"), (54.3, "54"), (999, "999"),
        (1000, "10³"), (2.1e8, "2·10⁸"), (3.2e-12, "3·10⁻¹²"), (0.0094, "9·10⁻³"),
    ],
)  # fmt: skip
def test_numbers_are_formatted_with_few_characters(value, written):
    assert network.format_size(value) == written
