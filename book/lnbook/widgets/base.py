"""The scripts and styles that a widget adds to a page.

A widget is a package that contains its Python, its JavaScript, a style sheet of the same name and
a ``WEB``. The build finds all of them, writes ``_static/NAME/NAME.js`` and ``NAME.css``, and loads
these files on each page that contains the widget. A live notebook uses the same files.
"""

import contextlib
import functools
import hashlib
import html
import importlib
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lnbook.figures import colors

HERE = Path(__file__).parent
#: The style of buttons, choices, sliders and tables, which all widgets share.
CONTROLS = (HERE / "controls.css").read_text("utf-8")
# A box of widgets keeps the keys pressed in it, except commands such as Ctrl+S and Shift+Enter.
# Notebook 7 decides what to do with a key before any element receives it, by an attribute of the
# focused element.
KEYS = """
if (!globalThis.lnlibKeys) {
  globalThis.lnlibKeys = true;
  const command = (event) => event.ctrlKey || event.metaKey || event.altKey
    || event.key === "Escape" || (event.key === "Enter" && event.shiftKey);
  const keep = (event) => command(event) || event.stopPropagation();
  window.addEventListener("keydown", (event) => {
    const box = event.target.closest?.(".ln-keys");
    if (!box) return;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", !command(event));
    box.addEventListener("keydown", keep);
  }, true);
}
"""
_ids: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


