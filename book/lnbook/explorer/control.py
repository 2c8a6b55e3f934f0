"""Controls of explorers: a slider over a grid of numbers, and a choice among options."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Control:
    """A control and its values, made by :func:`slider` or :func:`choice`.

    Args:
        kind: ``"slider"`` or ``"choice"``.
        label: Label of the control.
        values: Values that are passed to ``draw``.
        texts: Text of each value.
        start: Index of the initial value.
        play: Whether a button animates the slider.
        live: ``(low, high, step)`` of a finer slider if there is a kernel.
    """

    kind: str
    label: str
    values: tuple
    texts: tuple[str, ...]
    start: int
    play: bool = False
    live: tuple[float, float, float] | None = None


def slider(
    label: str,
    values: Iterable[float],
    start: float | None = None,
    *,
    text: str | Callable[[Any], str] = "{:g}",
    play: bool = False,
    live: tuple[float, float, float] | None = None,
) -> Control:
    """Return a slider over a grid of numbers.

    Args:
        label: Label with the unit, if there is one.
        values: The grid in order. The built book only has these values.
        start: Initial value, one of ``values``. ``None`` means the first.
        text: Text of a value, as a format string or a function.
        play: Whether to add a button that animates the slider.
        live: ``(low, high, step)`` of a finer grid, which is used if there is a kernel.

    Returns:
        The control, for :class:`Explorer` and :class:`LiveRun`.

    Raises:
        ValueError: If the grid is empty, or ``start`` is not in it or outside ``live``.

    Example:
        >>> slider("Batch size", range(1, 9), start=4).texts
        ('1', '2', '3', '4', '5', '6', '7', '8')
    """
    values = tuple(v.item() if hasattr(v, "item") else v for v in values)
    if not values:
        raise ValueError(f"slider: values of {label!r} must not be empty.")
    first = next((i for i, v in enumerate(values) if start is None or math.isclose(v, start)), None)
    if first is None:
        raise ValueError(
            f"slider: start of {label!r} must be one of its values {values}, got {start!r}."
        )
    if live and not live[0] <= values[first] <= live[1]:
        raise ValueError(
            f"slider: live of {label!r} must be (low, high, step) around its start "
            f"{values[first]!r}, got {live!r}."
        )
    write = text.format if isinstance(text, str) else text
    return Control("slider", label, values, tuple(map(write, values)), first, play, live)


def round_numbers(low: float, high: float, *also: float) -> list[float]:
    """Return round numbers, ten per decade, for a slider over factors.

    Args:
        low: Lower bound.
        high: Upper bound.
        *also: Further numbers to include.

    Returns:
        1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times powers of ten, and ``also``, in order.

    Example:
        >>> round_numbers(0.5, 2, 0.75)
        [0.5, 0.6, 0.75, 0.8, 1.0, 1.2, 1.5, 2.0]
    """
    digits = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    results = {float(f"{d}e{power - 1}") for power in powers for d in digits}
    return sorted({v for v in results if low <= v <= high} | set(map(float, also)))


def choice(
    label: str, options: Iterable[Any] | Mapping[str, Any], start: str | None = None
) -> Control:
    """Return a choice among options.

    Args:
        label: Label of the control.
        options: The options, or a dict from the text of each option to its value.
        start: Text of the initial option. ``None`` means the first.

    Returns:
        The control, for :class:`Explorer` and :class:`LiveRun`.

    Raises:
        ValueError: If there are no options, or ``start`` is not among them.

    Example:
        >>> choice("Norm", {"batch norm": 0, "layer norm": 1}, start="layer norm").start
        1
    """
    if not isinstance(options, Mapping):
        options = {str(option): option for option in options}
    texts = tuple(options)
    if not texts:
        raise ValueError(f"choice: options of {label!r} must not be empty.")
    if start is not None and str(start) not in texts:
        raise ValueError(
            f"choice: start of {label!r} must be one of its options {texts}, got {start!r}."
        )
    first = 0 if start is None else texts.index(str(start))
    return Control("choice", label, tuple(options.values()), texts, first)
