"""The progress bar of runs: its rate is that of the updates that this process takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from lnlab import messages


class Progress(tqdm):
    """A bar of updates that does not mistake other work for training.

    Updates that come from a checkpoint or were taken by another command count as done, and not in
    the rate. Neither does the first update of a run, with the time before it: data are loaded in
    it, and code is compiled.

    Args:
        total: Updates in all.
        **options: As for ``tqdm``.
    """

    def __init__(self, *, total: int, **options: Any) -> None:
        usual = {"unit": "update", "smoothing": 0.05, "dynamic_ncols": True}
        self._first = True  # whether the next update is the first of a run
        self._since: float | None = None  # when the first update was done
        super().__init__(**{"file": messages.stderr()} | usual | options, total=total)

    def start_run(self) -> None:
        """Leave the next update out of the rate."""
        self._first = True

    def skip(self, updates: int) -> None:
        """Count updates that were done before."""
        if self.disable:  # tqdm then keeps nothing to count with
            return
        self.n += updates
        self.initial += updates
        self.last_print_n += updates

    def update(self, n: float = 1) -> bool | None:
        """Count updates that were done just now."""
        if self._first and n and not self.disable:
            self._first = False
            self.last_print_t = self._time()
            if self._since is None:
                self._since = self.last_print_t
            self.skip(n)
            self.refresh()
            return True
        return super().update(n)

    @property
    def format_dict(self) -> Mapping[str, Any]:
        """What is shown; the mean rate since the first update until there is a recent one."""
        shown = super().format_dict
        if shown["rate"] is None:
            seconds = 0.0 if self._since is None else self._time() - self._since
            shown["rate"] = (self.n - self.initial) / seconds if seconds > 0 else 0.0
        return shown
