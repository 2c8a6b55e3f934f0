"""The progress bar of runs, whose rate counts only the updates of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from lnlab import messages


class Progress(tqdm):
    """A ``tqdm`` progress bar of updates whose rate leaves out resumed updates and start-up time.

    Updates from before a resume, or by another command, count as done, but not in the rate. The
    same holds for the first update of a run and the time before it, in which data are loaded and
    code is compiled.

    Args:
        total: Total number of updates.
        **options: Arguments of ``tqdm``.
    """

    def __init__(self, *, total: int, **options: Any) -> None:
        defaults = {"unit": "update", "smoothing": 0.05, "dynamic_ncols": True}
        self._first = True  # whether the next update is the first of a run
        self._since: float | None = None  # when the first update was done
        super().__init__(**{"file": messages.stderr()} | defaults | options, total=total)

    def start_run(self) -> None:
        """Leave the next update out of the rate."""
        self._first = True

    def skip(self, updates: int) -> None:
        """Count updates that were done earlier, without changing the rate."""
        if self.disable:  # tqdm then has none of these attributes
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
        """Values to display; before tqdm has a recent rate, the mean since the first update."""
        values = super().format_dict
        if values["rate"] is None:
            seconds = 0.0 if self._since is None else self._time() - self._since
            values["rate"] = (self.n - self.initial) / seconds if seconds > 0 else 0.0
        return values
