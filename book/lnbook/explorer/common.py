"""Argument checks and text representation of explorers and live runs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lnbook.explorer.control import Control
from lnbook.explorer.figure_spec import Picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 320  # default height of a panel in pixels


def check_accepts(owner: str, functions: dict[str, Callable], names: list[str], *args: str) -> None:
    """Raise a ``ValueError`` unless functions accept the names of the controls.

    Args:
        owner: Name of the class for the message.
        functions: The functions by their role.
        names: Names of the controls, which are passed as keyword arguments.
        *args: Names of the positional arguments.
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
    """Return a :class:`Picture`, given as such or as its parts.

    Raises:
        ValueError: If there is no description, or more than one.
    """
    if isinstance(draw, Picture) and describe is alt is None:
        return draw
    if isinstance(draw, Picture) or describe is None:
        raise ValueError(
            f"{owner}: draw must be a Picture, which includes its description and alt text, or a "
            "function with describe=; got "
            + ("a Picture and also describe or alt." if describe or alt else "no description.")
        )
    return Picture(draw, describe, alt)


def figures_of(owner: str, title: str, result: Any) -> list[Figure]:
    """Return the result of ``draw`` as a list of figures without template and with a height.

    Raises:
        ValueError: If the result is not a figure or a list of figures.
    """
    from plotly.basedatatypes import BaseFigure

    figures = list(result) if isinstance(result, list | tuple) else [result]
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
    """Set no default template, which plotly would copy into each figure."""
    from plotly.io import templates

    template, templates.default = templates.default, None
    try:
        yield
    finally:
        templates.default = template


def summary(title: str, controls: Mapping[str, Control], description: str) -> str:
    """Return the title, the values of each control and the description as plain text."""
    lines = [title]
    for c in controls.values():
        texts = c.texts if len(c.texts) <= 10 else (*c.texts[:3], "…", c.texts[-1])
        lines.append(f"  {c.label}: {' | '.join(texts)} (start: {c.texts[c.start]})")
    return "\n".join([*lines, description])
