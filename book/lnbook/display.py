"""How objects are displayed: as HTML in the built book, as widgets where there is a kernel."""

import os
from typing import Any, ClassVar


class Displayed:
    """Base class of objects that have ``to_html`` and ``widget``; their ``repr`` is plain text."""

    #: Text that follows the ``repr`` if ipywidgets is not installed.
    missing: ClassVar[str] = "\n(For the figure and its controls: pip install ipywidgets anywidget)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the content by MIME type: HTML while a book is built, otherwise the widget."""
        out = {"text/plain": repr(self)}
        if os.environ.get("LNLIB_STATIC") == "1":
            return out | {"text/html": self.to_html()}
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            out["text/plain"] += self.missing
            return out
        return self.widget()._repr_mimebundle_() | out


def wrapped() -> Any:
    """Return a layout that puts widgets side by side and wraps them on narrow screens."""
    import ipywidgets as widgets

    return widgets.Layout(flex_flow="row wrap", width="100%")


def explained(error: Exception | None) -> str:
    """Describe an error in one sentence."""
    return f"{type(error).__name__}: {error}"
