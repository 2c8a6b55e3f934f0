"""Choices that show and hide lines by style alone: the same on a page without scripts.

Each group is a set of radio buttons. A line names the values of a group under which it is shown;
of a group that it does not name, every value will do.
"""

from __future__ import annotations

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
    """A question and its answers.

    Args:
        label: The question.
        options: From a word without blanks to what the reader sees.
        start: One of the words.
    """

    label: str
    options: Mapping[str, str]
    start: str


def shown(conditions: Mapping[str, tuple[str, ...]], chosen: Mapping[str, str]) -> bool:
    """Say whether a line is shown: the rule that :func:`rules` writes as a style sheet."""
    return all(chosen[group] in values for group, values in conditions.items())


def attributes(conditions: Mapping[str, tuple[str, ...]]) -> str:
    """Write a line's conditions as attributes of its element.

    Example:
        >>> attributes({"batch": ("small", "large")})
        ' data-batch="small large"'
    """
    return "".join(f' data-{group}="{" ".join(values)}"' for group, values in conditions.items())


def rules(name: str, groups: Mapping[str, Group]) -> str:
    """Write the style sheet that hides what was not chosen."""
    return "".join(
        f'.{name}:has([name="{name}-{group}"][value="{value}"]:checked) '
        f'[data-{group}]:not([data-{group}~="{value}"]){{display:none}}'
        for group, choice in groups.items()
        for value in choice.options
    )


def fieldsets(name: str, groups: Mapping[str, Group]) -> str:
    """Write the radio buttons."""
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
    """Put choices and lines into one card, with rules of its own. A page has :data:`STYLE` once."""
    address = name.removeprefix("ln-")
    return (
        f"<style>{rules(name, groups)}</style>"
        f'<div class="ln-pick {name}" id="{address}" data-address="{address}" role="group"'
        f' aria-label="{html.escape(title)}">'
        f'<p class="ln-title">{html.escape(title)}</p>'
        f'<div class="ln-choices">{fieldsets(name, groups)}</div>{body}</div>'
    )


def live(body: str) -> Any:
    """Build the widget of a live notebook: a card with its look."""
    import ipywidgets

    return box([ipywidgets.HTML(f"<style>{CONTROLS}{STYLE}</style>{body}")])
