"""What a widget brings to a page: its scripts and its look, files of its own folder.

A widget is a package, Python and JavaScript together, with a style sheet of its name and a ``WEB``.
The built book finds them all: it writes ``_static/NAME/NAME.js`` and ``NAME.css``, and a page that
has such an element loads them. A live notebook gets the same files where it runs scripts at all.
"""

from __future__ import annotations

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
#: The look of buttons, choices, sliders and tables, which all widgets share.
CONTROLS = (HERE / "controls.css").read_text("utf-8")
# Which keys a box of widgets keeps: all but commands such as Ctrl+S and Shift+Enter. Notebook 7
# decides before any element hears of a key, by an attribute of the one that has the focus.
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
        folder: Where the files lie; its name is the widget's.
        scripts: In the order in which they run, from that folder.
        element: The class of the element that they bring to life. ``None``: ``ln-NAME``.
        wide: Whether a page that has it is as wide as the window allows.
        data: From the name of a file of the built book to a function that returns its content;
            the scripts ask for it when it is needed.
        preloaded: The names of those that the scripts ask for as soon as they run.
    """

    folder: Path
    scripts: tuple[str, ...]
    element: str | None = None
    wide: bool = False
    data: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    preloaded: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the widget."""
        return self.folder.name

    @property
    def css_name(self) -> str:
        """Its name in classes and ids: ``norm-table`` for ``norm_table``."""
        return self.name.replace("_", "-")

    @property
    def js_name(self) -> str:
        """The name of its function in JavaScript: ``lnNormTable`` for ``norm_table``."""
        return "ln" + self.name.title().replace("_", "")

    @property
    def selector(self) -> str:
        """What finds its elements in a page, as ``querySelector`` takes it."""
        return f".{self.element or f'ln-{self.css_name}'}"

    def source(self) -> str:
        """Return all scripts in a row, as one page needs them."""
        return "\n".join((self.folder / name).read_text("utf-8") for name in self.scripts)

    def book(self) -> str:
        """Return the built book's script: ``book.js``, if there is one, starts the others."""
        start = self.folder / "book.js"
        return self.source() + (start.read_text("utf-8") if start.exists() else "")

    def style(self) -> str:
        """Return its own look, which comes after :data:`CONTROLS`."""
        return (self.folder / f"{self.name}.css").read_text("utf-8")

    def whole_style(self) -> str:
        """Return all that its look needs outside the book: colors, controls and its own."""
        return colors.css() + CONTROLS + self.style()

    def html(
        self,
        label: str,
        without: str,
        *,
        data: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Return an element of the built book, which the scripts fill, with an id of its own.

        Args:
            label: What it is, for a screen reader.
            without: What stands there without JavaScript.
            data: What it shows, in text, if it lies in the page.
            options: What the scripts are given.
        """
        config = (
            f' data-options="{html.escape(json.dumps(options))}"' if options is not None else ""
        )
        inside = f'<script type="text/plain">{data}</script>' if data else ""
        return (
            f'<div class="ln-{self.css_name}" id="{self.css_name}-{next(_ids[self.name])}"'
            f' role="group" aria-label="{label}"{config}>{inside}'
            f'<noscript><p class="ln-note">{without}</p></noscript></div>'
        )

    def live(self, start: str, what: str, **data: Any) -> Any:
        """Return the widget of a live notebook: an element, and the scripts that start it.

        Args:
            start: What starts them, in JavaScript: of ``root``, the element, and ``data``.
            what: The element in words, to say that it needs anywidget.
            data: What the scripts are given.
        """
        import ipywidgets

        try:
            shown = _widget_class(self, start)(data=data)
        except ImportError:
            shown = ipywidgets.HTML(f"For {what}: pip install anywidget")
        return box([shown])

    def on(self, body: str) -> bool:
        """Say whether a page has such an element."""
        return any(f'class="{self.selector[1:]}{end}' in body for end in ('"', " "))

    def write(self, static: Path) -> None:
        """Write the files of the built book."""
        folder = static / self.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.js").write_text(self.book(), "utf-8")
        (folder / f"{self.name}.css").write_text(self.style(), "utf-8")
        for name, content in self.data.items():
            (folder / name).write_text(content(), "utf-8")


@functools.cache
def widgets() -> list[WidgetFiles]:
    """Return the files of every widget: of each package with a style sheet of its name."""
    package = HERE.parent
    sheets = sorted(package.rglob("*.css"), key=lambda path: path.stem)
    folders = [path.parent for path in sheets if path.stem == path.parent.name]
    names = [".".join(folder.relative_to(package).parts) for folder in folders]
    return [importlib.import_module(f"lnbook.{name}").WEB for name in names]


def box(children: Sequence[Any]) -> Any:
    """Return a box of live widgets that keeps the keys that are pressed in it.

    In JupyterLab and Notebook an arrow key would also move to another cell, a letter run a command.
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
    """Build the invisible widget that brings :data:`KEYS`, once a kernel."""
    return anywidget_class("keys", "export default { render() {} };\n")()


def anywidget_class(name: str, esm: str, css: str = "", **traits: Any) -> type:
    """Return a class of widgets with an anywidget id of its own.

    A JupyterLab window keeps one style sheet per id and replaces its text, and the id is made from
    the names of module and class. So the class is named after the widget and what it consists of.

    Args:
        name: The name of the widget.
        esm: Its JavaScript module.
        css: Its style sheet.
        **traits: What kernel and page share, such as ``data=traitlets.Dict()``.

    Raises:
        ImportError: If anywidget is missing.
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
    return anywidget_class(web.name, esm, web.whole_style(), data=traitlets.Dict())
