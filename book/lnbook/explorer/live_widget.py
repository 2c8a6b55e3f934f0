"""Live explorers: ipywidgets for the controls, and plotly.js in an anywidget for the panels."""

from __future__ import annotations

import contextlib
import functools
import html
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lnbook.display import explained, wrapped
from lnbook.explorer import static_html
from lnbook.explorer.control import Control
from lnbook.figures import colors
from lnbook.widgets.base import anywidget_class, box

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PLOTLY = "application/vnd.plotly.v1+json"

# The theme of the notebook is unknown in Python. This gray is readable on light and dark, and the
# style sheet replaces it by the text color of the notebook, if it is known.
TEXT_COLOR = "rgb(120, 126, 133)"
STYLE = f"""<style>
.ln-live text[style*="fill: {TEXT_COLOR}"] {{ fill: var(--jp-content-font-color1,
  var(--vscode-editor-foreground, var(--colab-primary-text-color, {TEXT_COLOR}))) !important }}
.ln-live .js-plotly-plot {{ width: 100%; min-width: 0 }}
</style>"""
# Plotly's FigureWidget is not used, because each instance loads plotly.js (5 MB) again, and because
# anywidget drops changes of a widget that takes more than 2 seconds to start. Here an invisible
# widget loads plotly.js once, and the panels wait for it. Figures have the colors of a light page,
# which are replaced on a dark one.
WIDGET_JS = (
    f"""
const DARK_COLORS = new Map(Object.entries({json.dumps(colors.swap())}));
const DARK_PAGE = {json.dumps(", ".join(colors.DARK_PAGE))};
"""
    + """
const replaceColors = (text) => !document.querySelector(DARK_PAGE) ? text
  : text.replace(/#[0-9a-f]{6}\\b|rgba\\([\\d,]+(?=,)/g, (c) => DARK_COLORS.get(c) ?? c);
const plotly = (globalThis.lnlibPlotly ??= {});
plotly.ready ??= new Promise((resolve, reject) => Object.assign(plotly, { resolve, reject }));
export default {
  initialize({ model }) {
    const code = model.get("code");
    if (!code?.byteLength || plotly.requested) return;
    plotly.requested = true;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    import(url).then(() => plotly.resolve(globalThis.Plotly), plotly.reject);
  },
  render({ model, el }) {
    if (!model.get("figure")) return;
    const figure = () => JSON.parse(replaceColors(model.get("figure")));
    const plot = document.createElement("div");
    plot.style.minHeight = figure().layout.height + "px";
    el.append(plot);
    let cleanUp = () => { cleanUp = null; };
    plotly.ready.then((Plotly) => {
      if (!cleanUp) return;
      const draw = () => {
        const { data, layout } = figure();
        return Plotly.react(plot, data, layout, { displayModeBar: false, doubleClick: false });
      };
      // The figure is drawn before its element is in the page, and resized afterwards.
      const resize = () => plot.offsetWidth && Plotly.Plots.resize(plot);
      const resizeObserver = new ResizeObserver(resize);
      const themeObserver = new MutationObserver(draw);
      themeObserver.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
      draw().then(() => resizeObserver.observe(el));
      model.on("change:figure", draw);
      cleanUp = () => {
        resizeObserver.disconnect();
        themeObserver.disconnect();
        model.off("change:figure", draw);
        Plotly.purge(plot);
      };
    }).catch((error) => { plot.textContent = "The figure cannot be shown here: " + error; });
    return () => cleanUp();
  },
};
"""
)


def template() -> dict:
    """Return a plotly template for light and dark: transparent background, gray text and lines.

    Color scales of heat maps are transparent at 0.
    """
    line = "rgba(128, 134, 141, 0.3)"
    axis = {
        "gridcolor": line,
        "linecolor": line,
        "zerolinecolor": line,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": line,
        "automargin": True,
        "fixedrange": True,
        "title": {"standoff": 8},
    }
    (low, clear_low), (high, clear_high) = (
        [colors.fade(colors.COLORS[name], alpha) for alpha in (0.65, 0)]
        for name in ("negative", "positive")
    )
    bar = {"thickness": 10, "outlinewidth": 0, "ticklen": 3}
    heat = {"autocolorscale": True, "colorbar": bar, "textfont": {"color": TEXT_COLOR}}
    return {
        "data": {"heatmap": [heat], "contour": [heat]},
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": TEXT_COLOR, "size": 12},
            "margin": {"l": 12, "r": 16, "t": 12, "b": 12},
            "colorway": [colors.COLORS[name] for name in ("first", "second", "third", "fourth")],
            "colorscale": {
                "diverging": [[0, low], [0.5, clear_low], [0.5, clear_high], [1, high]],
                "sequential": [[0, clear_high], [1, high]],
                "sequentialminus": [[0, low], [1, clear_low]],
            },
            "coloraxis": {"autocolorscale": True, "colorbar": bar},
            "legend": {"orientation": "h", "yanchor": "bottom", "y": 1, "x": 0},
            "hoverlabel": {"bgcolor": "rgb(50, 56, 64)", "font": {"color": "white"}},
            "dragmode": False,
            "xaxis": axis,
            "yaxis": axis,
        },
    }


def plot_widget(figure: str = "", code: bytes = b"") -> Any:
    """Return a widget that shows a figure, given as JSON, or one that loads plotly.js.

    Raises:
        ImportError: If anywidget is missing.
    """
    import traitlets

    traits = {"figure": traitlets.Unicode(), "code": traitlets.Bytes()}
    return anywidget_class("plot", WIDGET_JS, **traits)(figure=figure, code=code)


