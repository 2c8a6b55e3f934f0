"""What a run under way keeps: sealed, so that a damaged file is never gone on from.

Checkpoints lie in a folder beside the records, and go when the record is written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import io
import itertools
import math
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from lnlab import atomic_write, messages, records
from lnlab.config import Settings
from lnlab.run import Run

FOLDER = ".checkpoints"
# What a checkpoint lacks that was written when there were none within an epoch.
BETWEEN_EPOCHS = {"state": {}, "updates": 0, "loss_sum": 0.0, "loss_count": 0, "segments": []}
# What a file system says that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
SEAL = b"lnlib checkpoint, SHA-256 %s of what follows\n"


class BadCheckpoint(ValueError):
    """A checkpoint that this run cannot go on from."""


def place(record: Path) -> Path:
    """Return where the checkpoint of a run lies, from where its record will."""
    return record.parent / FOLDER / f"{record.stem}.pt"


@dataclasses.dataclass
class Progress:
    """How far a run is.

    Args:
        points: What was measured so far.
        epochs: Whole epochs that are done.
        updates: Updates of the epoch under way that are done.
        loss_sum: Of these, the losses since the last measurement, added up in float64.
        loss_count: How many they are.
        wall_s: Seconds spent.
    """

    points: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    epochs: int = 0
    updates: int = 0
    loss_sum: Any = 0.0
    loss_count: int = 0
    wall_s: float = 0.0


def save(path: Path, run: Run, at: Progress) -> None:
    """Write the state of a run in one atomic step."""
    epochs = at.epochs + at.updates / run.updates_per_epoch
    content = io.BytesIO()
    torch.save(
        {
            **_identity(run),
            "model": _copied(run.model.state_dict()),
            "optimizer": _copied(run.optimizer.state_dict()["state"]),
            "state": _copied(run.state()),
            "points": [_each(point, np.ndarray, torch.from_numpy) for point in at.points],
            "done": at.epochs,
            "updates": at.updates,
            "loss_sum": float(at.loss_sum),
            "loss_count": at.loss_count,
            "wall_s": at.wall_s,
            "segments": records.with_segment(run.segments, run.conditions, epochs),
        },
        content,
    )
    atomic_write.write(path, with_checksum(content.getvalue()))


def with_checksum(content: bytes) -> bytes:
    """Return the content behind its checksum."""
    return SEAL % hashlib.sha256(content).hexdigest().encode() + content


def _copied(state: Any) -> Any:
    # A view is saved with all that it is a view of: here one flat tensor of all parameters.
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
        atomic_write.check_regular(path)
        result = path.read_bytes()
        content = result[len(SEAL % bytes(64)) :]
        if result.startswith(b"PK\3\4"):
            raise ValueError("it is of an older lnlib, without a checksum")
        if result != with_checksum(content):
            raise ValueError("it is damaged, or no checkpoint: its checksum is another")
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it holds a {type(state).__name__}, not the parts of a run")
        return state
    except Exception as error:  # a torn or foreign file can fail in a dozen ways
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: {atomic_write.printable(str(error))}"
        ) from error


def load(path: Path, run: Run, epochs: int) -> Progress:
    """Put a run of so many epochs where a checkpoint has left it, which can be further.

    Returns:
        How far that is.

    Raises:
        BadCheckpoint: If it is damaged, lacks a part, is of another run, or further than the end
            where the run is measured otherwise: there nothing can be measured any more.
    """
    state = BETWEEN_EPOCHS | read(path, next(run.model.parameters()).device)
    for part, asked in _identity(run).items():
        if (kept := state.get(part)) != asked:
            raise BadCheckpoint(
                f"the checkpoint {path} belongs to other settings: {part} {kept}, not {asked}"
            )
    if wrong := _describe_incompatibility(state, run) or _impossible(state, run):
        raise BadCheckpoint(f"the checkpoint {path} cannot be used: {wrong}")
    done, updates = state["done"], state["updates"]
    if run.measures_end and (done, updates) > (epochs, 0):
        least = done + (updates > 0)
        raise BadCheckpoint(
            f"the checkpoint {path} is at epoch {done + updates / run.updates_per_epoch:.4g}, past "
            f"--epochs {epochs}, whose end was not measured: from there go on with --epochs "
            f"{least} or more"
        )
    try:
        run.load_state(state["state"])
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: its part 'state' does not fit"
        ) from error
    run.model.load_state_dict(state["model"])
    # What the optimizer was told is of the settings: only its moments are of the file.
    told = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": told})
    points = [_each(p, torch.Tensor, lambda v: v.cpu().numpy()) for p in state["points"]]
    run.segments = state["segments"]
    rest = ("updates", "loss_sum", "loss_count", "wall_s")
    return Progress(points, done, *(state[name] for name in rest))


def _describe_incompatibility(state: dict[str, Any], run: Run) -> str:
    """Say which parts are missing or do not fit the run; nothing if all is well."""
    kept = state.get("points")
    point = dict.fromkeys(("epoch", run.experiment.loss[0], "wall_s"), 0.0)
    wanted = {
        "model": run.model.state_dict(),
        "optimizer": _moments(run.optimizer, state.get("optimizer")),
        "points": [point | _like(kept[0], p) for p in kept] if _are_points(kept) else [point],
        "done": 1,
        "updates": 1,
        "loss_sum": 0.0,
        "loss_count": 1,
        "wall_s": 0.0,
    }
    wrong = [name for name, value in wanted.items() if _form(state.get(name)) != _form(value)]
    if not isinstance(state["segments"], list) or not all(
        isinstance(segment, dict) and isinstance(segment.get("epochs"), float | int)
        for segment in state["segments"]
    ):
        wrong.append("segments")
    tensors = state["state"].values() if isinstance(state["state"], dict) else [None]
    if not all(isinstance(value, torch.Tensor) for value in tensors):
        wrong.append("state")
    return ", ".join(
        f"its part {name!r} {'does not fit' if name in state else 'is missing'}" for name in wrong
    )


def _impossible(state: dict[str, Any], run: Run) -> str:
    """Say why no run can be where a checkpoint says that it is; nothing if one can."""
    done, updates, count = state["done"], state["updates"], state["loss_count"]
    per_epoch = run.updates_per_epoch
    epochs = [point["epoch"] for point in state["points"]]
    first = [e for e in epochs if 0 <= e <= 1]
    later = [e for e in epochs if not 0 <= e <= 1]
    now = done + updates / per_epoch
    since = updates if done or not first else updates - round(first[-1] * per_epoch)
    times = [*(point["wall_s"] for point in state["points"]), state["wall_s"]]
    if (
        done < 0
        or not 0 <= updates < per_epoch
        or not first
        or first[0] != 0
        or first != sorted(set(first))
        or (first[-1] == 1) != (done > 0)
        or later != list(range(2, done + 1))
        or not epochs[-1] <= now
        or count != (since if updates else 0)
    ):
        return (
            f"with {per_epoch} updates per epoch, a run cannot be at epoch {done}, update "
            f"{updates}, when it was measured {len(epochs)} times, last at epoch {epochs[-1]:.6g}"
        )
    rise = all(before <= after for before, after in itertools.pairwise([0, *times]))
    if not (rise and math.isfinite(times[-1])):
        return f"a run cannot have taken {times[-1]} s when its points took {times[:-1][-3:]}"
    if not (math.isfinite(state["loss_sum"]) or run.explodes):
        return f"its loss is {state['loss_sum']}"
    return ""


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


def progress(settings: Settings, seed: int, record: Path) -> tuple[int, int]:
    """Return epochs and further updates of a run's checkpoint; (0, 0) if none can be used."""
    try:
        state = BETWEEN_EPOCHS | read(place(record))
    except BadCheckpoint:  # or there is none: the run itself will say so
        return 0, 0
    own = (state.get("settings"), state.get("seed")) == (_trained(settings), seed)
    at = (state.get("done"), state["updates"])
    return at if own and all(isinstance(number, int) for number in at) else (0, 0)


