"""Recurrent networks: figures and sentences show the computed numbers."""

import numpy as np

from lnbook.chapters.recurrent_networks import padding, through_time
from tests.cases.drawn import heights as lines


def test_lines_show_the_computed_runs():
    figure = through_time.draw_forward(1.1, "identity", "every")
    steps = np.array(figure.data[0].x)
    run = through_time.carry("plain", 1.1, "identity", "every")
    three = 0.005  # tolerance of three digits
    np.testing.assert_allclose(lines(figure)["no norm"], run.summed[steps - 1], rtol=three)
    back = through_time.draw_backward(1.1, "identity", "every", 0.1)
    run = through_time.carry("parts", 1.1, "identity", "every", 0.1)
    gradient = run.gradient[np.array(back.data[0].x)]
    np.testing.assert_allclose(lines(back)["layer norm, parts"], gradient, rtol=three)


def test_table_and_bars_show_changes_and_shared_means():
    table, bars = padding.draw_padding("counted", 1.0)
    changed, shown = padding.padding_change("counted", 1.0), table.data[0]
    assert shown.text[0][3] == f"{changed[0, 3]:.2f}"
    assert [row.count("pad") for row in map(list, shown.text)] == [0, 2, 3, 5, 6]
    assert lines(bars)["sequences"].tolist() == [5, 5, 4, 3, 3, 2, 1, 1]
    assert not lines(padding.draw_padding("left out", 1.0)[1])["padding"].any()
