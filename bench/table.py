"""The one table: what a row says, how its times are taken, where it is kept.

A row stands for one path of this project, beside what a user would pick instead and beside the
floor that the machine sets, all measured in one run, in turn.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch

from lnlab import records

FORMAT = 1
TEXTS = ("what", "shape", "path", "instead", "floor", "device")  # instead, floor may be null
NUMBERS = ("ms", "instead_ms", "floor_ms", "ratio")  # all but ms may be null
#: Two measurements of the same work part by so much: this near its floor a row stands on it.
NOISE = 0.05
KEEP = Path(__file__).parents[1] / "book" / "runs" / "bench.json"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch take so many threads within."""
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
    least: int = 5,
    times: int = 1,
    floors: Sequence[Callable[[], Any]] = (),
) -> dict[Any, float]:
    """Run the candidates in turn, each once before it counts; return medians.

    Args:
        candidates: From name to a call.
        seconds: How long for all of them together.
        device: On ``cuda`` the time is that between two CUDA events.
        least: How often each runs, however long it takes.
        times: Calls within one measurement, for what is too short for the clock.
        floors: Ways to do what no candidate can do without, run in turn with them.

    Returns:
        From name to ms a call; with floors, under ``floor``, the shortest time of any of them. Not
        a median: a floor is what the machine can do, if nothing comes in between.
    """
    calls = candidates | {("floor", i): call for i, call in enumerate(floors)}
    taken: dict[Any, list[float]] = {name: [] for name in calls}
    turn = list(calls)
    for name in turn:
        calls[name]()  # the first call builds, packs and tunes
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, taken.values())) < least:
        random.shuffle(turn)  # who comes after whom decides what is in the cache
        for name in turn:
            taken[name].append(milliseconds(calls[name], device, times))
    results = {name: median(taken[name]) for name in candidates}
    if floors:
        results["floor"] = min(min(taken["floor", i]) for i in range(len(floors)))
    return results


def milliseconds(call: Callable[[], Any], device: str = "cpu", times: int = 1) -> float:
    """Return how long a call takes, the mean of ``times`` in a row."""
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
        what: What is computed.
        shape: Of its input, for people.
        path: The path measured.
        ms: How long it takes.
        instead: What a user would pick instead, and how long that takes.
        floor: What it cannot be faster than, and how long that takes at its fastest.
        device: ``cpu`` or ``cuda``; the row has its name.
        **more: Further facts, such as ``threads`` (if not PyTorch's), errors or bytes.
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
    """Refuse a table that is damaged, foreign or of a newer format.

    Args:
        stored: As read from JSON.
        name: What to call it.

    Raises:
        ValueError: In one sentence.
    """
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        result = stored.get("format") if isinstance(stored, dict) else type(stored).__name__
        raise ValueError(
            f"{name}: expected a bench table of format {FORMAT}, got {result!r}; move it away or "
            "update lnlib"
        )
    rows, made = stored.get("rows"), stored.get("provenance")
    if not isinstance(rows, list) or not rows or not isinstance(made, dict):
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
            raise ValueError(f"{name}: row {i} does not say what it must: {json.dumps(r)[:200]}")
        if r["device"] not in made:
            raise ValueError(f"{name}: row {i} is of {r['device']!r}, whose provenance is missing")


def check_floors(rows: list[dict[str, Any]], name: str) -> None:
    """Refuse rows that are faster, beyond :data:`NOISE`, than what they cannot be faster than.

    A table that is read need not pass: those of before are shown as they are.

    Args:
        rows: As :func:`row` makes them.
        name: What to call them.

    Raises:
        ValueError: In one sentence, of the first such row.
    """
    for r in rows:
        if r["floor_ms"] is not None and r["ms"] < (1 - NOISE) * r["floor_ms"]:
            raise ValueError(
                f"{name}: {r['what']}, {r['shape']}, {r['path']} takes {r['ms']} ms and its floor, "
                f"{r['floor']}, {r['floor_ms']} ms, which is none then; give the floor a faster "
                "way to be measured"
            )


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Put the rows of the new table beside those that the old one has of other devices."""
    devices = set(new["provenance"])
    others = [r for r in old["rows"] if r["device"] not in devices]
    return {
        "format": FORMAT,
        "rows": others + new["rows"],
        "provenance": old["provenance"] | new["provenance"],
    }


def read(path: Path) -> dict[str, Any]:
    """Read and check a table."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not a JSON file ({error}); measure again: make bench") from error
    check(stored, str(path))
    return stored


def write(stored: dict[str, Any], path: Path) -> None:
    """Check a table and write it in one atomic step, one line a row."""
    check(stored, path.name)
    check_floors(stored["rows"], path.name)
    rows = ",\n".join(f"  {json.dumps(r, ensure_ascii=False)}" for r in stored["rows"])
    made = json.dumps(stored["provenance"], ensure_ascii=False, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    text = f'{{\n "format": {FORMAT},\n "rows": [\n{rows}\n ],\n "provenance": {made}\n}}\n'
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


COLUMNS = {"what": 40, "shape": 17, "path": 27, "ms": 9, "instead": 27, "ratio": 7, "floor": 25}


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows: a path, what it is measured against, and its floor, with their times."""
    print("".join(f"{name:{width}}" for name, width in COLUMNS.items()) + "/ floor  threads")
    for r in rows:
        above = f"{r['ms'] / r['floor_ms']:7.2f}" if r["floor_ms"] else f"{'–':>7}"
        cells = {name: "–" if r[name] is None else r[name] for name in COLUMNS}
        print("".join(f"{_cell(cells[k]):{width}}" for k, width in COLUMNS.items()), end="")
        print(f"{above}  {r['threads']}")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
