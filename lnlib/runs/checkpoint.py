"""What a run under way keeps: sealed, so that a damaged file is never gone on from.

Checkpoints lie in a folder beside the records, and go when the record is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from lnlib import _files
from lnlib.runs import record as records
from lnlib.runs.run import Run
from lnlib.runs.settings import Settings

FOLDER = ".checkpoints"
SEAL = b"lnlib checkpoint, SHA-256 %s of what follows\n"


class BadCheckpoint(ValueError):
    """A checkpoint that this run cannot go on from."""


def place(record: Path) -> Path:
    """Return where the checkpoint of a run lies, from where its record will."""
    return record.parent / FOLDER / f"{record.stem}.pt"


def save(path: Path, run: Run, points: list[dict[str, Any]], done: int, wall: float) -> None:
    """Write the state of a run after ``done`` epochs and ``wall`` seconds, in one atomic step."""
    content = io.BytesIO()
    torch.save(
        {
            **_identity(run),
            "model": _copied(run.model.state_dict()),
            "optimizer": _copied(run.optimizer.state_dict()["state"]),
            "points": [_each(point, np.ndarray, torch.from_numpy) for point in points],
            "done": done,
            "wall_s": wall,
        },
        content,
    )
    _files.write(path, sealed(content.getvalue()))


def sealed(content: bytes) -> bytes:
    """Return the content behind its checksum."""
    return SEAL % hashlib.sha256(content).hexdigest().encode() + content


def _copied(state: Any) -> Any:
    # A view is saved with all that it is a view of: the parameters of every seed side by side.
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    return state.clone() if isinstance(state, torch.Tensor) else state


def _each(point: dict[str, Any], kind: type, turn: Any) -> dict[str, Any]:
    return {k: turn(v) if isinstance(v, kind) else v for k, v in point.items()}


def read(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return what a checkpoint holds, if it is whole and as it was written.

    Raises:
        BadCheckpoint: If it is not.
    """
    try:
        _files.check_regular(path)
        found = path.read_bytes()
        content = found[len(SEAL % bytes(64)) :]
        if found.startswith(b"PK\3\4"):
            raise ValueError("it is of an older lnlib, without a checksum")
        if found != sealed(content):
            raise ValueError("it is damaged, or no checkpoint: its checksum is another")
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it holds a {type(state).__name__}, not the parts of a run")
        return state
    except Exception as error:  # a torn or foreign file can fail in a dozen ways
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: {_files.printable(str(error))}"
        ) from error


def load(path: Path, run: Run, epochs: int) -> tuple[list[dict[str, Any]], int, float]:
    """Put a run of so many epochs where a checkpoint has left it, which can be further.

    Returns:
        What had been measured, the epochs done, and the seconds spent.

    Raises:
        BadCheckpoint: If it is damaged, lacks a part, is of another run, or further than the end
            where the run is measured otherwise: there nothing can be measured any more.
    """
    state = read(path, next(run.model.parameters()).device)
    for part, asked in _identity(run).items():
        if (kept := state.get(part)) != asked:
            raise BadCheckpoint(
                f"the checkpoint {path} belongs to other settings: {part} {kept}, not {asked}"
            )
    if wrong := _misfit(state, run):
        raise BadCheckpoint(f"the checkpoint {path} cannot be used: {wrong}")
    if run.measures_end and (done := state["done"]) > epochs:
        raise BadCheckpoint(
            f"the checkpoint {path} is at epoch {done}, past --epochs {epochs}, whose end was not "
            f"measured: from there go on with --epochs {done} or more"
        )
    run.model.load_state_dict(state["model"])
    # What the optimizer was told is of the settings: only its moments are of the file.
    told = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": told})
    points = [_each(p, torch.Tensor, lambda v: v.cpu().numpy()) for p in state["points"]]
    return points, state["done"], state["wall_s"]


def _misfit(state: dict[str, Any], run: Run) -> str:
    """Say which parts are missing or do not fit the run; nothing if all is well."""
    kept = state.get("points")
    point = dict.fromkeys(("epoch", run.experiment.loss[0], "wall_s"), 0.0)
    wanted = {
        "model": run.model.state_dict(),
        "optimizer": _moments(run.optimizer, state.get("optimizer")),
        "points": [point | _like(kept[0], p) for p in kept] if _are_points(kept) else [point],
        "done": 1,
        "wall_s": 0.0,
    }
    wrong = [name for name, value in wanted.items() if _form(state.get(name)) != _form(value)]
    return ", ".join(
        f"its part {name!r} {'does not fit' if name in state else 'is missing'}" for name in wrong
    )


