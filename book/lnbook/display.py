"""How a thing is displayed: as HTML in the built book, as a widget where there is a kernel."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["bundle", "explained", "wrapped"]


def bundle(
    displayed: Any,
    missing: str = "\n(For the figure and its controls: pip install ipywidgets anywidget)",
) -> dict:
    """Return what Jupyter displays of a thing with ``to_html`` and ``widget``.

    Args:
        displayed: What is displayed; its ``repr`` stands in where nothing else can.
        missing: Follows the text where ipywidgets is missing.

    Returns:
        From MIME type to content: HTML while a book is built, else the widget.
    """
    out = {"text/plain": repr(displayed)}
    if os.environ.get("LNLIB_STATIC") == "1":
        return out | {"text/html": displayed.to_html()}
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        out["text/plain"] += missing
        return out
    return displayed.widget()._repr_mimebundle_() | out


def wrapped() -> Any:
    """Lay live widgets out side by side, on further lines where it is narrow."""
    import ipywidgets as widgets

    return widgets.Layout(flex_flow="row wrap", width="100%")


def explained(error: Exception | None) -> str:
    """Say an error in a sentence."""
    return f"{type(error).__name__}: {error}"
