"""Checkpoints of runs, with a checksum, so that a run never resumes from a damaged file.

Checkpoints are in a folder next to the records, and are removed when the record is written.
"""

import contextlib
import dataclasses
import errno
import hashlib
import io
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from lnlab import atomic_write, messages, records
from lnlab.config import Settings
from lnlab.run import Run

FOLDER = ".checkpoints"
# Defaults for older checkpoints, which were saved only between epochs.
OLD_DEFAULTS = {"state": {}, "updates": 0, "loss_sum": 0.0, "loss_count": 0, "segments": []}
# Errors of file systems that do not support locks.
LOCK_ERRORS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
HEADER = b"lnlib checkpoint, SHA-256 %s of what follows\n"


class BadCheckpoint(ValueError):
    """A checkpoint that this run cannot resume from."""


def path_of(record: Path) -> Path:
    """Return the path of a run's checkpoint, given the path of its record."""
    return record.parent / FOLDER / f"{record.stem}.pt"


@dataclasses.dataclass
class Progress:
    """The progress of a run.

    Args:
        points: The measurements so far.
        epochs: Number of completed epochs.
        updates: Number of completed updates of the current epoch.
        loss_sum: Sum of the losses of the updates since the last measurement, in float64.
        loss_count: Number of updates since the last measurement.
        wall_s: Training time so far, in seconds.
    """

    points: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    epochs: int = 0
    updates: int = 0
    loss_sum: Any = 0.0
    loss_count: int = 0
    wall_s: float = 0.0


def save(path: Path, run: Run, progress: Progress) -> None:
    """Write the state of a run atomically."""
    epochs = progress.epochs + progress.updates / run.updates_per_epoch
    content = io.BytesIO()
    torch.save(
        {
            **_identity(run),
            "model": _clone(run.model.state_dict()),
            "optimizer": _clone(run.optimizer.state_dict()["state"]),
            "state": _clone(run.state()),
            "points": [
                _convert_type(point, np.ndarray, torch.from_numpy) for point in progress.points
            ],
            "done": progress.epochs,
            "updates": progress.updates,
            "loss_sum": float(progress.loss_sum),
            "loss_count": progress.loss_count,
            "wall_s": progress.wall_s,
            "segments": records.with_segment(run.segments, run.conditions, epochs),
        },
        content,
    )
    atomic_write.write(path, with_checksum(content.getvalue()))


def with_checksum(content: bytes) -> bytes:
    """Return the content with a header that has its checksum."""
    return HEADER % hashlib.sha256(content).hexdigest().encode() + content


def _clone(state: Any) -> Any:
    # torch.save saves the whole storage of a view, here one flat tensor of all parameters.
    if isinstance(state, dict):
        return {key: _clone(value) for key, value in state.items()}
    return state.clone() if isinstance(state, torch.Tensor) else state


def _convert_type(point: dict[str, Any], type_: type, convert: Any) -> dict[str, Any]:
    return {k: convert(v) if isinstance(v, type_) else v for k, v in point.items()}


