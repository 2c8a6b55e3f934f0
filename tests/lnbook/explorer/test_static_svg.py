"""Static figures have the same geometry as plotly's."""

import re

import numpy as np
import plotly.graph_objects as go

from lnbook.explorer import static_html
from lnbook.explorer.static_svg import SIZE, render_static_svg


def drawn(figure):
    return render_static_svg(static_html.to_json_value(static_html.panel_spec(figure)))


def paths(source):
    """The numbers in each path except the grid."""
    result = re.findall(r"<path (?!class)[^>]*?d=\"([^\"]*)\"", source.replace("<p>", ""))
    return [[float(n) for n in re.findall(r"-?\d+\.?\d*", d)] for d in result]


def test_lines_pass_through_their_points():
    figure = go.Figure(go.Scatter(x=[1, 2, 5], y=[10, 0, 5], mode="lines"))
    figure.update_layout(xaxis_range=[0, 10], yaxis_range=[0, 20])
    assert paths(drawn(figure)) == [[100, 500, 100, 500, 300, -250]]


def test_simplified_lines_keep_their_corners():
    x = np.linspace(0, 10, 201)
    figure = go.Figure(go.Scatter(x=x, y=np.abs(x - 3), mode="lines"))
    figure.update_layout(xaxis_range=[0, 10], yaxis_range=[0, 10])
    assert paths(drawn(figure)) == [[0, 700, 300, 300, 700, -700]]


def test_log_axes_leave_out_nonpositive_values():
    figure = go.Figure(go.Scatter(x=[1, 10, 100, 0], y=[1, 2, 4, 4], mode="lines"))
    figure.update_layout(xaxis={"type": "log", "range": [0, 2]}, yaxis_range=[0, 4])
    source = drawn(figure)
    assert paths(source) == [[0, 750, 500, -250, 500, -500]]
    ticks = re.findall(r'style="--x:([\d.]+)%">(\w+)<', source)
    assert ticks == [("0", "1"), ("50", "10"), ("100", "100")]


def test_bars_start_at_zero_at_the_given_positions():
    figure = go.Figure(go.Bar(y=["a", "b"], x=[3, -1], orientation="h"), {"xaxis_range": [-5, 5]})
    (numbers,) = paths(drawn(figure))
    assert [numbers[0], numbers[2]] == [500, 300]
    assert numbers[5] == 400  # from −1 to 0


def test_heat_maps_have_a_shade_and_a_number_per_cell():
    text = [["one", "<2>"], ["", ""]]
    heat = go.Heatmap(z=[[-2, 0], [2, None]], coloraxis="coloraxis", text=text,
                      texttemplate="%{text}")  # fmt: skip
    source = drawn(go.Figure(heat, {"coloraxis": {"cmid": 0, "cmin": -2, "cmax": 2}}))
    assert "var(--ln-low) 100%" in source
    assert "var(--ln-high) 100%" in source
    cells = sorted(numbers[:2] for numbers in paths(source))
    assert cells == [[0, 0], [0, SIZE / 2], [SIZE / 2, SIZE / 2]]
    labels = re.findall(r'ln-in" style="left:([\d.]+)%;top:([\d.]+)%">([^<]+)', source)
    assert labels == [("25", "75", "one"), ("75", "75", "&lt;2&gt;")]
