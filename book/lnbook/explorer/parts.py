"""What an explorer and a live run share: the checks of their arguments, their text."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lnbook.explorer.control import Control
from lnbook.explorer.figure_spec import Picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 320  # pixels, of a panel that does not say


def check_accepts(owner: str, functions: dict[str, Callable], names: list[str], *args: str) -> None:
    """Check that functions take the values of the controls by name.

    Raises:
        ValueError: If one does not.
    """
    for role, function in functions.items():
        try:
            inspect.signature(function).bind(*args, **dict.fromkeys(names))
        except TypeError as error:
            raise ValueError(
                f"{owner}: {role} must accept ({', '.join([*args, *names])}), the names of the "
                f"controls; {error}."
            ) from None


def picture_of(
    owner: str, draw: Any, describe: Callable[..., str] | None, alt: str | None
) -> Picture:
    """Return the picture, given whole or as its parts.

    Raises:
        ValueError: If the drawing has no sentence, or two.
    """
    if isinstance(draw, Picture) and describe is alt is None:
        return draw
    if isinstance(draw, Picture) or describe is None:
        raise ValueError(
            f"{owner}: draw must be a Picture, which has its sentence and its alt text, or a "
            "function with describe= beside it; got "
            + ("a Picture and another sentence or alt text." if describe or alt else "no sentence.")
        )
    return Picture(draw, describe, alt)


def figures_of(owner: str, title: str, drawn: Any) -> list[Figure]:
    """Return what ``draw`` returned as figures, with what it left open filled in.

    Raises:
        ValueError: If it is something else.
    """
    from plotly.basedatatypes import BaseFigure

    figures = list(drawn) if isinstance(drawn, list | tuple) else [drawn]
    for i, figure in enumerate(figures):
        if not isinstance(figure, BaseFigure):
            where = f" at place {i}" if len(figures) > 1 else ""
            raise ValueError(
                f"{owner}: draw of {title!r} must return a plotly figure or a list of them, "
                f"got {type(figure).__name__}{where}."
            )
        figure.layout.template = None
        figure.layout.height = figure.layout.height or HEIGHT
    return figures


@contextlib.contextmanager
def no_template() -> Iterator[None]:
    """Keep plotly from copying its template into each figure; :func:`figures_of` takes it off."""
    from plotly.io import templates

    template, templates.default = templates.default, None
    try:
        yield
    finally:
        templates.default = template


def summary(head: str, controls: Mapping[str, Control], sentence: str) -> str:
    """Write as text: a title, the grid of each control, a sentence."""
    lines = [head]
    for c in controls.values():
        texts = c.texts if len(c.texts) <= 10 else (*c.texts[:3], "…", c.texts[-1])
        lines.append(f"  {c.label}: {' | '.join(texts)} (start: {c.texts[c.start]})")
    return "\n".join([*lines, sentence])
