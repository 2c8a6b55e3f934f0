"""Choices that show and hide lines with CSS alone, so that they work without JavaScript.

Each group is a set of radio buttons. A line lists the values of a group for which it is shown. A
group that it does not list has no effect on it.
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnbook.widgets.base import CONTROLS, box

SOURCE = Path(__file__).with_suffix(".css")
STYLE = SOURCE.read_text("utf-8")


@dataclass(frozen=True)
class Group:
    """A question with several options.

    Args:
        label: The question.
        options: Maps a value without spaces to the text that the reader sees.
        start: The value selected at first.
    """

    label: str
    options: Mapping[str, str]
    start: str


def shown(conditions: Mapping[str, tuple[str, ...]], chosen: Mapping[str, str]) -> bool:
    """Return whether a line is shown, by the same rule as the style sheet of :func:`rules`."""
    return all(chosen[group] in values for group, values in conditions.items())


def attributes(conditions: Mapping[str, tuple[str, ...]]) -> str:
    """Return the conditions of a line as attributes of its element.

    Example:
        >>> attributes({"batch": ("small", "large")})
        ' data-batch="small large"'
    """
    return "".join(f' data-{group}="{" ".join(values)}"' for group, values in conditions.items())


def rules(name: str, groups: Mapping[str, Group]) -> str:
    """Return the style sheet that hides lines that do not match the selection."""
    return "".join(
        f'.{name}:has([name="{name}-{group}"][value="{value}"]:checked) '
        f'[data-{group}]:not([data-{group}~="{value}"]){{display:none}}'
        for group, choice in groups.items()
        for value in choice.options
    )


def fieldsets(name: str, groups: Mapping[str, Group]) -> str:
    """Return the radio buttons."""
    return "".join(
        f"<fieldset><legend>{html.escape(choice.label)}</legend>"
        + "".join(
            f'<label><input type="radio" name="{name}-{group}" value="{value}"'
            f"{' checked' * (value == choice.start)}/><span>{html.escape(text)}</span></label>"
            for value, text in choice.options.items()
        )
        + "</fieldset>"
        for group, choice in groups.items()
    )


def card(name: str, title: str, groups: Mapping[str, Group], body: str) -> str:
    """Return a card with choices and lines, and its CSS rules. A page needs :data:`STYLE` once."""
    address = name.removeprefix("ln-")
    return (
        f"<style>{rules(name, groups)}</style>"
        f'<div class="ln-pick {name}" id="{address}" data-address="{address}" role="group"'
        f' aria-label="{html.escape(title)}">'
        f'<p class="ln-title">{html.escape(title)}</p>'
        f'<div class="ln-choices">{fieldsets(name, groups)}</div>{body}</div>'
    )


def live(body: str) -> Any:
    """Build the widget for a live notebook: a card with its styles."""
    import ipywidgets

    return box([ipywidgets.HTML(f"<style>{CONTROLS}{STYLE}</style>{body}")])
