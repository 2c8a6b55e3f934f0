"""The settings of a run: frozen dataclasses whose field types define the allowed values.

Each experiment has a frozen dataclass that inherits from :class:`Settings`. The type of a field
(:data:`Count`, :data:`Positive`, a ``Literal`` …) defines its allowed values; its entry in the
docstring describes it. Validation, command-line flags and their help, the names of records and the
command that repeats a run are all derived from these two.
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

MAX_INTEGER = 10**9  # the largest integer that a setting may have
MAX_POINTS = 10_000  # the most measuring points within one epoch
SEED_BITS = 63


@dataclasses.dataclass(frozen=True)
class FieldSpec:
    """The allowed values of a setting.

    Args:
        description: The allowed values in words, to follow "must be" in an error message.
        is_valid: Returns whether a value is allowed.
        normalize: Converts an allowed value to its stored form, so that equal settings compare
            equal and get the same record name.
        choices: All allowed values, if there are finitely many.
        multiple: Whether the setting takes several words of a command line.
    """

    description: str
    is_valid: Callable[[Any], bool]
    normalize: Callable[[Any], Any] = lambda value: value
    choices: tuple[str, ...] = ()
    multiple: bool = False


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # Python compares an int of any size with a float exactly; every comparison with NaN is False.
    number = isinstance(value, float) or _is_integer(value)
    return number and abs(value) <= sys.float_info.max


def _float(value: float) -> float:
    return float(value) + 0.0  # adding 0.0 turns -0.0 into 0.0


def integer(minimum: int, maximum: int = MAX_INTEGER) -> FieldSpec:
    """Integers from ``minimum`` to ``maximum``, by default a billion."""
    return FieldSpec(
        f"a whole number from {minimum} to {maximum:,}",
        lambda value: _is_integer(value) and minimum <= value <= maximum,
    )


def number(description: str, is_valid: Callable[[float], bool] = lambda value: True) -> FieldSpec:
    """Finite numbers for which ``is_valid`` returns True."""
    return FieldSpec(description, lambda value: _is_number(value) and is_valid(value), _float)


def tuple_of(
    description: str,
    is_valid: Callable[[tuple], bool],
    normalize_item: Callable[[Any], Any] = lambda value: value,
) -> FieldSpec:
    """Lists and tuples for which ``is_valid`` returns True, stored as tuples."""
    return FieldSpec(
        description,
        lambda value: isinstance(value, list | tuple) and is_valid(tuple(value)),
        lambda value: tuple(map(normalize_item, value)),
        multiple=True,
    )


Count = Annotated[int, integer(1)]
Points = Annotated[int, integer(1, MAX_POINTS)]
Positive = Annotated[float, number("a positive number", lambda value: value > 0)]
NotNegative = Annotated[float, number("a number from 0", lambda value: value >= 0)]
Fraction = Annotated[float, number("a number from 0 to 1", lambda value: 0 <= value <= 1)]
Finite = Annotated[float, number("a finite number")]
Betas = Annotated[
    tuple[float, float],
    tuple_of(
        "two numbers from 0 to below 1, such as (0.9, 0.999)",
        lambda betas: len(betas) == 2 and all(_is_number(b) and 0 <= b < 1 for b in betas),
        _float,
    ),
]
Widths = Annotated[
    tuple[int, ...],
    tuple_of(
        "widths from 1, one for each hidden layer, such as (100, 100)",
        lambda widths: widths and all(_is_integer(w) and 1 <= w <= MAX_INTEGER for w in widths),
    ),
]


def field_spec(annotation: Any) -> FieldSpec:
    """Return the allowed values of a setting, read from its type annotation.

    Raises:
        TypeError: If the annotation does not define which values are allowed.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return next(part for part in arguments if isinstance(part, FieldSpec))
    if origin is Literal:
        return FieldSpec(
            f"one of {', '.join(arguments)}",
            lambda value: isinstance(value, str) and value in arguments,
            choices=arguments,
        )
    if annotation is bool:
        return FieldSpec("True or False", lambda value: isinstance(value, bool))
    if origin in (typing.Union, types.UnionType) and type(None) in arguments:
        (inner_type,) = (part for part in arguments if part is not type(None))
        inner = field_spec(inner_type)
        return dataclasses.replace(
            inner,
            description=f"{inner.description}, or none",
            is_valid=lambda value: value is None or inner.is_valid(value),
            normalize=lambda value: None if value is None else inner.normalize(value),
        )
    raise TypeError(
        f"the type of a setting must be a Literal, bool, or a type of lnlab.config that defines "
        f"the allowed values, such as Count or Positive, got {annotation}"
    )


