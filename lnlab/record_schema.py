"""What a record says, and the check of it."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

import numpy as np

import lnlib

FORMAT = 2
_text = {"type": "string", "minLength": 1}
_curve = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1}


class _Optional(dict):
    """The schema of a property that may be missing."""


def _object(**properties: Any) -> dict[str, Any]:
    required = [name for name, of in properties.items() if not isinstance(of, _Optional)]
    return {"type": "object", "required": required, "properties": properties}


_count = {"type": "integer", "minimum": 1}
_sha256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


_conditions = {
    **dict.fromkeys(("lnlib", "commit", "python", "torch", "numpy", "device"), _text),
    "threads": _count,
}


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
            **_conditions,
            date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
            wall_s={"type": "number", "minimum": 0},
            command=_text,
            # Of a run that was resumed under other conditions; the last are those above.
            segments=_Optional(
                {
                    "type": "array",
                    "minItems": 2,
                    "items": _object(**_conditions, epochs={"type": "number", "minimum": 0}),
                }
            ),
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


def check(record: dict[str, Any], name: str = "record") -> None:
    """Raise :class:`BadRecord` with one sentence if ``record`` does not fit the schema.

    Args:
        record: With its arrays, or as read from JSON.
        name: What to call it in the sentence, a file's path say.
    """
    number = record.get("format") if isinstance(record, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise BadRecord(
            f"{name}: written in format {number}, but this lnlib {lnlib.__version__} "
            f"reads up to {FORMAT}; update lnlib"
        )
    if not isinstance(number, int) or number not in SCHEMAS:
        number = FORMAT
    if wrong := _wrong(described(record), SCHEMAS[number]):
        raise BadRecord(f"{name}: {wrong}")


_TYPES = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_NUMBERS = {float, int, type(None)}


def _misfit(value: Any, schema: dict[str, Any], path: str = "$") -> str:
    """Return in a sentence where a value does not fit a schema first; nothing if it fits.

    The part of JSON Schema that is used above, so that a record can be read with NumPy alone.
    """
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    types = tuple(of for kind in kinds for of in _TYPES[kind])
    why = ""
    if kinds and (not isinstance(value, types) or isinstance(value, bool)):
        why = f"{_shown(value)} is not of type {' or '.join(map(repr, kinds))}"
    elif "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        why = f"{schema['const']!r} was expected"
    elif isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            why = f"{_shown(value)} is too short"
        elif "pattern" in schema and not re.search(schema["pattern"], value):
            why = f"{_shown(value)} does not match {schema['pattern']!r}"
    elif "minimum" in schema and value < schema["minimum"]:
        why = f"{_shown(value)} is less than the minimum of {schema['minimum']}"
    elif isinstance(value, dict):
        return _misfit_within(value, schema, path)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            why = "it has too few items"
        elif schema.get("items") is _curve["items"] and {*map(type, value)} <= _NUMBERS:
            return ""  # most of a record: not one by one
        else:
            parts = enumerate(value)
            result = (_misfit(part, schema["items"], f"{path}[{k}]") for k, part in parts)
            return next(filter(None, result), "")
    return why and f"{path} does not fit: {why}"


def _shown(value: Any) -> str:
    return "the value" if isinstance(value, dict | list) else repr(value)[:150]


def _misfit_within(value: dict[str, Any], schema: dict[str, Any], path: str) -> str:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{path} does not fit: {name!r} is a required property"
    if len(value) < schema.get("minProperties", 0):
        return f"{path} does not fit: it has too few properties"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    names = schema.get("propertyNames")
    for name, part in value.items():
        if names and (wrong := _misfit(name, names, path)):
            return wrong
        of = properties.get(name, others)
        if of is not None and (wrong := _misfit(part, of, f"{path}.{name}")):
            return wrong
    return ""


def _infinite(value: Any, path: str = "$") -> str:
    """Return where a number is not finite, as 1e999 is in JSON; nothing if all are."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else path
    parts: Any = ()
    if isinstance(value, dict):
        parts = ((part, f"{path}.{name}") for name, part in value.items())
    elif isinstance(value, list):
        parts = ((part, f"{path}[{k}]") for k, part in enumerate(value))
    return next(filter(None, (_infinite(*part) for part in parts)), "")


def _wrong(record: Any, schema: dict[str, Any]) -> str:
    if wrong := _misfit(record, schema):
        return wrong
    if where := _infinite({k: v for k, v in record.items() if k != "curves"}):
        return f"numbers must be finite, got inf at {where}"
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


def described(record: Any) -> Any:
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
