"""What a run is told: a dataclass whose types say all that is to be known of it.

Each experiment has a frozen dataclass of its own, on top of :class:`Settings`. A field's type says
what it may be (:data:`Count`, :data:`Positive`, a ``Literal`` …) and its entry in the docstring
what it means. From these two come the checks, the flags of the command line with their help, the
names of records and the command that repeats a run: nothing says them a second time.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal

from lnlab.messages import suggestion

MOST = 10**9  # of anything that is counted
MOST_POINTS = 10_000  # of a curve within one epoch
SEED_BITS = 63


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a setting may be.

    Args:
        what: In words, after "must be".
        right: Whether a value is one of these.
        made: From such a value to the one that is kept: equal settings have one name.
        choices: All there are, where they can be listed.
        several: Whether it is several words of a command line.
    """

    what: str
    right: Callable[[Any], bool]
    made: Callable[[Any], Any] = lambda value: value
    choices: tuple[str, ...] = ()
    several: bool = False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # Python compares an int of any length with a float exactly; NaN is smaller than nothing.
    number = isinstance(value, float) or _is_whole(value)
    return number and abs(value) <= sys.float_info.max


def _float(value: float) -> float:
    return float(value) + 0.0  # 1 and -0.0 are 1.0 and 0.0


def whole(least: int, most: int = MOST) -> Kind:
    """Whole numbers from ``least`` to ``most``, by default a billion."""
    return Kind(
        f"a whole number from {least} to {most:,}",
        lambda value: _is_whole(value) and least <= value <= most,
    )


def number(what: str, right: Callable[[float], bool] = lambda value: True) -> Kind:
    """Finite numbers for which ``right`` is true."""
    return Kind(what, lambda value: _is_number(value) and right(value), _float)


def several(
    what: str, right: Callable[[tuple], bool], one: Callable[[Any], Any] = lambda value: value
) -> Kind:
    """Lists and tuples for which ``right`` is true; ``one`` makes each of their values."""
    return Kind(
        what,
        lambda value: isinstance(value, list | tuple) and right(tuple(value)),
        lambda value: tuple(map(one, value)),
        several=True,
    )


Count = Annotated[int, whole(1)]
Points = Annotated[int, whole(1, MOST_POINTS)]
Positive = Annotated[float, number("a positive number", lambda value: value > 0)]
NotNegative = Annotated[float, number("a number from 0", lambda value: value >= 0)]
Fraction = Annotated[float, number("a number from 0 to 1", lambda value: 0 <= value <= 1)]
Finite = Annotated[float, number("a finite number")]
Betas = Annotated[
    tuple[float, float],
    several(
        "two numbers from 0 to below 1, such as (0.9, 0.999)",
        lambda betas: len(betas) == 2 and all(_is_number(b) and 0 <= b < 1 for b in betas),
        _float,
    ),
]
Widths = Annotated[
    tuple[int, ...],
    several(
        "widths from 1, one for each hidden layer, such as (100, 100)",
        lambda widths: widths and all(_is_whole(w) and 1 <= w <= MOST for w in widths),
    ),
]


def kind(annotation: Any) -> Kind:
    """Return what a type says that a setting may be.

    Raises:
        TypeError: If it says too little to check a value.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return next(part for part in arguments if isinstance(part, Kind))
    if origin is Literal:
        return Kind(
            f"one of {', '.join(arguments)}",
            lambda value: isinstance(value, str) and value in arguments,
            choices=arguments,
        )
    if annotation is bool:
        return Kind("True or False", lambda value: isinstance(value, bool))
    if origin in (typing.Union, types.UnionType) and type(None) in arguments:
        (other,) = (part for part in arguments if part is not type(None))
        inner = kind(other)
        return dataclasses.replace(
            inner,
            what=f"{inner.what}, or none",
            right=lambda value: value is None or inner.right(value),
            made=lambda value: None if value is None else inner.made(value),
        )
    raise TypeError(
        f"a setting's type must be a Literal, bool, or one of lnlab.config that says which "
        f"values are right, such as Count or Positive, got {annotation}"
    )


@functools.cache
def kinds(cls: type[Settings]) -> dict[str, Kind]:
    """Return what each field of a settings class may be, in the order of the fields."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: kind(hints[field.name]) for field in dataclasses.fields(cls)}


