"""The live life of an explorer: ipywidgets, and plotly.js in the page where anywidget is there."""

from __future__ import annotations

import contextlib
import functools
import html
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lnbook.display import explained, wrapped
from lnbook.explorer import page
from lnbook.explorer.control import Control
from lnbook.figures import colors
from lnbook.widgets.base import anywidget_class, box

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PLOTLY = "application/vnd.plotly.v1+json"

# Python does not know the theme of the notebook: this gray reads on light and on dark, and the
# style sheet puts the notebook's own text color in its place where there is one.
INK = "rgb(120, 126, 133)"
STYLE = f"""<style>
.ln-live text[style*="fill: {INK}"] {{ fill: var(--jp-content-font-color1,
  var(--vscode-editor-foreground, var(--colab-primary-text-color, {INK}))) !important }}
.ln-live .js-plotly-plot {{ width: 100%; min-width: 0 }}
</style>"""
# Not plotly's FigureWidget: each of those brings plotly.js (5 MB) anew, and anywidget never tells
# one of a change again if it takes more than 2 seconds to start. Here an invisible widget brings
# plotly.js once; the panels start at once, wait for it, and get whole figures.
# A figure comes in the colors of a light page; a dark one has another for each.
PLOT = (
    f"""
const DYES = new Map(Object.entries({json.dumps(colors.swap())}));
const DARK = {json.dumps(", ".join(colors.DARK_PAGE))};
"""
    + """
const dyed = (text) => !document.querySelector(DARK) ? text
  : text.replace(/#[0-9a-f]{6}\\b|rgba\\([\\d,]+(?=,)/g, (color) => DYES.get(color) ?? color);
const plotly = (globalThis.lnlibPlotly ??= {});
plotly.ready ??= new Promise((done, fail) => Object.assign(plotly, { done, fail }));
export default {
  initialize({ model }) {
    const code = model.get("code");
    if (!code?.byteLength || plotly.requested) return;
    plotly.requested = true;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    import(url).then(() => plotly.done(globalThis.Plotly), plotly.fail);
  },
  render({ model, el }) {
    if (!model.get("figure")) return;
    const figure = () => JSON.parse(dyed(model.get("figure")));
    const plot = document.createElement("div");
    plot.style.minHeight = figure().layout.height + "px";
    el.append(plot);
    let leave = () => { leave = null; };
    plotly.ready.then((Plotly) => {
      if (!leave) return;
      const draw = () => {
        const { data, layout } = figure();
        return Plotly.react(plot, data, layout, { displayModeBar: false, doubleClick: false });
      };
      // It is drawn before it has a place in the page, and takes its room when it gets one.
      const fit = () => plot.offsetWidth && Plotly.Plots.resize(plot);
      const room = new ResizeObserver(fit);
      const theme = new MutationObserver(draw);
      theme.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
      draw().then(() => room.observe(el));
      model.on("change:figure", draw);
      leave = () => {
        room.disconnect();
        theme.disconnect();
        model.off("change:figure", draw);
        Plotly.purge(plot);
      };
    }).catch((error) => { plot.textContent = "The figure cannot be shown here: " + error; });
    return () => leave();
  },
};
"""
)


