"""The JSON schema of records, and the validation of records against it."""

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
    """Schema of an optional property."""


def _object(**properties: Any) -> dict[str, Any]:
    required = [name for name, prop in properties.items() if not isinstance(prop, _Optional)]
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
        # Lists of equal length; `x` is the name of the curve on the x axis. null stands for "not
        # measured", or for a non-finite number if the experiment allows divergence.
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
            # Only if a run was resumed under other conditions; the last segment's are those above.
            segments=_Optional(
                {
                    "type": "array",
                    "minItems": 2,
                    "items": _object(**_conditions, epochs={"type": "number", "minimum": 0}),
                }
            ),
        ),
    )


def _mapping_of(value: Any) -> dict[str, Any]:
    names = {"pattern": r"^[A-Za-z_]\w*$"}
    return {"type": "object", "propertyNames": names, "additionalProperties": value}


SCHEMAS = {
    1: _schema(1, {"train_cases": _count, "test_cases": _count}),
    2: _schema(
        2,
        {"cases": _mapping_of({"type": "integer", "minimum": 0}) | {"minProperties": 1}},
        # The first axis of an array has the measuring points of the curves.
        arrays=_mapping_of(
            _object(
                shape={"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
                dtype={"type": "string", "pattern": r"^(bool|u?int\d+|float\d+)$"},
                sha256=_sha256,
            )
        ),
        units=_mapping_of(_text),
    ),
}


class BadRecord(ValueError):
    """A record that is damaged or does not match the schema."""


def check(record: dict[str, Any], name: str = "record") -> None:
    """Raise :class:`BadRecord` if ``record`` does not match the schema.

    Args:
        record: The record, with NumPy arrays or as read from JSON.
        name: Name of the record in the error message, for example the path of its file.
    """
    number = record.get("format") if isinstance(record, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise BadRecord(
            f"{name}: written in format {number}, but this lnlib {lnlib.__version__} "
            f"reads up to {FORMAT}; update lnlib"
        )
    if not isinstance(number, int) or number not in SCHEMAS:
        number = FORMAT
    if problem := _describe_problem(array_summaries(record), SCHEMAS[number]):
        raise BadRecord(f"{name}: {problem}")


_TYPES = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_NUMBERS = {float, int, type(None)}


def _describe_mismatch(value: Any, schema: dict[str, Any], path: str = "$") -> str:
    """Return a sentence on the first mismatch of a value and a schema, or an empty string.

    This implements the part of JSON Schema that is used above, so that records can be read where
    only NumPy is installed.
    """
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    types = tuple(type_ for name in names for type_ in _TYPES[name])
    reason = ""
    if names and (not isinstance(value, types) or isinstance(value, bool)):
        reason = f"{_format_value(value)} is not of type {' or '.join(map(repr, names))}"
    elif "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        reason = f"{schema['const']!r} was expected"
    elif isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            reason = f"{_format_value(value)} is too short"
        elif "pattern" in schema and not re.search(schema["pattern"], value):
            reason = f"{_format_value(value)} does not match {schema['pattern']!r}"
    elif "minimum" in schema and value < schema["minimum"]:
        reason = f"{_format_value(value)} is less than the minimum of {schema['minimum']}"
    elif isinstance(value, dict):
        return _describe_object_mismatch(value, schema, path)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            reason = "it has too few items"
        elif schema.get("items") is _curve["items"] and {*map(type, value)} <= _NUMBERS:
            return ""  # fast path for the numbers of curves, most of a record
        else:
            mismatches = (
                _describe_mismatch(item, schema["items"], f"{path}[{k}]")
                for k, item in enumerate(value)
            )
            return next(filter(None, mismatches), "")
    return reason and f"{path} does not fit: {reason}"


def _format_value(value: Any) -> str:
    return "the value" if isinstance(value, dict | list) else repr(value)[:150]


def _describe_object_mismatch(value: dict[str, Any], schema: dict[str, Any], path: str) -> str:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{path} does not fit: {name!r} is a required property"
    if len(value) < schema.get("minProperties", 0):
        return f"{path} does not fit: it has too few properties"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    names = schema.get("propertyNames")
    for name, part in value.items():
        if names and (mismatch := _describe_mismatch(name, names, path)):
            return mismatch
        expected = properties.get(name, others)
        if expected is not None and (
            mismatch := _describe_mismatch(part, expected, f"{path}.{name}")
        ):
            return mismatch
    return ""


def _path_of_infinity(value: Any, path: str = "$") -> str:
    """Return the path of a number that is not finite, such as 1e999, or an empty string."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else path
    parts: Any = ()
    if isinstance(value, dict):
        parts = ((part, f"{path}.{name}") for name, part in value.items())
    elif isinstance(value, list):
        parts = ((part, f"{path}[{k}]") for k, part in enumerate(value))
    return next(filter(None, (_path_of_infinity(*part) for part in parts)), "")


def _describe_problem(record: Any, schema: dict[str, Any]) -> str:
    if mismatch := _describe_mismatch(record, schema):
        return mismatch
    if where := _path_of_infinity({k: v for k, v in record.items() if k != "curves"}):
        return f"numbers must be finite, got inf at {where}"
    curves = {k: v for k, v in record["curves"].items() if k != "x"}
    if record["curves"]["x"] not in curves:
        return f"the axis {record['curves']['x']!r} is not among the curves"
    lengths = {k: len(v) for k, v in curves.items()}
    if len(set(lengths.values())) != 1:
        return f"curves must be of one length, got {lengths}"
    infinite = [k for k, v in curves.items() if math.inf in v or -math.inf in v]
    if infinite:
        return f"curves must be finite, got inf in {', '.join(infinite)}"
    if record["format"] == 1:
        return ""
    arrays = {k: tuple(v["shape"]) for k, v in record["arrays"].items()}
    (points,) = set(lengths.values())
    if any(shape[0] != points for shape in arrays.values()):
        return f"arrays must have a row for each of the {points} points, got {arrays}"
    if common := sorted(arrays.keys() & curves):
        return f"a name must be of a curve or of an array, got {', '.join(common)} of both"
    if record["units"].keys() != (names := arrays.keys() | curves.keys()):
        return f"units must name {', '.join(sorted(names))}, got {', '.join(record['units'])}"
    return ""


def array_summaries(record: Any) -> Any:
    """Return a record whose arrays are replaced by their shape, dtype and SHA-256."""
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
