"""Colors and labels of lines in a browser: both themes, desktop and phone."""

from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest

from lnbook import explorer
from lnbook.figures import colors
from lnbook.figures.plots import NORMS, band, label_ends
from lnbook.show import Explorer
from lnbook.widgets import base
from tests.book.conftest import PATIENCE

STATIC = Path(__file__).parents[2] / "book" / "_static"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="colors.css">
<link rel="stylesheet" href="custom.css">
<link rel="stylesheet" href="controls.css">
<link rel="stylesheet" href="explorer/explorer.css">
<script src="explorer/explorer.js" defer></script>
<body class="bd-article">{}</body></html>"""
STROKES = "all => all.map(e => getComputedStyle(e).stroke)"
DRAWN = """color => [...document.querySelectorAll('.js-line')]
  .some(e => getComputedStyle(e).stroke === color)"""


def panel():
    """Four lines that end close to each other, one of them in a band."""
    figure, x = go.Figure(), np.arange(20)
    for k, look in enumerate(NORMS.values()):
        y = 1 + 0.15 * k + np.exp(-x / (k + 2))
        low = y - 0.1 * (k == 0)
        band(figure, x, (low, y, y + 0.1 * (k == 0)), look, "%{y}")
    figure.update_layout(height=300, yaxis={"range": [0, 3]})
    return label_ends(figure)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "plotly").mkdir()
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    (folder / "plotly" / "plotly.min.js").symlink_to(script)
    (folder / "custom.css").symlink_to(STATIC / "custom.css")
    explorer.WEB.write(folder)
    (folder / "controls.css").symlink_to(base.HERE / "controls.css")
    (folder / "colors.css").write_text(colors.css(), "utf-8")
    shown = Explorer(lambda: [panel() for _ in range(4)], title="T", describe=lambda: "D").to_html()
    (folder / "page.html").write_text(PAGE.format(shown), "utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.set_default_timeout(PATIENCE)
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".ln-explorer[data-ready=yes]")
    yield page
    page.close()


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize(("theme", "things"), [("dark", colors.DARK), ("light", colors.COLORS)])
def test_figures_have_the_colors_of_the_page_theme(page, theme, things):
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    layer = rgb(things["layer"])
    page.wait_for_function(DRAWN, arg=layer)
    panel = page.locator(".ln-panel").first
    strokes = set(panel.locator(".js-line").evaluate_all(STROKES))
    assert {rgb(things[norm]) for norm in NORMS} <= strokes
    fills = panel.locator(".js-fill").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert layer in {fill.replace("rgba", "rgb") for fill in fills}
    names = panel.locator(".annotation-text").evaluate_all(
        "all => all.map(e => [e.textContent, getComputedStyle(e).fill])"
    )
    assert dict(names) == {NORMS[norm][0]: rgb(things[norm]) for norm in NORMS}