@functools.cache
def field_specs(cls: type[Settings]) -> dict[str, FieldSpec]:
    """Return the allowed values of each field of a settings class, in the order of the fields."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: field_spec(hints[field.name]) for field in dataclasses.fields(cls)}


@functools.cache
def field_help(cls: type[Settings]) -> dict[str, str]:
    """Return the description of each field, from the docstrings of the class and its base classes.

    Raises:
        TypeError: If a field is not described.
    """
    descriptions: dict[str, str] = {}
    for part in reversed(cls.__mro__):
        arguments = inspect.cleandoc(part.__doc__ or "").partition("Args:")[2]
        for entry in re.finditer(r"^    (\w+): (.*(?:\n     .*)*)", arguments, re.M):
            text = " ".join(entry[2].split())
            descriptions[entry[1]] = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")
    if missing := [name for name in field_specs(cls) if name not in descriptions]:
        raise TypeError(
            f"the docstring of {cls.__module__}.{cls.__name__} must describe each field "
            f"under 'Args:', it does not describe {', '.join(missing)}"
        )
    return descriptions


@dataclasses.dataclass(frozen=True)
class Settings:
    """Base class of the settings of a run; checks every field against its type.

    ``added`` names the settings that older records of the experiment lack. Their default, ``None``,
    stands for the behavior before they were added, and is left out of records and file names.

    Args:
        epochs: Number of passes over the training examples.
        updates_per_epoch: Number of updates per epoch; the run is evaluated after each epoch.
        batch_size: Number of examples per update; a last, smaller batch of an epoch is dropped.
        clip: Maximum Euclidean norm of the gradient over all parameters, as in ``clip_grad_norm_``.
            ``None`` disables clipping.
        gain: Initial value of the gains of layer norm.
        eps: Constant added to the variance in layer norm; the paper's equations have no such
            constant.
        momentum: Weight of the newest batch in batch norm's running averages.
        adam_betas: Decay rates of Adam's running averages of the gradient and of its square.
        adam_eps: Constant added to the denominator of Adam's update for numerical stability.
        first_epoch_points: Number of measurements within the first epoch.

    Experiments that have these settings need not describe them again.
    """

    added: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Check and normalize every field; a subclass adds checks that involve several fields."""
        for name, spec in field_specs(type(self)).items():
            value = getattr(self, name)
            hint = suggestion(value, spec.choices) if isinstance(value, str) else ""
            self._must(name, spec.description, spec.is_valid(value), hint)
            object.__setattr__(self, name, spec.normalize(value))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as values that JSON can represent."""
        values = {k: v for k, v in vars(self).items() if not (v is None and k in self.added)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run: those of norms that it lacks."""
        norm = getattr(self, "norm", "")
        idle = {"eps": norm == "none", "momentum": "batch" not in norm}
        return tuple(name for name, is_idle in idle.items() if is_idle and hasattr(self, name))

    def _must(self, name: str, description: str, is_valid: bool, hint: str = "") -> None:
        if not is_valid:
            got = repr(getattr(self, name))
            raise ValueError(f"Settings: {name} must be {description}, got {got}{hint}")

    def _must_be_omitted(self, name: str, reason: str) -> None:
        """Check that a setting that would have no effect has its default value."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        self._must(name, f"omitted {reason}", getattr(self, name) == defaults[name])

    def _default(self, name: str, value: Any) -> None:
        """Set a field that is ``None`` to a default that depends on the other settings."""
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)


def check_runs(settings: Iterable[Settings], seeds: Iterable[int]) -> None:
    """Check that runs can be recorded together, before any of them starts.

    Raises:
        ValueError: If a seed is not valid, two runs are equal, or two runs use different data sets.
    """
    for seed in seeds:
        if not (_is_integer(seed) and 0 <= seed < 2**SEED_BITS):
            raise ValueError(
                f"record_runs: seeds must be whole numbers from 0 to 2**{SEED_BITS} - 1, "
                f"got {seed!r}"
            )
    check_different("record_runs: seeds", seeds)
    check_different("record_runs: settings", settings)
    if len(data := {run_settings.data for run_settings in settings}) > 1:
        raise ValueError(
            f"record_runs: settings must share one data set, got {', '.join(sorted(data))}; "
            "start the runs of each by themselves"
        )


def check_different(name: str, values: Iterable[Any]) -> None:
    """Raise if a value occurs twice: the second run would overwrite the record of the first."""
    unique: list[Any] = []
    for value in values:
        if value in unique:
            raise ValueError(f"{name} must differ, got {value!r} twice; give it once")
        unique.append(value)


def flag(name: str) -> str:
    """Return the command-line flag of a setting.

    Example:
        >>> flag("batch_size")
        '--batch-size'
    """
    return f"--{name.replace('_', '-')}"


def cli_args(name: str, value: Any) -> list[str]:
    """Return a flag and its value as command-line words, which :func:`parse_word` reads back.

    Example:
        >>> cli_args("gain", -1e-5), cli_args("hidden", (20, 10)), cli_args("held_out", True)
        (['--gain=-1e-05'], ['--hidden', '20', '10'], ['--held-out'])
    """
    if isinstance(value, bool):
        return [flag(name) if value else flag(f"no_{name}")]
    # str of a float is the shortest text that parses to the same number.
    texts = ["none" if v is None else str(v) for v in (value if type(value) is tuple else [value])]
    if texts[0].startswith("-"):  # or it would look like a flag
        return [f"{flag(name)}={texts[0]}", *texts[1:]]
    return [flag(name), *texts]


def parse_word(text: str) -> int | float | str | None:
    """Convert a command-line word to a number or None where possible; settings validate it later.

    Example:
        >>> [parse_word(text) for text in ("20", "1e-3", "none", "two")]
        [20, 0.001, None, 'two']
    """
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return None if text == "none" else text
