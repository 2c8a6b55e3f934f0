"""What a run is told: checked when it is made, and the same as words of a command line.

Each experiment has a frozen dataclass of its own, on top of :class:`Settings`. The command line
takes a flag for every field, and :func:`command` names what is not as usual: from settings to
words and back there is one way each, for every experiment.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

MOST = 10**9  # of anything that is counted
SEED_BITS = 63


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is chosen before a run: base class, with the checks that a ``__post_init__`` takes."""

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return ()

    def _must(self, name: str, what: str, right: bool) -> None:
        if not right:
            raise ValueError(f"Settings: {name} must be {what}, got {getattr(self, name)!r}")

    def _one_of(self, **choices: Sequence[str]) -> None:
        for name, known in choices.items():
            self._must(name, f"one of {', '.join(known)}", getattr(self, name) in known)

    def _whole(self, *names: str, least: int = 1) -> None:
        for name in names:
            right = _is_whole(value := getattr(self, name)) and least <= value <= MOST
            self._must(name, f"a whole number from {least} to {MOST:,}", right)

    def _number(self, name: str, what: str, right: Callable[[float], bool]) -> None:
        value = getattr(self, name)
        self._must(name, what, _is_number(value) and right(value))
        # 1 and -0.0 are 1.0 and 0.0: equal settings have one name, and one command.
        object.__setattr__(self, name, float(value) + 0.0)

    def _positive(self, *names: str) -> None:
        for name in names:
            self._number(name, "a positive number", lambda value: value > 0)

    def _not_negative(self, *names: str) -> None:
        for name in names:
            self._number(name, "a number from 0", lambda value: value >= 0)

    def _several(self, name: str, what: str, right: Callable[[tuple], bool]) -> None:
        value = getattr(self, name)
        self._must(name, what, isinstance(value, list | tuple) and right(value))
        object.__setattr__(self, name, tuple(value))

    def _betas(self, name: str) -> None:
        self._several(
            name,
            "two numbers from 0 to below 1, such as (0.9, 0.999)",
            lambda betas: len(betas) == 2 and all(_is_number(b) and 0 <= b < 1 for b in betas),
        )
        object.__setattr__(self, name, tuple(float(b) + 0.0 for b in getattr(self, name)))

    def _widths(self, name: str) -> None:
        self._several(
            name,
            "widths from 1, one for each hidden layer, such as (100, 100)",
            lambda widths: widths and all(_is_whole(w) and 1 <= w <= MOST for w in widths),
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # Python compares an int of any length with a float exactly; NaN is smaller than nothing.
    number = isinstance(value, float) or _is_whole(value)
    return number and abs(value) <= sys.float_info.max


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
    if len(data := {chosen.data for chosen in settings}) > 1:
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
    if value is True:
        return [flag(name)]
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


def command(experiment: str, settings: Settings, seed: int, *always: str) -> list[str]:
    """Return the words that repeat a run, but for where it runs and where its record goes.

    Args:
        experiment: As the command line calls it.
        settings: Of the run.
        seed: Of the run.
        *always: Settings to name in any case; the others where they are not as usual.
    """
    usual = type(settings)(**{name: getattr(settings, name) for name in always})
    said = [
        words(field.name, value)
        for field in dataclasses.fields(settings)
        if (value := getattr(settings, field.name)) != getattr(usual, field.name)
        or field.name in always
    ]
    start = ["python", "-m", "lnlib", "replay", experiment]
    return [*start, *itertools.chain(*said), "--seeds", str(seed)]
