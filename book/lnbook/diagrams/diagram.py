"""The class of the diagrams: the same HTML in a notebook and in the built book."""

import functools
import html
import itertools
from pathlib import Path
from typing import Any

from lnbook.diagrams.svg import spoken
from lnbook.display import Displayed
from lnbook.widgets.base import WidgetFiles, anywidget_class, box

WEB = WidgetFiles(Path(__file__).parent, ("diagrams.js",), element="ln-diagram")
_ids = itertools.count(1)


class Diagram(Displayed):
    """A diagram with a description, the same in a notebook and in the built book.

    Args:
        kind: A CSS class in ``diagrams.css``, which ``diagrams.js`` uses to identify the diagram.
        title: The title of the card.
        body: HTML of the content; ``{id}`` is replaced by a unique id.
        description: One sentence, used as the text of the diagram.
    """

    def __init__(self, kind: str, title: str, body: str, description: str) -> None:
        self.kind, self.title, self.body, self.description = kind, title, body, description

    def to_html(self) -> str:
        """Return a ``<div>``."""
        uid = f"diagram-{next(_ids)}"
        return (
            f'<div class="ln-diagram {self.kind}" id="{uid}" data-address="{uid}" role="group"'
            f' aria-labelledby="{uid}-title"><p class="ln-diagram-title" id="{uid}-title">'
            f"{html.escape(self.title)}</p>{self.body.replace('{id}', uid)}</div>"
        )

    def widget(self) -> Any:
        """Return the widget for a live notebook."""
        import ipywidgets

        try:
            shown = _widget_class()(html=self.to_html())
        except ImportError:  # not interactive, but complete
            shown = ipywidgets.HTML(f"<style>{_style()}</style>{self.to_html()}")
        return box([shown])

    def __repr__(self) -> str:
        return f"{self.title}. {spoken(self.description)}"


def _style() -> str:
    return WEB.complete_style()


@functools.cache
def _widget_class() -> type:
    import traitlets

    esm = WEB.source() + (
        "\nexport default { render({ model, el }) {\n"
        '  el.innerHTML = model.get("html");\n'
        "  lnDiagram(el.firstElementChild);\n"
        "} };\n"
    )
    return anywidget_class(WEB.name, esm, _style(), html=traitlets.Unicode())