@functools.cache
def plotly_loader() -> Any:
    """Return the invisible widget that loads plotly.js, which is created once per kernel."""
    from plotly.offline import get_plotlyjs

    return plot_widget(code=get_plotlyjs().encode())


def control_widgets(controls: Mapping[str, Control]) -> tuple[dict, list]:
    """Return a widget for each control, and the rows that contain them."""
    import ipywidgets as widgets

    results, rows = {}, []
    for name, c in controls.items():
        common = {
            "description": c.label,
            "style": {"description_width": "initial"},
            "layout": widgets.Layout(width="min(100%, 26rem)"),
        }
        if c.live:
            low, high, step = c.live
            is_integer = all(float(x).is_integer() for x in (*c.live, c.values[c.start]))
            kind = widgets.IntSlider if is_integer else widgets.FloatSlider
            results[name] = kind(value=c.values[c.start], min=low, max=high, step=step, **common)
        else:
            kind = widgets.SelectionSlider if c.kind == "slider" else widgets.Dropdown
            options = list(zip(c.texts, c.values, strict=True))
            results[name] = kind(options=options, index=c.start, **common)
        row = [results[name]]
        if c.play and not c.live:
            play = widgets.Play(
                value=c.start, max=len(c.values) - 1, interval=400, show_repeat=False
            )
            widgets.jslink((play, "value"), (results[name], "index"))
            row.insert(0, play)
        rows.append(widgets.HBox(row, layout=wrapped()))
    return results, rows


def num_columns(num_panels: int) -> int:
    """Return the number of panels per row."""
    return 2 if num_panels == 4 else min(num_panels, 3)


class Canvas:
    """A card with a title, rows of controls, panels, a description and tables of the numbers."""

    def __init__(self, title: str, rows: list):
        import ipywidgets as widgets

        head = widgets.HTML(f"{STYLE}<b>{html.escape(title)}</b>")
        self.text = widgets.HTML()
        self.panels = widgets.Box(layout=wrapped())
        self.show_numbers = widgets.ToggleButton(
            description="The numbers behind the figure",
            tooltip="Show the numbers as a table",
            icon="table",
            layout=widgets.Layout(width="max-content"),
        )
        self.numbers = widgets.HTML(layout=widgets.Layout(max_height="22rem", overflow="auto"))
        self.show_numbers.observe(lambda _: self.tabulate(), "value")
        self.figures: list[Figure] = []
        parts = [head, *rows, self.panels, self.text, self.show_numbers, self.numbers]
        with contextlib.suppress(ImportError):  # the panels work without anywidget
            parts.append(plotly_loader())
        self.box = box(parts)
        self.box.add_class("ln-live")

    def show(self, figures: Callable[[], list[Figure]], text: Callable[[], str]) -> None:
        """Draw a state; an error is shown instead of the description, below the last figure."""
        try:
            self.set_figures(figures())
            description = text()
        except Exception as error:
            description = f"This could not be drawn ({explained(error)}). Choose another value."
        self.text.value = f'<p role="status" aria-live="polite">{html.escape(description)}</p>'

    def tabulate(self) -> None:
        """Show the numbers of the panels as tables, if the button is pressed."""
        self.numbers.value = ""
        if self.show_numbers.value:
            tables = static_html.data_tables(
                [static_html.panel_spec(figure) for figure in self.figures]
            )
            self.numbers.value = "".join(map(static_html.table_html, tables))

    def set_figures(self, figures: list[Figure]) -> None:
        """Show each figure in its panel."""
        import ipywidgets as widgets

        self.figures = figures
        self.tabulate()
        per_row = num_columns(len(figures)) or 1
        if len(figures) != len(self.panels.children):
            flex = f"1 1 {100 / per_row - 2:.0f}%"  # minus the gap
            layout = {"flex": flex, "min_width": "min(100%, 240px)", "overflow": "hidden"}
            self.panels.children = [
                widgets.VBox([widgets.HTML()], layout=widgets.Layout(**layout)) for _ in figures
            ]
        for panel, figure in zip(self.panels.children, figures, strict=True):
            set_figure(panel, figure, 900 // per_row)


def set_figure(panel: Any, figure: Figure, width: int) -> None:
    """Show a figure in a panel.

    Args:
        panel: A box with a title and, if it already has a figure, a widget for it.
        figure: The figure.
        width: Width in pixels, which is used if anywidget is missing.
    """
    import ipywidgets as widgets
    import plotly.graph_objects as go

    spec = static_html.panel_spec(figure)
    title, *old = panel.children
    title.value = html.escape(spec["title"])
    content = {"data": spec["data"], "layout": spec["layout"] | {"template": template()}}
    text = static_html.dumps(static_html.to_json_value(content, digits=17))  # exact floats
    try:
        if old and hasattr(old[0], "figure"):
            old[0].figure = text
            return
        new = plot_widget(text)
    except ImportError:  # no anywidget: display a plotly figure with a fixed width
        fixed = {"width": width, "paper_bgcolor": colors.CARD[0]}  # light in every theme
        figure = go.Figure(spec["data"], content["layout"] | fixed)
        data = {PLOTLY: json.loads(figure.to_json())} | figure._repr_mimebundle_()
        output = {"output_type": "display_data", "data": data, "metadata": {}}
        new = widgets.Output(outputs=(output,))
    panel.children = [title, new]
