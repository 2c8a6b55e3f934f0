"""What a run leaves behind: a JSON file with settings, curves and provenance, arrays beside it.

A schema checks the file on writing and on reading. In memory an array is NumPy's; in the file it is
its shape, type and SHA-256, and lies in an ``.npz`` of the same name. The book's own records lie in
:func:`folder`, in one folder an experiment. Format 1, which had no arrays and no units, is read.
"""

from __future__ import annotations

import base64
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
from lnlab.record_schema import FORMAT, BadRecord, check, described

_GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")


def folder() -> Path:
    """Return where the book's recorded runs lie: ``book/runs``, or the copy in the package."""
    package = Path(__file__).parent
    clone = package.parent / "book" / "runs"
    return clone if clone.is_dir() else package / "recorded"


def installed() -> Path:
    """Return where the book's recorded runs lie.

    Raises:
        FileNotFoundError: If lnlib was installed without them, from the pages of the built book.
    """
    if not folder().is_dir():
        raise FileNotFoundError(
            "this copy of lnlib was installed without the book's recorded runs, which this needs; "
            "install it from a clone of the book: pip install -e '.[live]' in its folder"
        )
    return folder()


def place(where: Path, experiment: str, stem: str) -> Path:
    """Return where a run's record lies, in a folder of records.

    Before format 2 that was the folder itself: a record that is there stays there.
    """
    path = where / experiment / f"{stem}.json"
    old = where / path.name
    return old if os.path.exists(old) and not os.path.exists(path) else path


def read(path: Path | str) -> dict[str, Any]:
    """Read and check one record, with its arrays.

    A record of format 1 gets what it lacks: ``cases``, and its arrays in place of the curves that
    spelled them, ``name_00``, ``name_01`` and so on. It has no units.

    Raises:
        BadRecord: If the file is damaged, foreign, or of a newer format.
    """
    return _whole(_checked(_read_json(path), path), Path(path))


def _whole(record: dict[str, Any], path: Path) -> dict[str, Any]:
    if record["format"] == 1:
        return _of_format_1(record)
    if record["arrays"]:
        where = path.with_suffix(".npz")
        try:
            with np.load(io.BytesIO(where.read_bytes()), allow_pickle=False) as held:
                arrays = {name: held[name] for name in record["arrays"]}
        except Exception as error:  # a torn or foreign file can fail in a dozen ways
            raise BadRecord(f"{where}: the arrays cannot be read ({error}); {_CURE}") from error
        whole = record | {"arrays": arrays}
        stored = described(whole)["arrays"]
        for name, told in record["arrays"].items():
            if told != stored[name]:
                raise BadRecord(f"{where}: {name} is not the array that {path.name} names; {_CURE}")
        return whole
    return record


def _of_format_1(record: dict[str, Any]) -> dict[str, Any]:
    spelled: dict[str, list[str]] = {}
    for name in record["curves"]:
        if result := re.fullmatch(r"(\w+)_\d\d", name):
            spelled.setdefault(result[1], []).append(name)
    spelled = {name: parts for name, parts in spelled.items() if f"{name}_00" in parts}
    arrays = {
        name: np.array([record["curves"][part] for part in sorted(parts)], float).T
        for name, parts in spelled.items()
    }
    parts = {part for names in spelled.values() for part in names}
    curves = {k: v for k, v in record["curves"].items() if k not in parts}
    cases = {"train": record["data"]["train_cases"], "test": record["data"]["test_cases"]}
    data = record["data"] | {"cases": cases}
    return record | {"data": data, "curves": curves, "arrays": arrays, "units": {}}


_CURE = "record the run again with --again, or delete the file"


