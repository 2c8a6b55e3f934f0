"""How objects are displayed: as HTML in the built book, as widgets where there is a kernel."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["bundle", "explained", "wrapped"]


def bundle(
    displayed: Any,
    missing: str = "\n(For the figure and its controls: pip install ipywidgets anywidget)",
) -> dict:
    """Return the MIME bundle of an object that has ``to_html`` and ``widget``.

    Args:
        displayed: The object; its ``repr`` is the plain-text fallback.
        missing: Text appended to the ``repr`` if ipywidgets is not installed.

    Returns:
        Maps MIME types to content: HTML while a book is built, otherwise the widget.
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
    """Return a layout that puts widgets side by side and wraps them on narrow screens."""
    import ipywidgets as widgets

    return widgets.Layout(flex_flow="row wrap", width="100%")


def explained(error: Exception | None) -> str:
    """Describe an error in one sentence."""
    return f"{type(error).__name__}: {error}"
