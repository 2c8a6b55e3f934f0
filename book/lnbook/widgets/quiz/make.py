"""The functions that create questions: :func:`choose`, :func:`number` and :func:`order`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lnbook.widgets.quiz.questions import Choose, Number, Order, near


def choose(text: str, options: Mapping[str, str], *, answer: str) -> Choose:
    """Create a multiple-choice question.

    Args:
        text: The question. In it and in the explanations, `` `code` `` and ``*emphasis*`` are the
            only markup.
        options: Maps each option to the explanation that is shown for it: why it is right, or which
            misconception is behind it. A leading "Yes." or "No:" is removed, because the verdict
            precedes it.
        answer: The right option.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, there are fewer than two options, or
            ``answer`` is not among them.

    Example:
        >>> choose("Is 2 even?", {"Yes": "Twice 1.", "No": "It is *not* odd."}, answer="Yes").answer
        0
    """
    filled("choose", "text", text)
    pairs = tuple(
        (
            filled("choose", f"an option of {text!r}", option),
            explanation("choose", f"the explanation of {option!r}", why),
        )
        for option, why in options.items()
    )
    if len(pairs) < 2:
        raise ValueError(f"choose: options of {text!r} must be two or more, got {len(pairs)}.")
    if answer not in options:
        raise ValueError(
            f"choose: answer of {text!r} must be one of its options {tuple(options)}, "
            f"got {answer!r}."
        )
    return Choose(text, pairs, list(options).index(answer))


def number(
    text: str,
    answer: float,
    *,
    why: str,
    hint: str,
    atol: float = 0.0,
    misconceptions: Mapping[float, str] | None = None,
    unit: str = "",
) -> Number:
    """Create a question for a number.

    Args:
        text: The question.
        answer: The right answer.
        why: Explains the answer.
        hint: A hint for any answer that is neither right nor in ``misconceptions``.
        atol: Absolute tolerance of the right answer and of each wrong one.
        misconceptions: Maps a wrong number to the explanation of the misconception behind it.
        unit: The unit, shown next to the field; the reader may omit it.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, a number is not finite, ``atol`` is
            negative, or a wrong number would count as right.

    Example:
        >>> half = number("Half of 1?", 0.5, why="1 / 2.", hint="Divide by 2.")
        >>> half.judge("1/2"), half.judge("0,5"), half.judge("a lot")
        ((True, '1 / 2.'), (True, '1 / 2.'), None)
    """
    filled("number", "text", text)
    answer, atol = finite("answer", text, answer), finite("atol", text, atol)
    if atol < 0:
        raise ValueError(f"number: atol of {text!r} must not be negative, got {atol:g}.")
    pairs = tuple(
        (
            finite("misconceptions", text, value),
            explanation("number", f"the explanation of {value!r}", why_),
        )
        for value, why_ in (misconceptions or {}).items()
    )
    for value, _ in pairs:
        if near(value, answer, atol):
            raise ValueError(
                f"number: misconceptions of {text!r} has {value:g}, which counts as right: the "
                f"answer is {answer:g}, within {atol:g}."
            )
    why = explanation("number", f"why of {text!r}", why)
    hint = explanation("number", f"hint of {text!r}", hint)
    return Number(text, answer, atol, why, pairs, hint, unit)


def order(
    text: str,
    items: Sequence[str],
    *,
    why: str,
    hint: str,
    misconceptions: Mapping[Sequence[str], str] | None = None,
) -> Order:
    """Create a question in which items have to be put in order.

    Args:
        text: The question, which says which end is first.
        items: The items in the right order. They are shown shuffled, the same way in every build.
        why: Explains the order.
        hint: A hint for any order that is neither right nor in ``misconceptions``.
        misconceptions: Maps a tuple of all items in a wrong order to the explanation of the
            misconception behind it.

    Returns:
        The question, for :class:`Quiz`.

    Raises:
        ValueError: If a text or an explanation is empty, there are fewer than two items or one
            occurs twice, or an order in ``misconceptions`` is the right one or lacks an item.

    Example:
        >>> order("Smallest first.", ["1", "2"], why="1 < 2.", hint="Count.").start
        (1, 0)
    """
    filled("order", "text", text)
    items = tuple(filled("order", f"an item of {text!r}", item) for item in items)
    if len(items) < 2 or len(set(items)) < len(items):
        raise ValueError(f"order: items of {text!r} must be two or more, all different: {items}.")
    pairs = []
    for wrong_order, what in (misconceptions or {}).items():
        if (
            isinstance(wrong_order, str)
            or sorted(wrong_order) != sorted(items)
            or tuple(wrong_order) == items
        ):
            raise ValueError(
                f"order: misconceptions of {text!r} must have every item, as a tuple in another "
                f"order than the right one {items}, got {wrong_order!r}."
            )
        indices = tuple(items.index(item) for item in wrong_order)
        pairs.append((indices, explanation("order", f"the explanation of {wrong_order!r}", what)))
    why = explanation("order", f"why of {text!r}", why)
    hint = explanation("order", f"hint of {text!r}", hint)
    return Order(text, items, why, tuple(pairs), hint)


def filled(owner: str, what: str, text: Any) -> str:
    """Return ``text`` if it is a string that is not empty; raise a ``ValueError`` otherwise."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{owner}: {what} must be a nonempty string, got {text!r}.")
    return text


def explanation(owner: str, what: str, text: Any) -> str:
    """Return an explanation without a verdict at its beginning."""
    text = filled(owner, what, text).strip()
    rest = re.sub(r"^(yes|no|right|correct|wrong|not yet)[.:!]\s+", "", text, flags=re.I)
    return rest[0].upper() + rest[1:] if rest != text and re.match("[a-z]{2}", rest) else rest


def finite(name: str, text: str, value: Any) -> float:
    """Convert to a float; raise a ``ValueError`` if it is not finite."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"number: {name} of {text!r} must be a finite number.")
    return value
