"""Convert arguments and results of exercises to JSON and back, without the code behind them."""

import base64
import importlib
import types
from typing import Any

import numpy as np

PACKAGES = ("lnlib", "lnbook", "numpy")  # packages whose functions and classes a value may refer to


def pack(value: Any) -> Any:
    """Return a value as JSON data.

    Functions and objects are stored by name. Those of an exercise module are not allowed: it
    contains the reference solutions and is not available during grading.

    Raises:
        ValueError: If the value cannot be stored.
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        shape = list(value.shape) if isinstance(value, np.ndarray) else None
        return {"array": content, "dtype": value.dtype.str, "shape": shape}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return {type(value).__name__: [pack(entry) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[pack(key), pack(entry)] for key, entry in value.items()]}
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type):
        return {"import": _name(value)}
    return {"object": _name(type(value)), "state": pack(vars(value))}


def _name(instance: Any) -> str:
    module, name = instance.__module__, instance.__qualname__
    if module.partition(".")[0] not in PACKAGES or module.endswith(".exercises") or "<" in name:
        raise ValueError(
            f"homework stores functions and objects by name, so they must be importable from "
            f"{', '.join(PACKAGES)} and not from a module of exercises, got {name} of {module}; "
            "move it to the chapter's material.py"
        )
    return f"{module}:{name}"


def unpack(data: Any) -> Any:
    """Return the value that :func:`pack` stored; each call creates new arrays and objects."""
    if not isinstance(data, dict):
        return data
    if "array" in data:
        flat = np.frombuffer(base64.b64decode(data["array"]), np.dtype(data["dtype"]))
        return flat[0] if data["shape"] is None else flat.reshape(data["shape"]).copy()
    if "list" in data:
        return [unpack(entry) for entry in data["list"]]
    if "tuple" in data:
        return tuple(unpack(entry) for entry in data["tuple"])
    if "dict" in data:
        return {unpack(key): unpack(entry) for key, entry in data["dict"]}
    if "import" in data:
        return _imported(data["import"])
    instance = object.__new__(_imported(data["object"]))
    instance.__dict__.update(unpack(data["state"]))
    return instance


def _imported(name: str) -> Any:
    module, _, path = name.partition(":")
    if module.partition(".")[0] not in PACKAGES:
        raise ValueError(f"a value must name a module of {', '.join(PACKAGES)}, got {name!r}")
    return getattr(importlib.import_module(module), path)
