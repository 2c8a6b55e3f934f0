"""Explorers in the built book: packed states, the card, and tables of the numbers."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.io import templates

from lnbook.explorer import static_html
from lnbook.show import Explorer, choice, slider
from tests.cases.page import Page
from tests.lnbook.explorer.conftest import CONTROLS, TABLE, X, describe, explorer, payload, unpack


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


def test_payloads_store_shared_parts_once():
    stored = static_html.dumps(static_html.deduplicate(list(explorer().states())))
    assert stored.count(static_html.dumps(static_html.to_json_value(X))) == 1
    assert len(stored) < len(static_html.dumps(list(explorer().states()))) / 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=6))
def test_pack_is_undone_by_unpack(states):
    assert unpack(static_html.pack(states * 2)) == states * 2


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.nan, None),
        (np.inf, None),
        (np.float32(1 / 3), 0.3333),
        (123456.7, 123500),
        (1.23456e-7, 1.235e-7),
        (60000, 60000),
        (np.int64(123456), 123456),
        (np.bool_(True), True),
        (np.array([[1.00004, np.nan]]), [[1, None]]),
        ({"gone": None, "kept": (1.0, "a")}, {"kept": [1, "a"]}),
    ],
)
def test_json_values_have_four_digits_integers_and_no_nan(value, stored):
    assert repr(static_html.to_json_value(value)) == repr(stored)


def test_the_html_is_deterministic(monkeypatch):
    pages = []
    for now in (1e9, 2e9):
        monkeypatch.setattr(static_html, "_ids", iter([1]))
        monkeypatch.setattr(static_html.gzip.time, "time", lambda now=now: now)
        pages.append(explorer().to_html())
    assert pages[0] == pages[1]


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


def test_figures_are_drawn_without_a_default_template():
    def draw():
        assert go.Figure().layout.template.to_plotly_json() == {}
        raise ZeroDivisionError("drawn")

    with pytest.raises(ZeroDivisionError, match="drawn"):
        Explorer(draw, title="T", describe=lambda: "").to_html()
    assert templates.default == "plotly"  # the default


def test_tables_contain_the_drawn_numbers_merged_by_position():
    figures = explorer().figures(n=3, scale=-2.0)
    heat, curves = static_html.data_tables([static_html.panel_spec(figure) for figure in figures])
    assert heat["caption"] == "3 rows"
    assert np.shape(heat["rows"]) == (3, 8)
    np.testing.assert_allclose(np.array(heat["rows"])[:, 1:], -2 * TABLE[:3], rtol=1e-3)
    assert curves["columns"] == ["x", "y", "y"]
    np.testing.assert_allclose(np.array(curves["rows"])[:, 1], X**3, rtol=1e-3)
    np.testing.assert_allclose(np.array(curves["rows"])[:, 2], -2 * np.sin(X), rtol=1e-3)


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


def test_identical_descriptions_of_different_figures_get_the_controls():
    controls = {"eps": slider("eps", (1, 2, 4)), "idle": choice("Idle", {"yes": 0, "no": 1})}
    states = [
        {"panels": [eps], "text": "Large." if eps == 4 else "Small."}
        for eps in (1, 2, 4)
        for _ in range(2)
    ]
    texts = [state["text"] for state in static_html.make_alt_texts_unique(states, controls)]
    assert texts[::2] == ["Small. (eps: 1)", "Small. (eps: 2)", "Large."]
    same = [{"panels": [1], "text": "So it is."}] * 2
    controls.pop("eps")
    assert static_html.make_alt_texts_unique(same, controls) == same
