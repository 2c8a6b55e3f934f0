"""Labels at the ends of lines, bands, and the format of differences."""

import itertools

import numpy as np
import plotly.graph_objects as go
from hypothesis import given
from hypothesis import strategies as st

from lnbook.figures.plots import LINE, _spread_labels, label_ends


def panel(names, ends=None, **layout):
    figure = go.Figure()
    for k, name in enumerate(names):
        end = k if ends is None else ends[k]
        line = {"color": f"#00000{k}"}
        figure.add_scatter(x=[1, 10], y=[1, end], name=name, mode="lines", line=line)
    figure.update_layout(height=300, **layout)
    return label_ends(figure)


def labels(figure):
    return {label.text: label for label in figure.layout.annotations}


def test_labels_are_at_the_ends_of_lines_in_their_color_instead_of_a_legend():
    result = labels(figure := panel(["one", "two"], [3, 9]))
    assert {name: (at.x, at.y, at.font.color) for name, at in result.items()} == {
        "one": (10, 3, "#000000"),
        "two": (10, 9, "#000001"),
    }
    assert figure.layout.showlegend is False


@given(st.lists(st.floats(0, 300), min_size=1, max_size=6), st.integers(0, 2**6))
def test_labels_do_not_overlap_and_stay_in_the_panel(here, broken):
    tall = [LINE * (1 + (broken >> k & 1)) for k in range(len(here))]
    places = _spread_labels(here, tall, 300)
    order = np.argsort(here, kind="stable")
    for one, other in itertools.pairwise(order):
        assert places[other] - places[one] >= (tall[one] + tall[other]) / 2 - 1e-9
    for at, size in zip(places, tall, strict=True):
        assert size / 2 - 1e-9 <= at <= 300 - size / 2 + 1e-9
