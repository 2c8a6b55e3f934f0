"""What an explorer says as text, where it lives, and what it refuses."""

from tests.lnbook.explorer.conftest import (
    explorer,
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
