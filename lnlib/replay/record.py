"""What a run leaves behind: one JSON file with its settings, curves and provenance.

A schema checks the file on writing and on reading. The book's own records lie in :func:`folder`.
"""

from __future__ import annotations

import datetime
import json
import math
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
    return clone if clone.is_dir() else package / "runs"


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
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(record)
    )
    if error is not None:
        raise BadRecord(f"{name}: {error.json_path} does not fit: {error.message[:200]}")
    curves = {k: v for k, v in record["curves"].items() if k != "x"}
    if record["curves"]["x"] not in curves:
        raise BadRecord(f"{name}: the axis {record['curves']['x']!r} is not among the curves")
    if len({len(curve) for curve in curves.values()}) != 1:
        lengths = {k: len(v) for k, v in curves.items()}
        raise BadRecord(f"{name}: curves must be of one length, got {lengths}")


def read(path: Path | str) -> dict[str, Any]:
    """Read and check one record.

    Raises:
        BadRecord: If the file is damaged, foreign, or of a newer format.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadRecord(f"{path}: not a JSON file ({error}); record the run again") from error
    check(record, str(path))
    return record


def read_all(experiment: str, where: Path | None = None, **settings: Any) -> list[dict[str, Any]]:
    """Read the records of one experiment whose settings have the given values.

    Args:
        experiment: For example ``mnist``.
        where: The folder; the book's own by default.
        **settings: For example ``norm="layer", batch_size=4``.

    Returns:
        Records in the order of their file names; an empty list where there is none.
    """
    paths = sorted(Path(where or folder()).glob(f"{experiment}-*.json"))
    records = [read(path) for path in paths]
    return [r for r in records if all(r["settings"].get(k) == v for k, v in settings.items())]


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
