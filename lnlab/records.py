"""Records of runs: a JSON file with settings, curves and provenance, and an ``.npz`` with arrays.

The JSON file is checked against a schema when it is written and read. In memory, ``arrays`` holds
NumPy arrays; the JSON file has their shape, dtype and SHA-256, and an ``.npz`` of the same name has
their content. The book's records are in :func:`folder`, in one subfolder per experiment. Format 1,
which had no arrays and no units, can still be read.
"""

import datetime
import io
import json
import math
import os
import platform
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import lnlab
import lnlib
from lnlab import atomic_write
from lnlab.record_schema import FORMAT, BadRecord, array_summaries, check

_GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")


def folder() -> Path:
    """Return the folder of the book's records: ``book/runs``, or the copy in the package."""
    package = Path(__file__).parent
    clone = package.parent / "book" / "runs"
    return clone if clone.is_dir() else package / "recorded"


def installed() -> Path:
    """Return the folder of the book's records.

    Raises:
        FileNotFoundError: If lnlab was installed without them, from the pages of the built book.
    """
    if not folder().is_dir():
        raise FileNotFoundError(
            "this copy of lnlab was installed without the book's recorded runs, which this "
            "function needs; install it from a clone of the book: tools/setup.sh live in its folder"
        )
    return folder()


def path_of(folder: Path, experiment: str, stem: str) -> Path:
    """Return the path of a run's record.

    It is in the experiment's subfolder, unless a record of format 1 is in the folder itself.
    """
    path = folder / experiment / f"{stem}.json"
    old = folder / path.name
    return old if os.path.exists(old) and not os.path.exists(path) else path


def read(path: Path | str) -> dict[str, Any]:
    """Read and check one record, with its arrays.

    A record of format 1 is converted: it gets ``cases``, and curves named ``name_00``, ``name_01``
    and so on become one array ``name``. Its ``units`` are empty.

    Raises:
        BadRecord: If the file is damaged, not a record, or of a newer format.
    """
    return _with_arrays(_validate(_read_json(path), path), Path(path))


