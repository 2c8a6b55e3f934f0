"""What an explorer says as text, and what it draws of a picture."""

from lnbook.explorer.figure_spec import Picture
from lnbook.show import Explorer
from tests.lnbook.explorer.conftest import CONTROLS, describe, draw, explorer


def test_explorer_of_a_picture_is_that_of_its_three_parts():
    picture = Picture(
        lambda data, n, scale: draw(n, data * scale),
        lambda data, n, scale: describe(n, data * scale),
        alt="Rows and lines.",
    )
    shown = Explorer(picture.of(2), CONTROLS, title="Rows")
    parts = Explorer(
        lambda n, scale: draw(n, 2 * scale),
        CONTROLS,
        title="Rows",
        describe=lambda n, scale: describe(n, 2 * scale),
    )
    assert list(shown.states()) == list(parts.states())
    assert shown.alt == "Rows and lines."


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