def _read_json(path: Path | str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        if not Path(path).is_file():  # a pipe would be waited for
            raise FileNotFoundError(None, "there is no such file")
        content = Path(path).read_text(encoding="utf-8")
        return json.loads(content, parse_constant=refuse)
    except RecursionError:
        why = "it is nested too deeply"
    except OSError as error:
        why = error.strerror
    except ValueError as error:  # a whole number can be too long for Python, too
        why = str(error)
    raise BadRecord(f"{path}: not a JSON file that can be read ({why}); {_CURE}")


def _checked(content: Any, path: Path | str) -> dict[str, Any]:
    try:
        check(content, str(path))
    except RecursionError:  # while it says what is wrong
        raise BadRecord(f"{path}: it is nested too deeply; {_CURE}") from None
    except BadRecord as error:
        cure = "" if "update lnlib" in str(error) else f"; {_CURE}"
        raise BadRecord(f"{error}{cure}") from None
    return content


def read_all(experiment: str, where: Path | None = None, **settings: Any) -> list[dict[str, Any]]:
    """Read the records of one experiment whose settings have the given values.

    Args:
        experiment: For example ``mnist``; what a record says of itself counts, not its file's name.
        where: The folder of records; the book's own by default. What lies in the experiment's own
            folder is read, and what lies beside it, as records did before format 2.
        **settings: For example ``norm="layer", batch_size=4``. A record that lacks one of them is
            left out.

    Returns:
        Records in the order of their file names; an empty list where there is none.

    Raises:
        BadRecord: If one of the experiment's records is damaged; all of them are named.
        FileNotFoundError: If the book's own are asked for and lnlib was installed without them.
    """
    asked = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
    records, bad, where = [], [], Path(where or installed())
    paths = [*where.glob("*.json"), *where.glob(f"{experiment}/*.json")]
    for path in sorted(paths, key=lambda path: path.name):
        # All that a damaged file says.
        ours = path.parent != where or path.name.startswith(f"{experiment}-")
        try:
            content = _read_json(path)
            if isinstance(content, dict) and "experiment" in content:
                ours = content["experiment"] == experiment
            if ours:
                content = _checked(content, path)
                if asked.items() <= content["settings"].items():
                    records.append(_whole(content, path))
        except BadRecord as error:
            if ours:
                bad.append(str(error))
    if bad:
        raise BadRecord("\n".join(bad))
    return records


def write(record: dict[str, Any], path: Path) -> None:
    """Check ``record`` and write it: its arrays, and then, in one atomic step, the rest.

    Raises:
        BadRecord: If it does not fit the schema; nothing is written then.
        OSError: If it cannot be written, as where the disk is full.
    """
    check(record, path.name)
    if record["format"] != FORMAT:
        raise BadRecord(
            f"{path.name}: records are written in format {FORMAT}, got {record['format']}; record "
            "the run anew"
        )
    if record["arrays"]:
        atomic_write.write(path.with_suffix(".npz"), _zipped(record["arrays"]))
    # One line a key: a diff can be read, and a curve stays on its line.
    content = described(record).items()
    body = ",\n".join(f" {json.dumps(key)}: {_dump(value)}" for key, value in content)
    atomic_write.write(path, f"{{\n{body}\n}}\n".encode())


def _zipped(arrays: dict[str, np.ndarray]) -> bytes:
    content = io.BytesIO()
    # Not np.savez, for which an array cannot be called "file".
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as held:
        for name, value in arrays.items():
            with held.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, value, allow_pickle=False)
    return content.getvalue()


def pack(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as JSON values, its arrays among them, to be sent elsewhere."""
    if not record.get("arrays"):
        return record
    return record | {"arrays": base64.b64encode(_zipped(record["arrays"])).decode()}


def unpack(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the record that :func:`pack` was given."""
    if not isinstance(sent.get("arrays"), str):
        return sent
    with np.load(io.BytesIO(base64.b64decode(sent["arrays"])), allow_pickle=False) as held:
        return sent | {"arrays": dict(held)}


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before what it is to hold takes hours to make.

    Raises:
        ValueError: If its folder cannot be made, or no such file be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _partial(path).touch()
        _partial(path).unlink()
        if path.is_dir():
            raise IsADirectoryError(None, "a folder of this name is there")
    except OSError as error:
        why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise ValueError(
            f"record_runs: out must be a folder where {path.name} can be written, got "
            f"{path.parent} ({why}); choose another"
        ) from error


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def _dump(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    inner = ",\n".join(
        f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in value.items()
    )
    return f"{{\n{inner}\n }}"


def curves(points: list[dict[str, Any]], x: str) -> dict[str, Any]:
    """Turn measured numbers into named curves of five significant digits, enough to redraw."""

    def short(value: float) -> float | None:
        return float(f"{value:.5g}") if math.isfinite(value) else None

    names = [name for name, value in points[0].items() if not np.ndim(value)]
    return {"x": x} | {name: [short(p[name]) for p in points] for name in names}


def arrays(points: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Turn measured arrays into one each, with the points as its first axis."""
    names = [name for name, value in points[0].items() if np.ndim(value)]
    return {name: np.stack([p[name] for p in points]) for name in names}


def conditions(device: Any) -> dict[str, Any]:
    """Return on what a run is trained now: versions, commit, device and threads."""
    import torch

    return {
        "lnlib": lnlib.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a class of its own, which a checkpoint cannot have
        "numpy": np.__version__,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
    }


def provenance(*, device: Any, wall_s: float, command: str) -> dict[str, Any]:
    """Say what made a run: versions, commit, device, date, wall time (s) and the command."""
    return {
        **conditions(device),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 1),
        "command": command,
    }


def with_segment(
    earlier: list[dict[str, Any]], now: dict[str, Any], epochs: float
) -> list[dict[str, Any]]:
    """Return the parts of a run that were trained under different conditions, up to the present.

    Args:
        earlier: Those until now: each the :func:`conditions`, and ``epochs``, where it ended.
        now: The present conditions.
        epochs: Where the run is, or where it ends if its checkpoint is further.
    """
    if not earlier:
        return [now | {"epochs": epochs}]
    ends = [segment["epochs"] for segment in earlier]
    if ends[-1] >= epochs:  # nothing was trained since, or the checkpoint is further than the run
        k = next(k for k, end in enumerate(ends) if end >= epochs)
        return [*earlier[:k], earlier[k] | {"epochs": epochs}]
    same = earlier[-1] == now | {"epochs": earlier[-1]["epochs"]}
    return [*(earlier[:-1] if same else earlier), now | {"epochs": epochs}]


def device_name(device: Any) -> str:
    """Name a torch device as a person would: the GPU's or the processor's model."""
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
    """Return the commit of the package's source; "-dirty" where the clone differs from it.

    "unknown" outside a clone, also where the package is installed in a folder of another project's
    clone, which does not track it.
    """
    source = Path(lnlab.__file__)
    # Variables that git sets for its hooks would name another repository.
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
