"""What a run leaves behind: one JSON file with its settings, curves and provenance.

A schema checks the file on writing and on reading. The book's own records lie in :func:`folder`.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

import lnlib
from lnlib import _files

FORMAT = 1
_text = {"type": "string", "minLength": 1}
_curve = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


SCHEMA = _object(
    format={"const": FORMAT},
    experiment=_text,
    paper=_object(section=_text),
    settings={"type": "object", "minProperties": 1},
    seed={"type": "integer", "minimum": 0},
    data=_object(
        name=_text,
        sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        train_cases={"type": "integer", "minimum": 1},
        test_cases={"type": "integer", "minimum": 1},
    ),
    # Lists of equal length; `x` names the one that is the axis. null stands for "not measured".
    curves={
        "type": "object",
        "required": ["x"],
        "properties": {"x": _text},
        "additionalProperties": _curve,
    },
    provenance=_object(
        lnlib=_text,
        commit=_text,
        python=_text,
        torch=_text,
        numpy=_text,
        device=_text,
        threads={"type": "integer", "minimum": 1},
        date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
        wall_s={"type": "number", "minimum": 0},
        command=_text,
    ),
)


class BadRecord(ValueError):
    """A record that does not say what it must."""


def folder() -> Path:
    """Return where the book's recorded runs lie: ``book/runs``, or the copy in the package."""
    package = Path(lnlib.__file__).parent
    clone = package.parent / "book" / "runs"
    return clone if clone.is_dir() else package / "recorded"


def check(record: dict[str, Any], name: str = "record") -> None:
    """Raise :class:`BadRecord` with one sentence if ``record`` does not fit the schema.

    Args:
        record: As read from JSON.
        name: What to call it in the sentence, a file's path say.
    """
    if (
        isinstance(record, dict)
        and isinstance(record.get("format"), int)
        and record["format"] > FORMAT
    ):
        raise BadRecord(
            f"{name}: written in format {record['format']}, but this lnlib {lnlib.__version__} "
            f"reads up to {FORMAT}; update lnlib"
        )
    if wrong := _wrong(record):
        raise BadRecord(f"{name}: {wrong}")


def _wrong(record: Any) -> str:
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(record)
    )
    if error is not None:
        return f"{error.json_path} does not fit: {error.message[:200]}"
    curves = {k: v for k, v in record["curves"].items() if k != "x"}
    if record["curves"]["x"] not in curves:
        return f"the axis {record['curves']['x']!r} is not among the curves"
    if len({len(curve) for curve in curves.values()}) != 1:
        lengths = {k: len(v) for k, v in curves.items()}
        return f"curves must be of one length, got {lengths}"
    endless = [k for k, v in curves.items() if math.inf in v or -math.inf in v]
    return f"curves must be finite, got inf in {', '.join(endless)}" if endless else ""


def read(path: Path | str) -> dict[str, Any]:
    """Read and check one record.

    Raises:
        BadRecord: If the file is damaged, foreign, or of a newer format.
    """
    return _checked(_read_json(path), path)


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
        where: The folder; the book's own by default.
        **settings: For example ``norm="layer", batch_size=4``. A record that lacks one of them is
            left out.

    Returns:
        Records in the order of their file names; an empty list where there is none.

    Raises:
        BadRecord: If one of the experiment's records is damaged; all of them are named.
    """
    asked = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
    records, bad = [], []
    for path in sorted(Path(where or folder()).glob("*.json")):
        ours = path.name.startswith(f"{experiment}-")  # all that a damaged file says
        try:
            content = _read_json(path)
            if isinstance(content, dict) and "experiment" in content:
                ours = content["experiment"] == experiment
            if ours:
                records.append(_checked(content, path))
        except BadRecord as error:
            if ours:
                bad.append(str(error))
    if bad:
        raise BadRecord("\n".join(bad))
    return [r for r in records if asked.items() <= r["settings"].items()]


def write(record: dict[str, Any], path: Path) -> None:
    """Check ``record`` and write it in one atomic step.

    Raises:
        BadRecord: If it does not fit the schema; nothing is written then.
        OSError: If it cannot be written, as where the disk is full.
    """
    check(record, path.name)
    # One line a key: a diff can be read, and a curve stays on its line.
    body = ",\n".join(f" {json.dumps(key)}: {_dump(value)}" for key, value in record.items())
    _files.write(path, f"{{\n{body}\n}}\n".encode())


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


def curves(points: list[dict[str, float]], x: str) -> dict[str, Any]:
    """Turn measured points into named curves of five significant digits, enough to redraw."""

    def short(value: float) -> float | None:
        return float(f"{value:.5g}") if math.isfinite(value) else None

    return {"x": x} | {name: [short(p[name]) for p in points] for name in points[0]}


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
