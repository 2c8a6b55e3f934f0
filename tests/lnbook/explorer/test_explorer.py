"""What an explorer says as text, where it lives, and what it refuses."""

import plotly.graph_objects as go
import pytest

from lnbook.show import Explorer, LiveRun, choice, slider
from tests.lnbook.explorer.conftest import (
    CONTROLS,
    RUN,
    count,
    describe,
    describe_run,
    explorer,
    gated,
)


def test_text_is_title_grid_and_sentence():
    assert repr(explorer()) == (
        "Rows (15 states)\n"
        "  Rows: 1 | 2 | 3 | 4 | 5 (start: 3)\n"
        "  Scale: small | as it is | minus (start: as it is)\n"
        "3 rows <times> 1.0."
    )


def test_without_ipywidgets_the_text_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    out = explorer()._repr_mimebundle_()
    assert set(out) == {"text/plain"}
    assert out["text/plain"].endswith(
        "(For the figure and its controls: pip install ipywidgets anywidget)"
    )


# Refusals.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: slider("Rate", []), r"slider: values of 'Rate' must not be empty"),
        (lambda: choice("Norm", {}), r"choice: options of 'Norm' must not be empty"),
        (lambda: slider("Rate", [1, 2], start=3), r"slider: start of 'Rate' .* got 3"),
        (lambda: choice("Norm", ["a"], start="b"), r"choice: start of 'Norm' .* got 'b'"),
        (lambda: slider("Rate", [5], live=(0, 1, 1)), r"slider: live of 'Rate' .* got \(0, 1, 1\)"),
        (lambda: explorer(limit=14), r"'Rows' make 15 states, limit is 14; use coarser grids"),
        (
            lambda: Explorer(lambda n: 0, CONTROLS, title="", describe=describe),
            r"draw must accept \(n, scale\), .* unexpected keyword argument 'scale'",
        ),
        (
            lambda: explorer(describe=lambda n, scale, more: ""),
            r"describe must accept \(n, scale\), .* missing a required argument: 'more'",
        ),
        (
            lambda: LiveRun(count, lambda n: 0, RUN, title="", describe=describe_run),
            r"LiveRun: draw must accept \(results, n\)",
        ),
        (lambda: gated(recorded=lambda: [1]), r"LiveRun: recorded must accept \(n\)"),
    ],
)
def test_refusal_names_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        ("a picture", "must return a plotly figure or a list of them, got str"),
        ([go.Figure(), None], "got NoneType at place 1"),
    ],
)
def test_what_is_no_figure_is_refused(drawn, message):
    with pytest.raises(ValueError, match=message):
        explorer(describe=describe).__class__(
            lambda: drawn, title="T", describe=lambda: ""
        ).to_html()


def test_number_of_panels_may_not_change():
    growing = Explorer(
        lambda n: [go.Figure()] * n, {"n": slider("n", [1, 2])}, title="T", describe=lambda n: ""
    )
    with pytest.raises(ValueError, match="same number of figures in every state, got 1 and"):
        growing.to_html()