def _moments(optimizer: torch.optim.Optimizer, kept: Any) -> dict[int, dict[str, Any]]:
    """Return a state that an optimizer can have: Adam's own, or each part like a parameter."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if isinstance(optimizer, torch.optim.Adam):
        step = torch.zeros((), dtype=torch.float32)
        return {k: {"step": step, "exp_avg": p, "exp_avg_sq": p} for k, p in enumerate(parameters)}
    kept = kept if isinstance(kept, dict) else {}
    return {
        k: {
            name: value if not isinstance(value, torch.Tensor) or value.dim() == 0 else p
            for name, value in kept[k].items()
        }
        for k, p in enumerate(parameters)
        if isinstance(kept.get(k), dict)  # plain gradient descent keeps nothing
    }


def _like(first: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    # An array has one shape at all points.
    return {k: v if isinstance(v := first.get(k), torch.Tensor) else 0.0 for k in point}


def _form(value: Any) -> Any:
    """Return what must agree before anything is loaded: names, types, shapes."""
    if isinstance(value, dict):
        return {key: _form(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_form(part) for part in value]
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else type(value)


def _are_points(kept: Any) -> bool:
    return isinstance(kept, list) and len(kept) > 0 and all(isinstance(p, dict) for p in kept)


def _identity(run: Run) -> dict[str, Any]:
    return {"settings": _trained(run.settings), "seed": run.seed, "step": run.step}


def _trained(settings: Settings) -> dict[str, Any]:
    # The number of epochs is how far to go, not what is trained: a longer run may go on.
    return {k: v for k, v in settings.as_dict().items() if k != "epochs"}


def epochs_kept(settings: Settings, seed: int, record: Path) -> int:
    """Return how far the checkpoint of a run is; 0 if there is none that can be used."""
    try:
        state = read(place(record))
    except BadCheckpoint:  # or there is none: the run itself will say so
        return 0
    own = (state.get("settings"), state.get("seed")) == (_trained(settings), seed)
    return state["done"] if own and isinstance(state.get("done"), int) else 0


def drop(settings: Settings, seed: int, record: Path) -> None:
    """Remove the checkpoint of a run that is recorded, unless a longer run can go on from it."""
    if epochs_kept(settings, seed, record) <= settings.epochs:
        place(record).unlink(missing_ok=True)


def remove_recorded(path: Path, say: Callable[[str], None]) -> None:
    """Remove a checkpoint if the record holds all that it holds.

    A process can end after it has written the record and before it has removed the checkpoint.
    What the two files say decides, never when they were written: a copied folder has other times.
    A checkpoint of other settings, of a longer run or of a repetition that was broken off stays.

    Args:
        path: Of the record, which need not be there.
        say: Told of the checkpoint that is removed.
    """
    checkpoint = place(path)
    if not (os.path.exists(path) and os.path.exists(checkpoint)):
        return
    try:
        state, recorded = read(checkpoint), records.read(path)
        contained = _is_contained(state, recorded)
    except (BadCheckpoint, records.BadRecord):  # the run itself says what is wrong
        return
    if contained:
        checkpoint.unlink(missing_ok=True)
        say(f"{path.stem}: removed its checkpoint, all of which is in the record.")


def _is_contained(state: dict[str, Any], recorded: dict[str, Any]) -> bool:
    """Return whether a checkpoint is of a recorded run and no further, each point recorded."""
    points = state.get("points")
    settings = {k: v for k, v in recorded["settings"].items() if k != "epochs"}
    if (state.get("settings"), state.get("seed")) != (settings, recorded["seed"]):
        return False
    if not _are_points(points):
        return False
    curves = records.curves(points, recorded["curves"]["x"])  # with the time of each point
    return all(recorded["curves"].get(k, [])[: len(v)] == v for k, v in curves.items())


@contextlib.contextmanager
def claimed(records: Iterable[Path], say: Callable[[str], None]) -> Iterator[None]:
    """Keep runs from other commands in the same folder, and wait while one of them trains one."""
    with contextlib.ExitStack() as held:
        for record in sorted(records):  # in one order: no two wait for each other
            file = place(record).with_name(f"{record.stem}.lock")
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(file)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                say(f"waiting for another command that trains {record.stem}")
                lock.acquire(poll_interval=1.0)
            held.callback(lock.release)
            if os.name == "posix":  # elsewhere a file that is open cannot go
                held.callback(file.unlink, missing_ok=True)
        yield
