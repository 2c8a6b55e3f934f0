"""Recorded runs as arrays, in groups that differ only in the seed, with one curve per seed."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

Record = dict[str, Any]


class RecordedRuns:
    """Recorded runs, grouped by their settings.

    Args:
        records: Records from :func:`lnlab.records.read_all`.
        key: Returns the key of a run's group, such as its norm, given its settings.
        command: The command that records such runs, for the error message if there are none.

    Attributes:
        records: All records, sorted by seed.
        groups: Maps each key to its records, sorted by seed.

    Raises:
        ValueError: If there are no records, or if those of a group differ in other settings, have
            the same seed, or were measured at different epochs.

    Example:
        >>> records = [
        ...     {"settings": {"norm": "layer"}, "seed": seed,
        ...      "curves": {"epoch": [0, 1], "test_error": [0.9, 0.1 + seed / 100]}}
        ...     for seed in (1, 0)
        ... ]
        >>> runs = RecordedRuns(records, lambda settings: settings["norm"], "make replay")
        >>> runs.at(1.5, "layer", "test_error")  # percent, seeds 0 and 1
        array([10., 11.])
    """

    def __init__(
        self, records: Sequence[Record], key: Callable[[dict[str, Any]], Hashable], command: str
    ):
        if not records:
            raise ValueError(f"Runs: no records were given; record them with: {command}")
        self.key = key
        self._group(records)
        for group, runs in self.groups.items():
            first = runs[0]
            for r in runs:
                first_settings, settings = first["settings"], r["settings"]
                if differ := {
                    k for k in first_settings | settings if first_settings.get(k) != settings.get(k)
                }:
                    raise ValueError(
                        f"Runs: {_text(group)}: runs must differ only in the seed, got different "
                        f"{', '.join(sorted(differ))}; select by more settings"
                    )
                if r["curves"]["epoch"] != first["curves"]["epoch"]:
                    raise ValueError(
                        f"Runs: {_text(group)}: runs must be measured at the same epochs; record "
                        "them with the same --epochs"
                    )
            if len({r["seed"] for r in runs}) < len(runs):
                raise ValueError(
                    f"Runs: {_text(group)}: a seed occurs twice; select by more settings"
                )

    def _group(self, records: Iterable[Record]) -> None:
        self.records = sorted(records, key=lambda r: r["seed"])
        self.groups: dict[Hashable, list[Record]] = {}
        for r in self.records:
            self.groups.setdefault(self.key(r["settings"]), []).append(r)

    def runs(self, key: Hashable) -> list[Record]:
        """Return the records of a group, sorted by seed.

        Raises:
            ValueError: If there is no such group.
        """
        if key not in self.groups:
            raise ValueError(
                f"Runs: no run of {_text(key)} was given; there are "
                f"{'; '.join(map(_text, self.groups))}"
            )
        return self.groups[key]

    def seeds(self, key: Hashable) -> list[int]:
        """Return the seeds of a group, in the order of the rows of its curves."""
        return [r["seed"] for r in self.runs(key)]

    def epochs(self, key: Hashable | None = None) -> np.ndarray:
        """Return the epochs ``(points,)`` at which a group was measured, or all if no ``key``.

        Raises:
            ValueError: If there is no such group, or all are requested and they differ.
        """
        groups = [self.runs(key)] if key is not None else [*self.groups.values()]
        epochs = groups[0][0]["curves"]["epoch"]
        if any(runs[0]["curves"]["epoch"] != epochs for runs in groups):
            raise ValueError("Runs: runs must be measured at the same epochs; record them anew")
        return np.array(epochs)

    def common(self) -> np.ndarray:
        """Return the epochs at which all groups were measured."""
        shared, *others = (self.epochs(key).round(4) for key in self.groups)
        for epochs in others:
            shared = np.intersect1d(shared, epochs)
        return shared

    def curves(self, key: Hashable, name: str) -> np.ndarray:
        """Return curves ``(seeds, points)`` in recorded units, but errors in percent.

        NaN stands for missing measurements.
        """
        curves = np.array([r["curves"][name] for r in self.runs(key)], dtype=float)
        return curves * (100 if name.endswith("error") else 1)

    def at(self, epoch: float, key: Hashable, name: str) -> np.ndarray:
        """Return the values ``(seeds,)`` at the last point measured up to ``epoch``."""
        point = np.searchsorted(self.epochs(key), epoch + 1e-3, side="right") - 1
        return self.curves(key, name)[:, point]

    def pairs(self, epoch: float, key_a: Hashable, key_b: Hashable, name: str) -> np.ndarray:
        """Return values of ``key_a``, then of ``key_b``, for their common seeds, ``(2, n)``."""
        common_seeds = set(self.seeds(key_a)) & set(self.seeds(key_b))
        return np.array(
            [
                self.at(epoch, key, name)[[seed in common_seeds for seed in self.seeds(key)]]
                for key in (key_a, key_b)
            ]
        )

    def difference(self, epoch: float, key_a: Hashable, key_b: Hashable, name: str) -> np.ndarray:
        """Return ``key_a`` minus ``key_b`` at an epoch, for each seed that both have."""
        first, second = self.pairs(epoch, key_a, key_b, name)
        return first - second

    def among(self, keys: Iterable[Hashable]) -> Self:
        """Return only these groups, with the seeds that all of them have.

        Raises:
            ValueError: If they have none in common.
        """
        keys = list(keys)
        seeds = set.intersection(*(set(self.seeds(key)) for key in keys))
        if not seeds:
            raise ValueError(
                f"Runs: {', '.join(map(_text, keys))} share no seed; record the same seed for all"
            )
        result = copy(self)
        result._group(r for key in keys for r in self.runs(key) if r["seed"] in seeds)
        return result


def _text(key: Hashable) -> str:
    """Format a key for readers; a named tuple has its own format."""
    return ", ".join(map(str, key)) if type(key) is tuple else str(key)
