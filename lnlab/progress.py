"""A progress bar of training updates, whose rate is that of the updates made just now."""

from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from lnlab import messages


class Progress(tqdm):
    """A ``tqdm`` progress bar of updates whose rate excludes skipped updates and warm-up.

    Updates that are in a checkpoint, or that another command made, count as done, but not in the
    rate. The same holds for the first update of a run and the time before it, in which data are
    loaded and code is compiled.

    Args:
        total: Total number of updates.
        **options: Arguments of ``tqdm``.
    """

    def __init__(self, *, total: int, **options: Any) -> None:
        defaults = {"unit": "update", "smoothing": 0.05, "dynamic_ncols": True}
        self._is_first_update = True  # whether the next update is the first of a run
        self._rate_start: float | None = None  # time after the first update
        super().__init__(**{"file": messages.stderr()} | defaults | options, total=total)

    def start_run(self) -> None:
        """Exclude the next update from the rate."""
        self._is_first_update = True

    def skip(self, updates: int) -> None:
        """Count updates that were made earlier, without changing the rate."""
        if self.disable:  # a disabled bar has none of the attributes below
            return
        self.n += updates
        self.initial += updates
        self.last_print_n += updates

    def update(self, n: float = 1) -> bool | None:
        """Count updates that were made just now."""
        if self._is_first_update and n and not self.disable:
            self._is_first_update = False
            self.last_print_t = self._time()
            if self._rate_start is None:
                self._rate_start = self.last_print_t
            self.skip(n)
            self.refresh()
            return True
        return super().update(n)

    @property
    def format_dict(self) -> Mapping[str, Any]:
        """Values to display, with the mean rate until tqdm has a recent one."""
        values = super().format_dict
        if values["rate"] is None:
            start = self._rate_start
            seconds = 0.0 if start is None else self._time() - start
            values["rate"] = (self.n - self.initial) / seconds if seconds > 0 else 0.0
        return values
