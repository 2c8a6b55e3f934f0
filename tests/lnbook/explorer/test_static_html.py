"""Explorers in the built book: packed states, the card, and tables of the numbers."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from lnbook.explorer import static_html
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import band
from tests.cases.page import Page
from tests.lnbook.explorer.conftest import CONTROLS, TABLE, X, describe, explorer, payload


def four_digits(array):
    """Round an array to four digits with NumPy's own formatting."""
    return [
        float(np.format_float_scientific(x, 3, unique=False)) if np.isfinite(x) else None
        for x in np.asarray(array, float).ravel()
    ]


def test_payloads_contain_all_states_in_order_with_four_digits():
    states = iter(payload(explorer()))
    for n in CONTROLS["n"].values:
        for scale in CONTROLS["scale"].values:
            state = next(states)
            heat, lines = state["panels"]
            assert np.ravel(heat["data"][0]["z"]).tolist() == four_digits(TABLE[:n] * scale)
            assert np.shape(heat["data"][0]["z"]) == (n, 7)
            assert lines["data"][0]["y"] == four_digits(X**n)
            assert lines["data"][1]["y"] == four_digits(np.sin(X) * scale)
            assert (heat["title"], lines["title"]) == (f"{n} rows", "")
            assert state["text"] == describe(n, scale)
    assert next(states, None) is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.inf, None),
        (np.float32(1 / 3), 0.3333),
        (1.23456e-7, 1.235e-7),
        (np.int64(123456), 123456),
        (np.array([[1.00004, np.nan]]), [[1, None]]),
        ({"gone": None, "kept": (1.0, "a")}, {"kept": [1, "a"]}),
    ],
)
def test_json_values_have_four_digits_integers_and_no_nan(value, stored):
    assert repr(static_html.to_json_value(value)) == repr(stored)


def test_the_card_contains_the_initial_description_escaped_and_all_labels():
    source = explorer(title="<b>&", alt='"').to_html()
    assert not re.search("<b>&|<times>", source)
    card = Page(source)
    assert {"<b>&", describe(3, 1.0)} <= {text for *_, text in card.elements}
    ids = {label["for"] for label in card.find("label")}
    fields = card.find("input", type="range") + card.find("select")
    assert {field["id"] for field in fields} == ids
    assert card.find("input")[0]["aria-valuetext"] == "3"
    assert card.find("div", role="img")[0]["aria-label"] == '"'
    assert {field["autocomplete"] for field in fields} == {"off"}


def test_tables_have_the_values_of_points_that_are_drawn_elsewhere():
    figure = go.Figure()
    figure.add_scatter(x=[1, 2], y=[1e-6, 0.5], meta={"values": [0, 0.5]})
    figure.add_bar(x=["<b>no</b> norm"], y=[3], name="error")
    figure.add_heatmap(z=[[7, 8]], meta={"y": ["unit 1"]})
    assert [
        (table["columns"], table["rows"])
        for table in static_html.data_tables([static_html.panel_spec(figure)])
    ] == [
        (["x", "y"], [[1, 0], [2, 0.5]]),
        (["item", "error"], [["no norm", 3]]),
        (["y \\ x", 1, 2], [["unit 1", 7, 8]]),
    ]


def test_tables_list_a_line_before_the_edges_of_its_band():
    figure = go.Figure()
    for label in ("a", "b"):
        band(figure, [1, 2], np.arange(6).reshape(3, 2), (label, COLORS["layer"], "solid"), "")
    (table,) = static_html.data_tables([static_html.panel_spec(figure)])
    columns = [name + edge for name in "ab" for edge in ("", ", lower edge", ", upper edge")]
    assert table["columns"] == ["x", *columns]
    assert table["rows"] == [[1, *[2, 0, 4] * 2], [2, *[3, 1, 5] * 2]]


def test_tables_name_axes_and_traces_and_omit_decoration():
    figure = go.Figure(
        [
            go.Bar(x=[1.0, np.nan], y=["a", "b"], orientation="h", name="share"),
            go.Scatter(x=[0, 1], y=[2, 3], hoverinfo="skip"),
            go.Scatter(x=[5, None, 6], y=[7, None, 8], xaxis="x2"),
        ],
        layout={"yaxis": {"title": "norm"}, "xaxis2": {"title": "steps"}},
    )
    tables = static_html.data_tables([static_html.panel_spec(figure)])
    assert [t["columns"] for t in tables] == [["norm", "share"], ["steps", "norm"]]
    assert [t["rows"] for t in tables] == [[["a", 1], ["b", None]], [[5, 7], [6, 8]]]
    assert "<td>–</td>" in static_html.table_html(tables[0])
    hostile = {"caption": "<b>", "columns": ["<b>"], "rows": [["<b>"]]}
    assert "<b>" not in static_html.table_html(hostile)
