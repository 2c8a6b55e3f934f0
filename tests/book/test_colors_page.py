"""Colors and labels of lines in a browser: both themes, desktop and phone."""

import itertools
import json
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest

from lnbook import explorer
from lnbook.explorer import live_widget, static_html
from lnbook.figures import colors
from lnbook.figures.plots import NORMS, band, label_ends
from lnbook.show import show
from lnbook.widgets import base
from tests.book.conftest import PATIENCE
from tools.browser import browser_name

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
BOXES = """root => [...root.querySelectorAll(".annotation-text")].map((e) => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return [left, right, top, bottom];
})"""


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
    shown = show([panel() for _ in range(4)], title="T", describe="D").to_html()
    (folder / "page.html").write_text(PAGE.format(shown), "utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.set_default_timeout(PATIENCE)
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".ln-explorer[data-ready=yes]")
    yield page
    page.close()


@pytest.fixture
def live(browser):
    """A notebook page with the widget of a figure, as anywidget renders it."""
    parts = static_html.panel_spec(panel())
    layout = parts["layout"] | {"template": live_widget.template()}
    figure = json.dumps(static_html.to_json_value({"data": parts["data"], "layout": layout}))
    widget = live_widget.WIDGET_JS.replace("export default", "const widget =")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.set_content("<body data-jp-theme-light='false'><div></div></body>")
    page.add_script_tag(path=Path(plotly.__file__).parent / "package_data" / "plotly.min.js")
    page.add_script_tag(
        type="module",
        content=f"""{widget}
const model = {{ get: () => {json.dumps(figure)}, on() {{}}, off() {{}} }};
plotly.resolve(window.Plotly);
widget.render({{ model, el: document.querySelector("div") }});""",
    )
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


def test_live_figures_have_the_colors_of_the_notebook_theme(live):
    live.wait_for_function(DRAWN, arg=rgb(colors.DARK["layer"]))
    live.evaluate("document.body.dataset.jpThemeLight = 'true'")
    live.wait_for_function(DRAWN, arg=rgb(colors.COLORS["layer"]))


@pytest.mark.parametrize("width", [390, 1000])
def test_line_labels_fit_without_overlaps_and_leave_half_of_the_panel(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    low = width == 390  # four panels on one screen
    slack = 2 if browser_name(page) == "firefox" else 1  # pixels
    page.wait_for_function(
        f"() => {{ const svg = document.querySelector('.ln-panel svg'); "
        f"return svg.clientWidth < {width} && svg.clientHeight < 200 === {str(low).lower()} }}"
    )
    for panel in page.locator(".ln-panel").all():
        around = panel.bounding_box()
        boxes = sorted(panel.evaluate(BOXES), key=lambda box: box[2])
        assert len(boxes) == len(NORMS)
        for left, right, top, bottom in boxes:
            assert left > around["x"] + around["width"] / 2
            assert right <= around["x"] + around["width"] + 0.5
            assert around["y"] <= top
            assert bottom <= around["y"] + around["height"]
        for (*_, bottom), (_, _, top, _) in itertools.pairwise(boxes):
            assert bottom <= top + slack
