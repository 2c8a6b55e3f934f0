"""A picture: drawing, sentence and alt text as one object, its data fixed beforehand."""

import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.show import Explorer, slider

MOVED = {"n": slider("Points", [2, 3], start=3)}


def draw(data, n):
    return go.Figure(go.Scatter(x=list(range(n)), y=data[:n]))


def describe(data, n):
    return f"{n} points, the last {data[n - 1]}."


POINTS = Picture(draw, describe, alt="A line of points.")


def test_explorer_of_a_picture_is_that_of_its_three_parts():
    data = [5.0, 7.0, 11.0]
    explorer = Explorer(POINTS.of(data), MOVED, title="Points")
    parts = Explorer(
        lambda n: draw(data, n),
        MOVED,
        title="Points",
        describe=lambda n: describe(data, n),
        alt="A line of points.",
    )
    assert list(explorer.states()) == list(parts.states())
    assert explorer.alt == parts.alt
    assert repr(explorer).endswith("3 points, the last 11.0.")