@dataclass(frozen=True, eq=False)
class WidgetFiles:
    """The files of a widget.

    Args:
        folder: The folder with the files. The widget has its name.
        scripts: Paths relative to ``folder``, in the order in which they run.
        element: The CSS class of the elements that the scripts fill. ``None``: ``ln-NAME``.
        wide: Whether a page with this widget uses the full width of the window.
        data: Maps the name of a file of the built book to a function that returns what it holds, as
            JSON values. The scripts load the file when they need it.
        preloaded: Names of the files in ``data`` that the scripts load immediately.
    """

    folder: Path
    scripts: tuple[str, ...]
    element: str | None = None
    wide: bool = False
    data: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    preloaded: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the widget."""
        return self.folder.name

    @property
    def css_name(self) -> str:
        """The name in CSS classes and ids: ``norm-table`` for ``norm_table``."""
        return self.name.replace("_", "-")

    @property
    def js_name(self) -> str:
        """The name of the JavaScript function: ``lnNormTable`` for ``norm_table``."""
        return "ln" + self.name.title().replace("_", "")

    @property
    def selector(self) -> str:
        """The CSS selector of the widget's elements."""
        return f".{self.element or f'ln-{self.css_name}'}"

    def source(self) -> str:
        """Return all scripts, concatenated."""
        return "\n".join((self.folder / name).read_text("utf-8") for name in self.scripts)

    def book(self) -> str:
        """Return the script for the built book, with ``book.js``, if any, at the end."""
        start = self.folder / "book.js"
        return self.source() + (start.read_text("utf-8") if start.exists() else "")

    def data_script(self, name: str) -> str:
        """Return a file of :attr:`data`: a call of the function that waits for it in the page."""
        content = json.dumps(self.data[name](), separators=(",", ":"))
        return f'lnLoaded["{self.name}/{name}"]({content});\n'

    def style(self) -> str:
        """Return the widget's own style sheet, to be loaded after :data:`CONTROLS`."""
        return (self.folder / f"{self.name}.css").read_text("utf-8")

    def complete_style(self) -> str:
        """Return all styles for use outside the book: colors, controls and the widget's own."""
        return colors.css() + CONTROLS + self.style()

    def html(
        self,
        label: str,
        fallback: str,
        *,
        data: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the HTML element, with a unique id, that the scripts fill in the built book.

        Args:
            label: Its ARIA label.
            fallback: What it shows without JavaScript.
            data: The text to display, if the page itself contains it.
            options: Options of the scripts, stored as JSON.
        """
        config = (
            f' data-options="{html.escape(json.dumps(options))}"' if options is not None else ""
        )
        inside = f'<script type="text/plain">{data}</script>' if data else ""
        return (
            f'<div class="ln-{self.css_name}" id="{self.css_name}-{next(_ids[self.name])}"'
            f' role="group" aria-label="{label}"{config}>{inside}'
            f'<noscript><div class="ln-note">{fallback}</div></noscript></div>'
        )

    def live(self, start: str, what: str, **data: Any) -> Any:
        """Return the widget for a live notebook: an element and the scripts that fill it.

        Args:
            start: The JavaScript call that starts them. It can use ``root``, the element, and
                ``data``.
            what: What the widget shows, for the message that anywidget is missing.
            data: Data for the scripts.
        """
        import ipywidgets

        try:
            shown = _widget_class(self, start)(data=data)
        except ImportError:
            shown = ipywidgets.HTML(f"For {what}: pip install anywidget")
        return box([shown])

    def on(self, body: str) -> bool:
        """Return whether the HTML of a page contains this widget."""
        return any(f'class="{self.selector[1:]}{end}' in body for end in ('"', " "))

    def write(self, static: Path) -> None:
        """Write the widget's files into the ``_static`` folder of the built book."""
        folder = static / self.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.js").write_text(self.book(), "utf-8")
        (folder / f"{self.name}.css").write_text(self.style(), "utf-8")
        for name in self.data:
            (folder / name).write_text(self.data_script(name), "utf-8")


@functools.cache
def widgets() -> list[WidgetFiles]:
    """Return the files of every widget, that is, of each package with a style sheet of its name."""
    package = HERE.parent
    sheets = sorted(package.rglob("*.css"), key=lambda path: path.stem)
    folders = [path.parent for path in sheets if path.stem == path.parent.name]
    names = [".".join(folder.relative_to(package).parts) for folder in folders]
    return [importlib.import_module(f"lnbook.{name}").WEB for name in names]


def box(children: Sequence[Any]) -> Any:
    """Return a box of live widgets that keeps the keys pressed in it.

    Otherwise, in JupyterLab and Notebook, an arrow key would also select another cell, and a letter
    would run a command.
    """
    import ipywidgets

    children = list(children)
    with contextlib.suppress(ImportError):  # without anywidget no script runs
        import anywidget

        if not any(isinstance(child, anywidget.AnyWidget) for child in children):
            children.append(_keys())
    container = ipywidgets.VBox(children)
    container.add_class("ln-keys")
    return container


@functools.cache
def _keys() -> Any:
    """Build the invisible widget that runs :data:`KEYS`, once per kernel."""
    return anywidget_class("keys", "export default { render() {} };\n")()


def anywidget_class(name: str, esm: str, css: str = "", **traits: Any) -> type:
    """Return a widget class with its own anywidget id.

    A JupyterLab window keeps one style sheet per id and replaces its text. The id consists of the
    names of the module and the class, so the class name contains a hash of the widget's content.

    Args:
        name: The name of the widget.
        esm: Its JavaScript module.
        css: Its style sheet.
        **traits: State shared by kernel and page, such as ``data=traitlets.Dict()``.

    Raises:
        ImportError: If anywidget is not installed.
    """
    import anywidget

    content = hashlib.sha256(f"{esm}\0{css}".encode()).hexdigest()[:12]
    shared = {key: trait.tag(sync=True) for key, trait in traits.items()}
    members = {"__module__": "lnbook", "_esm": KEYS + esm, "_css": css, **shared}
    return type(f"{name}-{content}", (anywidget.AnyWidget,), members)


@functools.cache
def _widget_class(web: WidgetFiles, start: str) -> type:
    import traitlets

    esm = web.source() + (
        "\nlet made = 0;\nexport default { render({ model, el }) {\n"
        '  const root = document.createElement("div"), data = model.get("data");\n'
        f'  root.className = "ln-{web.css_name}";\n'
        f'  root.id = "{web.css_name}-live-" + ++made;\n'
        "  el.append(root);\n"
        f"  return {start};\n"
        "} };\n"
    )
    return anywidget_class(web.name, esm, web.complete_style(), data=traitlets.Dict())