def read(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Return the content of a checkpoint.

    Raises:
        BadCheckpoint: If the file is damaged or not a checkpoint.
    """
    try:
        atomic_write.check_regular(path)
        file = path.read_bytes()
        content = file[len(HEADER % bytes(64)) :]
        if file.startswith(b"PK\3\4"):
            raise ValueError("it is of an older lnlib, without a checksum")
        if file != with_checksum(content):
            raise ValueError("it is damaged or not a checkpoint: its checksum does not match")
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it contains a {type(state).__name__}, not the parts of a run")
        return state
    except Exception as error:  # torch.load raises many types of error for a damaged file
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: {atomic_write.printable(str(error))}"
        ) from error


def load(path: Path, run: Run, epochs: int) -> Progress:
    """Restore the state of a run from a checkpoint, which can be past the last of its ``epochs``.

    Returns:
        The progress at the checkpoint.

    Raises:
        BadCheckpoint: If it is damaged, lacks a part, belongs to another run, or is past an end
            that must be measured.
    """
    state = OLD_DEFAULTS | read(path, next(run.model.parameters()).device)
    for part, expected in _identity(run).items():
        if (saved := state.get(part)) != expected:
            raise BadCheckpoint(
                f"the checkpoint {path} belongs to other settings: {part} {saved}, not {expected}"
            )
    if problem := _describe_incompatibility(state, run):
        raise BadCheckpoint(f"the checkpoint {path} cannot be used: {problem}")
    done, updates = state["done"], state["updates"]
    if run.measures_at_end and (done, updates) > (epochs, 0):
        least = done + (updates > 0)
        raise BadCheckpoint(
            f"the checkpoint {path} is at epoch {done + updates / run.updates_per_epoch:.4g}, past "
            f"--epochs {epochs}, whose end was not measured: resume it with --epochs {least} or "
            "more"
        )
    try:
        run.load_state(state["state"])
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BadCheckpoint(
            f"the checkpoint {path} cannot be used: its part 'state' does not fit"
        ) from error
    run.model.load_state_dict(state["model"])
    # The settings define the optimizer's hyperparameters; only its state comes from the file.
    groups = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": state["optimizer"], "param_groups": groups})
    points = [_convert_type(p, torch.Tensor, lambda v: v.cpu().numpy()) for p in state["points"]]
    run.segments = state["segments"]
    rest = ("updates", "loss_sum", "loss_count", "wall_s")
    return Progress(points, done, *(state[name] for name in rest))


def _describe_incompatibility(state: dict[str, Any], run: Run) -> str:
    """Return in words which parts are missing or do not fit the run; empty if there are none.

    The checksum is right, so the file is as a run has written it, perhaps by another version.
    """
    parts = ("model", "optimizer", "points", "done", "wall_s")
    problems = [f"its part {name!r} is missing" for name in parts if name not in state]
    if not problems and _shapes(state["model"]) != _shapes(run.model.state_dict()):
        problems.append("its part 'model' does not fit")
    return ", ".join(problems)


def _shapes(tensors: Mapping[str, torch.Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}


def _identity(run: Run) -> dict[str, Any]:
    return {"settings": _settings_without_epochs(run.settings), "seed": run.seed, "step": run.step}


def _settings_without_epochs(settings: Settings) -> dict[str, Any]:
    # A run with more epochs can resume from the checkpoint.
    return {k: v for k, v in settings.as_dict().items() if k != "epochs"}


def progress(settings: Settings, seed: int, record: Path) -> tuple[int, int]:
    """Return epochs and further updates of a run's checkpoint; (0, 0) if it cannot be used."""
    try:
        state = OLD_DEFAULTS | read(path_of(record))
    except BadCheckpoint:  # missing, or damaged, which is reported when the run resumes
        return 0, 0
    identity = _settings_without_epochs(settings), seed
    is_own = (state.get("settings"), state.get("seed")) == identity
    position = (state.get("done"), state["updates"])
    return position if is_own and all(isinstance(number, int) for number in position) else (0, 0)


def drop(settings: Settings, seed: int, record: Path) -> None:
    """Remove the checkpoint of a recorded run, unless it is past the end of that run."""
    if progress(settings, seed, record) <= (settings.epochs, 0):
        path_of(record).unlink(missing_ok=True)


def remove_recorded(path: Path, report: Callable[[str], None]) -> None:
    """Remove a checkpoint whose measurements are all in the record.

    A process can end after writing the record and before removing the checkpoint. The content of
    the two files decides, not their modification times, which change when a folder is copied. A
    checkpoint of other settings, of a longer run or of an interrupted repetition is kept.

    Args:
        path: Path of the record, which need not exist.
        report: Called with a message if a checkpoint is removed.
    """
    checkpoint = path_of(path)
    if not (os.path.exists(path) and os.path.exists(checkpoint)):
        return
    try:
        state, record = OLD_DEFAULTS | read(checkpoint), records.read(path)
        contained = _is_contained(state, record)
    except (BadCheckpoint, records.BadRecord):  # reported when the run resumes
        return
    if contained:
        checkpoint.unlink(missing_ok=True)
        report(f"{path.stem}: removed its checkpoint, all of which is in the record.")


def _is_contained(state: dict[str, Any], record: dict[str, Any]) -> bool:
    """Return whether a checkpoint is of this run, not past its end, with all points recorded."""
    points = state.get("points")
    settings = {k: v for k, v in record["settings"].items() if k != "epochs"}
    if (state.get("settings"), state.get("seed")) != (settings, record["seed"]):
        return False
    if not points or (state.get("done"), state["updates"]) > (record["settings"]["epochs"], 0):
        return False
    curves = records.curves(points, record["curves"]["x"])  # includes wall_s, unique to a run
    return all(record["curves"].get(k, [])[: len(v)] == v for k, v in curves.items())


@contextlib.contextmanager
def acquire_lock(record: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Lock a run against other commands in the same folder; wait while one of them trains it.

    If the file system has no locks, print a warning and continue without one.

    Raises:
        OSError: If the lock file cannot be created or opened.
    """
    file = path_of(record).with_name(f"{record.stem}.lock")
    owner = file.with_suffix(".owner")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report(f"waiting for another command that trains {record.stem}")
        messages.warn(
            f"{record.stem} is being trained by {_read_owner(owner)}, which holds the lock "
            f"{file}; if that process is no longer running, delete the file"
        )
        lock.acquire(poll_interval=1.0)
    except OSError as error:
        if error.errno not in LOCK_ERRORS:
            raise OSError(
                f"cannot lock {file}: {error.strerror}; ask its owner to delete it, or "
                "choose another --out"
            ) from error
        messages.warn(
            f"the file system of {file.parent} does not support locks ({error.strerror}): "
            f"do not start a second command that trains {record.stem} there"
        )
        yield
        return
    try:
        with contextlib.suppress(OSError):
            owner.unlink(missing_ok=True)  # of an ended process, or a link or a pipe
            with owner.open("x") as to:
                to.write(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        with contextlib.suppress(OSError):
            owner.unlink()
        if os.name == "posix":  # Windows does not remove an open file
            file.unlink(missing_ok=True)
        lock.release()


def _read_owner(owner: Path) -> str:
    """Return the description of the process that holds a lock."""
    with contextlib.suppress(OSError, ValueError):
        atomic_write.check_regular(owner)
        if text := atomic_write.printable(owner.read_text(), 200):
            return text
    return "another command"