@functools.cache
def manual(cls: type[Settings]) -> dict[str, str]:
    """Return what the docstring of a settings class, and those it is built on, say of each field.

    Raises:
        TypeError: If a field has no entry.
    """
    told: dict[str, str] = {}
    for part in reversed(cls.__mro__):
        arguments = inspect.cleandoc(part.__doc__ or "").partition("Args:")[2]
        for entry in re.finditer(r"^    (\w+): (.*(?:\n     .*)*)", arguments, re.M):
            text = " ".join(entry[2].split())
            told[entry[1]] = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")
    if silent := [name for name in kinds(cls) if name not in told]:
        raise TypeError(
            f"the docstring of {cls.__module__}.{cls.__name__} must have a sentence for each field "
            f"under 'Args:', it has none for {', '.join(silent)}"
        )
    return told


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is chosen before a run: base class, which checks every field by its type.

    A setting that is younger than some records of its experiment is named in ``added``. Its
    default, ``None``, is what was done before, and is left out of records and names.
    """

    added: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be run; a subclass adds what its fields must be together."""
        for name, of in kinds(type(self)).items():
            value = getattr(self, name)
            near = suggestion(value, of.choices) if isinstance(value, str) else ""
            self._must(name, of.what, of.right(value), near)
            object.__setattr__(self, name, of.made(getattr(self, name)))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        values = {k: v for k, v in vars(self).items() if not (v is None and k in self.added)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return ()

    def _must(self, name: str, what: str, right: bool, advice: str = "") -> None:
        if not right:
            got = repr(getattr(self, name))
            raise ValueError(f"Settings: {name} must be {what}, got {got}{advice}")

    def _default(self, name: str, value: Any) -> None:
        """Give a setting its value where it is ``None``: one that depends on the others."""
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)


def check_runs(settings: Iterable[Settings], seeds: Iterable[int]) -> None:
    """Refuse runs that cannot be asked for together, before one of them takes hours.

    Raises:
        ValueError: If a seed is none, two runs are the same, or two want other data.
    """
    for seed in seeds:
        if not (_is_whole(seed) and 0 <= seed < 2**SEED_BITS):
            raise ValueError(
                f"record_runs: seeds must be whole numbers from 0 to 2**{SEED_BITS} - 1, "
                f"got {seed!r}"
            )
    check_different("record_runs: seeds", seeds)
    check_different("record_runs: settings", settings)
    if len(data := {one.data for one in settings}) > 1:
        raise ValueError(
            f"record_runs: settings must share one data set, got {', '.join(sorted(data))}; "
            "start the runs of each by themselves"
        )


def check_different(name: str, values: Iterable[Any]) -> None:
    """Refuse a value that comes twice: the second run would overwrite the record of the first."""
    seen: list[Any] = []
    for value in values:
        if value in seen:
            raise ValueError(f"{name} must differ, got {value!r} twice; give it once")
        seen.append(value)


def flag(name: str) -> str:
    """Return how the command line calls a setting.

    Example:
        >>> flag("batch_size")
        '--batch-size'
    """
    return f"--{name.replace('_', '-')}"


def words(name: str, value: Any) -> list[str]:
    """Return a flag and its value as words of a command line; :func:`typed` reads them back.

    Example:
        >>> words("gain", -1e-5), words("hidden", (20, 10)), words("held_out", True)
        (['--gain=-1e-05'], ['--hidden', '20', '10'], ['--held-out'])
    """
    if isinstance(value, bool):
        return [flag(name) if value else flag(f"no_{name}")]
    # repr of a float is the shortest text that reads back as the same number.
    texts = ["none" if v is None else str(v) for v in (value if type(value) is tuple else [value])]
    if texts[0].startswith("-"):  # or it would look like a flag
        return [f"{flag(name)}={texts[0]}", *texts[1:]]
    return [flag(name), *texts]


def typed(text: str) -> int | float | str | None:
    """Read one word as a number where it is one; what it must be, the settings say.

    Example:
        >>> [typed(text) for text in ("20", "1e-3", "none", "two")]
        [20, 0.001, None, 'two']
    """
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None if text == "none" else text
