"""Text and figures of an explorer."""

from lnbook.explorer.figure_spec import Picture
from lnbook.show import Explorer
from tests.lnbook.explorer.conftest import CONTROLS, describe, draw, explorer


def test_a_picture_is_equivalent_to_its_three_parts():
    picture = Picture(
        lambda data, n, scale: draw(n, data * scale),
        lambda data, n, scale: describe(n, data * scale),
        alt="Rows and lines.",
    )
    shown = Explorer(picture.of(2), CONTROLS, title="Rows")
    draws, says = ((lambda n, scale, f=f: f(n, 2 * scale)) for f in (draw, describe))
    parts = Explorer(draws, CONTROLS, title="Rows", describe=says)
    assert list(shown.states()) == list(parts.states())
    assert shown.alt == "Rows and lines."


def test_the_text_contains_title_values_and_description():
    assert repr(explorer()) == (
        "Rows (15 states)\n"
        "  Rows: 1 | 2 | 3 | 4 | 5 (start: 3)\n"
        "  Scale: small | as it is | minus (start: as it is)\n"
        "3 rows <times> 1.0."
    )