def drop(settings: Settings, seed: int, record: Path) -> None:
    """Remove the checkpoint of a run that is recorded, unless a longer run can go on from it."""
    if progress(settings, seed, record) <= (settings.epochs, 0):
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
        state, recorded = BETWEEN_EPOCHS | read(checkpoint), records.read(path)
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
    if (state.get("done"), state["updates"]) > (recorded["settings"]["epochs"], 0):
        return False
    curves = records.curves(points, recorded["curves"]["x"])  # with the time of each point
    return all(recorded["curves"].get(k, [])[: len(v)] == v for k, v in curves.items())


@contextlib.contextmanager
def acquire_lock(record: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Keep a run from other commands in the same folder, and wait while one of them trains it.

    Where the file system has no locks, that is said, and nothing is kept from others.

    Raises:
        OSError: If a lock cannot be had, with its file and a way on.
    """
    file = place(record).with_name(f"{record.stem}.lock")
    owner = file.with_suffix(".owner")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"waiting for another command that trains {record.stem}")
        messages.tell(
            f"{record.stem} is being trained by {_who(owner)}, which holds the lock "
            f"{file}; if that process is no longer running, delete the file"
        )
        lock.acquire(poll_interval=1.0)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise OSError(
                f"cannot lock {file}: {error.strerror}; ask its owner to delete it, or "
                "choose another --out"
            ) from error
        messages.tell(
            f"the file system of {file.parent} does not support locks ({error.strerror}): "
            f"do not start a second command that trains {record.stem} there"
        )
        yield
        return
    try:
        with contextlib.suppress(OSError):
            owner.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        _forget(owner)
        if os.name == "posix":  # elsewhere a file that is open cannot go
            file.unlink(missing_ok=True)
        lock.release()


def _who(owner: Path) -> str:
    """Return who has written that a lock is its own."""
    with contextlib.suppress(OSError, ValueError):
        atomic_write.check_regular(owner)
        if text := atomic_write.printable(owner.read_text(), 200):
            return text
    return "another command"


def _forget(owner: Path) -> None:
    with contextlib.suppress(OSError):
        owner.unlink()
