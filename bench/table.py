"""The table of benchmarks: how times are measured, and how rows are checked and stored.

A row has the time of one code path of this project, that of the path a user would take instead, and
a floor, the time of the work that no path can avoid. All are measured in one run, in turn.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch

from lnlab import atomic_write, records

FORMAT = 1
TEXTS = ("what", "shape", "path", "instead", "floor", "device")  # instead, floor may be null
NUMBERS = ("ms", "instead_ms", "floor_ms", "ratio")  # all but ms may be null
#: Relative difference between two measurements of the same work. A row that is at most this far
#: below its floor counts as equal to it.
NOISE = 0.05
PATH = Path(__file__).parents[1] / "book" / "runs" / "bench.json"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of PyTorch's threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def medians(
    candidates: dict[Any, Callable[[], Any]],
    seconds: float,
    device: str = "cpu",
    min_calls: int = 5,
    times: int = 1,
    floors: Sequence[Callable[[], Any]] = (),
) -> dict[Any, float]:
    """Return the median time of each candidate; they run in turn, after a first call each.

    Args:
        candidates: Maps names to functions without arguments.
        seconds: Time for all of them together.
        device: On ``cuda``, times are measured with CUDA events.
        min_calls: Minimum number of measurements of each candidate, however long they take.
        times: Calls per measurement, for functions that are too fast for the clock.
        floors: Functions that do only the work that no candidate can avoid, run in turn with them.

    Returns:
        Milliseconds per call by name; with floors, also the shortest time of any of them under
        ``floor``. It is a minimum and not a median because it stands for what the machine can do.
    """
    calls = candidates | {("floor", i): call for i, call in enumerate(floors)}
    times_ms: dict[Any, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for name in order:
        calls[name]()  # the first call builds, packs and tunes
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times_ms.values())) < min_calls:
        random.shuffle(order)  # the previous call determines the content of the cache
        for name in order:
            times_ms[name].append(milliseconds(calls[name], device, times))
    results = {name: median(times_ms[name]) for name in candidates}
    if floors:
        results["floor"] = min(min(times_ms["floor", i]) for i in range(len(floors)))
    return results


def milliseconds(call: Callable[[], Any], device: str = "cpu", times: int = 1) -> float:
    """Return the milliseconds per call, the mean of ``times`` consecutive calls."""
    if device == "cuda":
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / times
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return 1e3 * (time.perf_counter() - begin) / times


def row(
    what: str,
    shape: str,
    path: str,
    ms: float,
    *,
    instead: tuple[str, float] | None = None,
    floor: tuple[str, float] | None = None,
    device: str = "cpu",
    **more: Any,
) -> dict[str, Any]:
    """Return one row.

    Args:
        what: Name of the computation.
        shape: Shape of its input, as text.
        path: Name of the code path.
        ms: Its time in milliseconds per call.
        instead: Name and time of the path that a user would take instead.
        floor: Name and shortest time of the work that no path can avoid.
        device: ``cpu`` or ``cuda``; the row has the name of the hardware.
        **more: Further entries, such as ``threads`` (if not PyTorch's), errors or bytes.
    """
    return {
        "what": what,
        "shape": shape,
        "path": path,
        "instead": instead and instead[0],
        "ms": _short(ms),
        "instead_ms": instead and _short(instead[1]),
        "floor_ms": floor and _short(floor[1]),
        "floor": floor and floor[0],
        "ratio": instead and _short(ms / instead[1]),
        "device": records.device_name(device),
        "threads": torch.get_num_threads(),
    } | more


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def check(stored: Any, name: str) -> None:
    """Check that a table is complete and of this format.

    Args:
        stored: The table, as read from JSON.
        name: Its name in errors.

    Raises:
        ValueError: If it is damaged or of another format.
    """
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        result = stored.get("format") if isinstance(stored, dict) else type(stored).__name__
        raise ValueError(
            f"{name}: expected a bench table of format {FORMAT}, got {result!r}; move it away or "
            "update lnlib"
        )
    rows, provenance = stored.get("rows"), stored.get("provenance")
    if not isinstance(rows, list) or not rows or not isinstance(provenance, dict):
        raise ValueError(f"{name}: expected rows and their provenance; measure again: make bench")
    for i, r in enumerate(rows):
        texts = all(isinstance(r.get(key), str | None) for key in TEXTS)
        numbers = all(isinstance(r.get(key), int | float | None) for key in NUMBERS)
        is_complete = all(
            r.get(key) is not None for key in ("what", "shape", "path", "ms", "device")
        )
        if not (
            texts and numbers and is_complete and isinstance(r.get("threads"), int) and r["ms"] > 0
        ):
            raise ValueError(f"{name}: row {i} has missing or wrong entries: {json.dumps(r)[:200]}")
        if r["device"] not in provenance:
            raise ValueError(f"{name}: row {i} is of {r['device']!r}, whose provenance is missing")


def check_floors(rows: list[dict[str, Any]], name: str) -> None:
    """Check that no row is faster than its floor by more than :data:`NOISE`.

    Only new tables are checked; older ones are shown as they were measured.

    Args:
        rows: Rows from :func:`row`.
        name: Name of the table in errors.

    Raises:
        ValueError: If a row is faster than its floor; the error names the first one.
    """
    for r in rows:
        if r["floor_ms"] is not None and r["ms"] < (1 - NOISE) * r["floor_ms"]:
            raise ValueError(
                f"{name}: {r['what']}, {r['shape']}, {r['path']} takes {r['ms']} ms and its floor, "
                f"{r['floor']}, {r['floor_ms']} ms; measure the floor in a faster way"
            )


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of the new table, and those of the old one for other devices."""
    devices = set(new["provenance"])
    others = [r for r in old["rows"] if r["device"] not in devices]
    return {
        "format": FORMAT,
        "rows": others + new["rows"],
        "provenance": old["provenance"] | new["provenance"],
    }


def read(path: Path) -> dict[str, Any]:
    """Read and check a table.

    Raises:
        ValueError: If it is damaged or of another format.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not a JSON file ({error}); measure again: make bench") from error
    check(stored, str(path))
    return stored


def write(stored: dict[str, Any], path: Path) -> None:
    """Check a table and write it atomically, one line per row."""
    check(stored, path.name)
    check_floors(stored["rows"], path.name)
    rows = ",\n".join(f"  {json.dumps(r, ensure_ascii=False)}" for r in stored["rows"])
    provenance = json.dumps(stored["provenance"], ensure_ascii=False, indent=1)
    text = f'{{\n "format": {FORMAT},\n "rows": [\n{rows}\n ],\n "provenance": {provenance}\n}}\n'
    atomic_write.write(path, text.encode())


COLUMNS = {"what": 40, "shape": 17, "path": 27, "ms": 9, "instead": 27, "ratio": 7, "floor": 25}


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows: each path, the path it is compared with, and its floor, with their times."""
    print("".join(f"{name:{width}}" for name, width in COLUMNS.items()) + "/ floor  threads")
    for r in rows:
        above = f"{r['ms'] / r['floor_ms']:7.2f}" if r["floor_ms"] else f"{'–':>7}"
        cells = {name: "–" if r[name] is None else r[name] for name in COLUMNS}
        print("".join(f"{_cell(cells[k]):{width}}" for k, width in COLUMNS.items()), end="")
        print(f"{above}  {r['threads']}")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
