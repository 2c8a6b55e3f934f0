"""Static figures have the same geometry as plotly's."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from lnbook.explorer import static_html
from lnbook.explorer.axes import axes
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
    figure.data[0].y = np.sin(3 * x)
    (numbers,) = paths(drawn(figure))
    corners = np.cumsum(np.reshape(numbers, (-1, 2)), axis=0)
    assert len(corners) < 150
    t = np.linspace(0, len(corners) - 1, 20_000)  # along what is drawn
    along = np.stack([np.interp(t, np.arange(len(corners)), c) for c in corners.T], axis=1)
    for point in np.stack([100 * x, 1000 - 100 * np.sin(3 * x)], axis=1):
        assert np.hypot(*(along - point).T).min() < 2.3  # 1.5 units, and what rounding moves


def test_log_axes_leave_out_nonpositive_values():
    figure = go.Figure(go.Scatter(x=[1, 10, 100, 0], y=[1, 2, 4, 4], mode="lines"))
    figure.update_layout(xaxis={"type": "log", "range": [0, 2]}, yaxis_range=[0, 4])
    source = drawn(figure)
    assert paths(source) == [[0, 750, 500, -250, 500, -500]]
    ticks = re.findall(r'style="--x:([\d.]+)%">(\w+)<', source)
    assert ticks == [("0", "1"), ("50", "10"), ("100", "100")]


def test_axes_use_their_domain_and_can_be_reversed():
    figure = go.Figure([go.Scatter(y=[0, 1]), go.Scatter(y=[0, 1], yaxis="y2")])
    figure.update_layout(yaxis={"domain": [0, 0.5], "range": [0, 1]})
    figure.update_layout(yaxis2={"domain": [0.5, 1], "range": [1, 0]})
    result = axes(static_html.to_json_value(static_html.panel_spec(figure)))
    assert [result["yaxis"].to_fraction(v) for v in (0, 1)] == [1, 0.5]
    assert [result["yaxis2"].to_fraction(v) for v in (0, 1)] == [0, 0.5]


@pytest.mark.parametrize(
    ("mode", "second"), [("group", [500, 800, 400]), ("stack", [100, 400, 800])]
)
def test_bars_are_grouped_or_stacked(mode, second):
    bars = [go.Bar(x=["a"], y=[4]), go.Bar(x=["a"], y=[2])]
    figure = go.Figure(bars, {"barmode": mode, "bargap": 0.2, "yaxis_range": [0, 10]})
    figure.update_layout(showlegend=False)
    one, other = paths(drawn(figure))
    assert one[:3] == [100, 600, 400 if mode == "group" else 800]
    assert other[:3] == second


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


def test_shapes_and_annotations_are_at_the_given_positions():
    figure = go.Figure(go.Scatter(x=[0, 10], y=[0, 10], mode="lines"))
    figure.update_layout(xaxis_range=[0, 10], yaxis_range=[0, 10])
    figure.add_shape(type="line", x0=3, x1=3, y0=0, y1=1, yref="paper")
    figure.add_annotation(x=3, y=5, text="here", showarrow=False, xanchor="left")
    source = drawn(figure)
    assert paths(source)[-1] == [300, 1000, 0, -1000]
    assert "left:30%;top:50%;transform:translate(0,-50%)" in source


def test_legends_list_exactly_the_drawn_traces():
    lines = [go.Scatter(y=[1, 2], name="a<b"), go.Scatter(y=[2, 1], name="c", showlegend=False)]
    assert "</svg> a&lt;b<" not in drawn(go.Figure(lines[:1]))
    named = drawn(go.Figure([*lines, go.Scatter(y=[0, 0], name="d")]))
    assert re.findall(r"</svg> ([^<]*)<", named) == ["a&lt;b", "d"]