def _with_arrays(record: dict[str, Any], path: Path) -> dict[str, Any]:
    if record["format"] == 1:
        return _convert_format_1(record)
    if not record["arrays"]:
        return record
    npz = path.with_suffix(".npz")
    try:
        with np.load(io.BytesIO(npz.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in record["arrays"]}
    except Exception as error:  # NumPy raises many types of error for a damaged file
        raise BadRecord(f"{npz}: the arrays cannot be read ({error}); {_REPAIR_HINT}") from error
    loaded = record | {"arrays": arrays}
    actual = array_summaries(loaded)["arrays"]
    for name, summary in record["arrays"].items():
        if summary != actual[name]:
            raise BadRecord(
                f"{npz}: {name} is not the array that {path.name} names; {_REPAIR_HINT}"
            )
    return loaded


def _convert_format_1(record: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, list[str]] = {}
    for name in record["curves"]:
        if match := re.fullmatch(r"(\w+)_\d\d", name):
            columns.setdefault(match[1], []).append(name)
    columns = {name: curves for name, curves in columns.items() if f"{name}_00" in curves}
    arrays = {
        name: np.array([record["curves"][curve] for curve in sorted(curves)], float).T
        for name, curves in columns.items()
    }
    in_arrays = {curve for curves in columns.values() for curve in curves}
    curves = {k: v for k, v in record["curves"].items() if k not in in_arrays}
    cases = {"train": record["data"]["train_cases"], "test": record["data"]["test_cases"]}
    data = record["data"] | {"cases": cases}
    return record | {"data": data, "curves": curves, "arrays": arrays, "units": {}}


_REPAIR_HINT = "record the run again with --again, or delete the file"


def _read_json(path: Path | str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number in JSON")

    try:
        if not os.path.exists(path):  # unlike Path.exists, False where a name is too long
            raise FileNotFoundError(None, "there is no such file")
        atomic_write.check_regular(Path(path))
        content = Path(path).read_text(encoding="utf-8")
        return json.loads(content, parse_constant=refuse)
    except RecursionError:
        reason = "it is nested too deeply"
    except OSError as error:
        reason = error.strerror
    except ValueError as error:  # also for an integer with more digits than Python accepts
        reason = str(error)
    raise BadRecord(f"{path}: not a JSON file that can be read ({reason}); {_REPAIR_HINT}")


def _validate(content: Any, path: Path | str) -> dict[str, Any]:
    try:
        check(content, str(path))
    except RecursionError:
        raise BadRecord(f"{path}: it is nested too deeply; {_REPAIR_HINT}") from None
    except BadRecord as error:
        hint = "" if "update lnlib" in str(error) else f"; {_REPAIR_HINT}"
        raise BadRecord(f"{error}{hint}") from None
    return content


def read_all(experiment: str, root: Path | None = None, **settings: Any) -> list[dict[str, Any]]:
    """Read the records of one experiment whose settings have the given values.

    Args:
        experiment: Name of the experiment, for example ``mnist``, as the records have it; the names
            of files do not matter.
        root: The folder of records; the book's by default. The experiment's subfolder is read, and
            the folder itself for records of format 1.
        **settings: Values to select by, for example ``norm="layer", batch_size=4``. A record that
            lacks one of these settings is left out.

    Returns:
        Records in the order of their file names; an empty list if there are none.

    Raises:
        BadRecord: If records of the experiment are damaged; the message names all of them.
        FileNotFoundError: If lnlib was installed without the book's records, and these are needed.
    """
    selected = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
    records, errors, root = [], [], Path(root or installed())
    paths = [*root.glob("*.json"), *root.glob(f"{experiment}/*.json")]
    for path in sorted(paths, key=lambda path: path.name):
        # For a damaged file, only the path is known.
        is_ours = path.parent != root or path.name.startswith(f"{experiment}-")
        try:
            content = _read_json(path)
            if isinstance(content, dict) and "experiment" in content:
                is_ours = content["experiment"] == experiment
            if is_ours:
                content = _validate(content, path)
                if selected.items() <= content["settings"].items():
                    records.append(_with_arrays(content, path))
        except BadRecord as error:
            if is_ours:
                errors.append(str(error))
    if errors:
        raise BadRecord("\n".join(errors))
    return records


def write(record: dict[str, Any], path: Path) -> None:
    """Check a record and write it: first its arrays, then, atomically, the JSON file.

    Raises:
        BadRecord: If it does not match the schema; then nothing is written.
        OSError: If it cannot be written, for example because the disk is full.
    """
    check(record, path.name)
    if record["format"] != FORMAT:
        raise BadRecord(
            f"{path.name}: records are written in format {FORMAT}, got {record['format']}; record "
            "the run anew"
        )
    if record["arrays"]:
        atomic_write.write(path.with_suffix(".npz"), _zipped(record["arrays"]))
    # One line per key, so that diffs are readable and a curve is on one line.
    content = array_summaries(record).items()
    body = ",\n".join(f" {json.dumps(key)}: {_dump(value)}" for key, value in content)
    atomic_write.write(path, f"{{\n{body}\n}}\n".encode())


def _zipped(arrays: dict[str, np.ndarray]) -> bytes:
    content = io.BytesIO()
    # np.savez does not accept an array named "file".
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, value, allow_pickle=False)
    return content.getvalue()


def check_writable(path: Path) -> None:
    """Check that a file can be written, before hours are spent on its content.

    Raises:
        ValueError: If its folder cannot be created, or the file cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.partial_path(path).touch()
        atomic_write.partial_path(path).unlink()
        if path.is_dir():
            raise IsADirectoryError(None, "a folder of this name is there")
    except OSError as error:
        reason = "it is not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise ValueError(
            f"record_runs: out must be a folder where {path.name} can be written, got "
            f"{path.parent} ({reason}); choose another"
        ) from error


def _dump(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    inner = ",\n".join(
        f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in value.items()
    )
    return f"{{\n{inner}\n }}"


def curves(points: list[dict[str, Any]], x: str) -> dict[str, Any]:
    """Return the measured numbers as curves, rounded to five significant digits."""

    def rounded(value: float) -> float | None:
        return float(f"{value:.5g}") if math.isfinite(value) else None

    names = [name for name, value in points[0].items() if not np.ndim(value)]
    return {"x": x} | {name: [rounded(p[name]) for p in points] for name in names}


def arrays(points: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the measured arrays, stacked along a first axis of measuring points."""
    names = [name for name, value in points[0].items() if np.ndim(value)]
    return {name: np.stack([p[name] for p in points]) for name in names}


def conditions(device: Any) -> dict[str, Any]:
    """Return the current training conditions: versions, commit, device and threads."""
    import torch

    return {
        "lnlib": lnlib.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a TorchVersion cannot be in a checkpoint
        "numpy": np.__version__,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
    }


def provenance(*, device: Any, wall_s: float, command: str) -> dict[str, Any]:
    """Return versions, commit, device, threads, date, wall time (s) and command of a run."""
    return {
        **conditions(device),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 1),
        "command": command,
    }


def with_segment(
    earlier: list[dict[str, Any]], now: dict[str, Any], epochs: float
) -> list[dict[str, Any]]:
    """Return the segments of a run that were trained under different conditions.

    Args:
        earlier: Earlier segments: each has its :func:`conditions`, and ``epochs``, where it ended.
        now: The current conditions.
        epochs: The current epoch of the run, or its last one if its checkpoint is past the end.
    """
    if not earlier:
        return [now | {"epochs": epochs}]
    ends = [segment["epochs"] for segment in earlier]
    if ends[-1] >= epochs:  # nothing was trained since, or the checkpoint is past the run's end
        k = next(k for k, end in enumerate(ends) if end >= epochs)
        return [*earlier[:k], earlier[k] | {"epochs": epochs}]
    same = earlier[-1] == now | {"epochs": earlier[-1]["epochs"]}
    return [*(earlier[:-1] if same else earlier), now | {"epochs": epochs}]


def device_name(device: Any) -> str:
    """Return the model of the GPU or of the processor."""
    import torch

    if torch.device(device).type == "cuda":
        return f"GPU: {torch.cuda.get_device_name(device)}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"CPU: {model}"


def _commit() -> str:
    """Return the commit of the source code, with the suffix "-dirty" if files were changed.

    Returns "unknown" outside a clone, also if the package is installed inside the clone of another
    project.
    """
    source = Path(lnlab.__file__)
    # In a git hook, these variables can refer to another repository.
    env = {name: value for name, value in os.environ.items() if name not in _GIT_VARIABLES}

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=source.parent, env=env, capture_output=True, text=True,
            check=True, timeout=10, stdin=subprocess.DEVNULL,
        ).stdout.strip()  # fmt: skip

    try:
        git("ls-files", "--error-unmatch", "--", source.name)
        return git("describe", "--always", "--abbrev=12", "--dirty", "--exclude=*") or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"
