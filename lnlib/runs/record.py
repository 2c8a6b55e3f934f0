"""What a run leaves behind: a JSON file with settings, curves and provenance, arrays beside it.

A schema checks the file on writing and on reading. In memory an array is NumPy's; in the file it is
its shape, type and SHA-256, and lies in an ``.npz`` of the same name. The book's own records lie in
:func:`folder`, in one folder an experiment. Format 1, which had no arrays and no units, is read.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
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

import jsonschema
import numpy as np

import lnlib
from lnlib import _files

FORMAT = 2
_text = {"type": "string", "minLength": 1}
_curve = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


_count = {"type": "integer", "minimum": 1}
_sha256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _schema(number: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return _object(
        format={"const": number},
        experiment=_text,
        paper=_object(section=_text),
        settings={"type": "object", "minProperties": 1},
        seed={"type": "integer", "minimum": 0},
        data=_object(name=_text, sha256=_sha256, **data),
        # Lists of equal length; `x` names the one that is the axis. null stands for "not measured",
        # or for no finite number where an experiment follows its runs beyond that.
        curves={
            "type": "object",
            "required": ["x"],
            "properties": {"x": _text},
            "additionalProperties": _curve,
        },
        **more,
        provenance=_object(
            lnlib=_text,
            commit=_text,
            python=_text,
            torch=_text,
            numpy=_text,
            device=_text,
            threads=_count,
            date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
            wall_s={"type": "number", "minimum": 0},
            command=_text,
        ),
    )


def _named(value: Any) -> dict[str, Any]:
    names = {"pattern": r"^[A-Za-z_]\w*$"}
    return {"type": "object", "propertyNames": names, "additionalProperties": value}


SCHEMAS = {
    1: _schema(1, {"train_cases": _count, "test_cases": _count}),
    2: _schema(
        2,
        {"cases": _named({"type": "integer", "minimum": 0}) | {"minProperties": 1}},
        # The first axis of an array is that of the curves.
        arrays=_named(
            _object(
                shape={"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                dtype={"type": "string", "pattern": r"^(bool|u?int\d+|float\d+)$"},
                sha256=_sha256,
            )
        ),
        units=_named(_text),
    ),
}


class BadRecord(ValueError):
    """A record that does not say what it must."""


def folder() -> Path:
    """Return where the book's recorded runs lie: ``book/runs``, or the copy in the package."""
    package = Path(lnlib.__file__).parent
    clone = package.parent / "book" / "runs"
    return clone if clone.is_dir() else package / "recorded"


def place(where: Path, experiment: str, stem: str) -> Path:
    """Return where a run's record lies, in a folder of records.

    Before format 2 that was the folder itself: a record that is there stays there.
    """
    path = where / experiment / f"{stem}.json"
    old = where / path.name
    return old if os.path.exists(old) and not os.path.exists(path) else path


def check(record: dict[str, Any], name: str = "record") -> None:
    """Raise :class:`BadRecord` with one sentence if ``record`` does not fit the schema.

    Args:
        record: With its arrays, or as read from JSON.
        name: What to call it in the sentence, a file's path say.
    """
    found = record.get("format") if isinstance(record, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise BadRecord(
            f"{name}: written in format {found}, but this lnlib {lnlib.__version__} "
            f"reads up to {FORMAT}; update lnlib"
        )
    number = found if isinstance(found, int) and found in SCHEMAS else FORMAT
    if wrong := _wrong(_described(record), SCHEMAS[number]):
        raise BadRecord(f"{name}: {wrong}")


def _wrong(record: Any, schema: dict[str, Any]) -> str:
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(record)
    )
    if error is not None:
        return f"{error.json_path} does not fit: {error.message[:200]}"
    curves = {k: v for k, v in record["curves"].items() if k != "x"}
    if record["curves"]["x"] not in curves:
        return f"the axis {record['curves']['x']!r} is not among the curves"
    lengths = {k: len(v) for k, v in curves.items()}
    if len(set(lengths.values())) != 1:
        return f"curves must be of one length, got {lengths}"
    endless = [k for k, v in curves.items() if math.inf in v or -math.inf in v]
    if endless:
        return f"curves must be finite, got inf in {', '.join(endless)}"
    if record["format"] == 1:
        return ""
    arrays = {k: tuple(v["shape"]) for k, v in record["arrays"].items()}
    (points,) = set(lengths.values())
    if any(shape[0] != points for shape in arrays.values()):
        return f"arrays must have a row for each of the {points} points, got {arrays}"
    if twice := sorted(arrays.keys() & curves):
        return f"a name must be of a curve or of an array, got {', '.join(twice)} of both"
    if record["units"].keys() != (named := arrays.keys() | curves.keys()):
        return f"units must name {', '.join(sorted(named))}, got {', '.join(record['units'])}"
    return ""


def _described(record: Any) -> Any:
    """Return a record with what a file says of its arrays in place of them."""
    if not isinstance(record, dict) or not isinstance(record.get("arrays"), dict):
        return record
    return record | {
        "arrays": {
            name: {
                "shape": list(value.shape),
                "dtype": value.dtype.name,
                "sha256": hashlib.sha256(_bytes(value)).hexdigest(),
            }
            if isinstance(value, np.ndarray)
            else value
            for name, value in record["arrays"].items()
        }
    }


def _bytes(value: np.ndarray) -> bytes:
    return value.astype(value.dtype.newbyteorder("<"), order="C").tobytes()


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
        kept = record | {"arrays": arrays}
        found = _described(kept)["arrays"]
        for name, told in record["arrays"].items():
            if told != found[name]:
                raise BadRecord(f"{where}: {name} is not the array that {path.name} names; {_CURE}")
        return kept
    return record


def _of_format_1(record: dict[str, Any]) -> dict[str, Any]:
    spelled: dict[str, list[str]] = {}
    for name in record["curves"]:
        if found := re.fullmatch(r"(\w+)_\d\d", name):
            spelled.setdefault(found[1], []).append(name)
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
    """
    asked = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
    records, bad, where = [], [], Path(where or folder())
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
        _files.write(path.with_suffix(".npz"), _zipped(record["arrays"]))
    # One line a key: a diff can be read, and a curve stays on its line.
    content = _described(record).items()
    body = ",\n".join(f" {json.dumps(key)}: {_dump(value)}" for key, value in content)
    _files.write(path, f"{{\n{body}\n}}\n".encode())


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


def provenance(*, device: Any, wall_s: float, command: str) -> dict[str, Any]:
    """Say what made a run: versions, commit, device, date, wall time (s) and the command."""
    import torch

    return {
        "lnlib": lnlib.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 1),
        "command": command,
    }


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
    # "-dirty" where the package differs from the commit; "unknown" outside a clone.
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(
            command, cwd=Path(lnlib.__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