def template() -> dict:
    """Transparent grounds, gray ink, colors that fade to the page at 0, whatever its color."""
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
    (low, none_low), (high, none_high) = (
        [colors.fade(colors.COLORS[thing], share) for share in (0.65, 0)]
        for thing in ("negative", "positive")
    )
    bar = {"thickness": 10, "outlinewidth": 0, "ticklen": 3}
    heat = {"autocolorscale": True, "colorbar": bar, "textfont": {"color": INK}}
    return {
        "data": {"heatmap": [heat], "contour": [heat]},
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": INK, "size": 12},
            "margin": {"l": 12, "r": 16, "t": 12, "b": 12},
            "colorway": [colors.COLORS[thing] for thing in ("first", "second", "third", "fourth")],
            "colorscale": {
                "diverging": [[0, low], [0.5, none_low], [0.5, none_high], [1, high]],
                "sequential": [[0, none_high], [1, high]],
                "sequentialminus": [[0, low], [1, none_low]],
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
    """Build the widget that shows a figure, given as JSON, or the one that brings plotly.js.

    Raises:
        ImportError: If anywidget is missing.
    """
    import traitlets

    traits = {"figure": traitlets.Unicode(), "code": traitlets.Bytes()}
    return anywidget_class("plot", PLOT, **traits)(figure=figure, code=code)


@functools.cache
def library() -> Any:
    """Build the invisible widget that brings plotly.js into the page, once a kernel."""
    from plotly.offline import get_plotlyjs

    return plot_widget(code=get_plotlyjs().encode())


def control_widgets(controls: Mapping[str, Control]) -> tuple[dict, list]:
    """Build a widget for each control, and the rows that hold them."""
    import ipywidgets as widgets

    made, rows = {}, []
    for name, c in controls.items():
        common = {
            "description": c.label,
            "style": {"description_width": "initial"},
            "layout": widgets.Layout(width="min(100%, 26rem)"),
        }
        if c.live:
            low, high, step = c.live
            whole = all(float(x).is_integer() for x in (*c.live, c.values[c.start]))
            kind = widgets.IntSlider if whole else widgets.FloatSlider
            made[name] = kind(value=c.values[c.start], min=low, max=high, step=step, **common)
        else:
            kind = widgets.SelectionSlider if c.kind == "slider" else widgets.Dropdown
            options = list(zip(c.texts, c.values, strict=True))
            made[name] = kind(options=options, index=c.start, **common)
        row = [made[name]]
        if c.play and not c.live:
            play = widgets.Play(
                value=c.start, max=len(c.values) - 1, interval=400, show_repeat=False
            )
            widgets.jslink((play, "value"), (made[name], "index"))
            row.insert(0, play)
        rows.append(widgets.HBox(row, layout=wrapped()))
    return made, rows


def columns(count: int) -> int:
    """Choose how many panels stand side by side."""
    return 2 if count == 4 else min(count, 3)


class Canvas:
    """Title, rows of controls, panels and sentence, one below the other."""

    def __init__(self, title: str, rows: list, columns: int | None = None):
        import ipywidgets as widgets

        head = widgets.HTML(f"{STYLE}<b>{html.escape(title)}</b>")
        self.text = widgets.HTML()
        self.columns = columns
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
        with contextlib.suppress(ImportError):  # the panels do without anywidget
            parts.append(library())
        self.box = box(parts)
        self.box.add_class("ln-live")

    def show(self, figures: Callable[[], list[Figure]], text: Callable[[], str]) -> None:
        """Draw; an error is said where the sentence stands, and the last figure stays."""
        try:
            self.put(figures())
            sentence = text()
        except Exception as error:
            sentence = f"This could not be drawn ({explained(error)}). Choose another value."
        self.text.value = f'<p role="status" aria-live="polite">{html.escape(sentence)}</p>'

    def tabulate(self) -> None:
        """Write the numbers behind the panels as tables, if the reader asks for them."""
        self.numbers.value = ""
        if self.show_numbers.value:
            tables = page.numbers([page.panel(figure) for figure in self.figures])
            self.numbers.value = "".join(map(page.grid, tables))

    def put(self, figures: list[Figure]) -> None:
        """Put each figure into its panel."""
        import ipywidgets as widgets

        self.figures = figures
        self.tabulate()
        side_by_side = self.columns or columns(len(figures)) or 1
        if len(figures) != len(self.panels.children):
            flex = f"1 1 {100 / side_by_side - 2:.0f}%"  # with room for the gaps
            room = {"flex": flex, "min_width": "min(100%, 240px)", "overflow": "hidden"}
            self.panels.children = [
                widgets.VBox([widgets.HTML()], layout=widgets.Layout(**room)) for _ in figures
            ]
        for panel, figure in zip(self.panels.children, figures, strict=True):
            fill(panel, figure, 900 // side_by_side)


def fill(panel: Any, figure: Figure, width: int) -> None:
    """Change the figure in a panel, or put the first one there."""
    import ipywidgets as widgets
    import plotly.graph_objects as go

    parts = page.panel(figure)
    title, *old = panel.children
    title.value = html.escape(parts["title"])
    shown = {"data": parts["data"], "layout": parts["layout"] | {"template": template()}}
    content = page.dumps(page.plain(shown, digits=17))  # 17 tell every float from the next
    try:
        if old and hasattr(old[0], "figure"):
            old[0].figure = content
            return
        fresh = plot_widget(content)
    except ImportError:  # no anywidget: what plotly would display, in a box, at a fixed width
        paper = {"width": width, "paper_bgcolor": colors.CARD[0]}  # light in every theme
        figure = go.Figure(parts["data"], shown["layout"] | paper)
        data = {PLOTLY: json.loads(figure.to_json())} | figure._repr_mimebundle_()
        output = {"output_type": "display_data", "data": data, "metadata": {}}
        fresh = widgets.Output(outputs=(output,))
    panel.children = [title, fresh]
