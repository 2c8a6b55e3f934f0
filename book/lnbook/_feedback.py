"""Describe what is wrong with a result, with few digits, in the same words on every machine."""

import inspect
import linecache
import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

MAX_SHOWN = 8  # the largest array that is shown completely

# Results.


def is_missing(answer: object) -> bool:
    """Return whether the starter's ``...`` is still there."""
    if isinstance(answer, np.ndarray) and answer.dtype == object:
        answer = answer.tolist()
    if isinstance(answer, list | tuple):
        return any(map(is_missing, answer))
    return answer is ... or answer is None


def numbers(value: object) -> np.ndarray | None:
    """Return numbers or Booleans as an array, or ``None`` for anything else."""
    try:
        a = np.asarray(_without_gradient(value))
    except (ValueError, TypeError, RuntimeError):  # ragged, or a type that NumPy cannot convert
        return None
    return a if a.dtype.kind in "biuf" else None


def _without_gradient(value: Any) -> Any:
    """Detach tensors, alone or in a list, so that NumPy can convert them."""
    if isinstance(value, list | tuple):
        return [_without_gradient(v) for v in value]
    return value.detach().cpu() if hasattr(value, "detach") else value


def are_equal(a: object, b: object, tolerance: float) -> bool:
    """Return whether two results are of the same kind and shape and have the same numbers."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list) and tuple in (type(a), type(b)):
        return len(a) == len(b) and all(
            are_equal(v, w, tolerance) for v, w in zip(a, b, strict=True)
        )
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    a, b = numbers(a), numbers(b)
    if a is None or b is None or a.shape != b.shape:
        return False
    return np.allclose(a.astype(float), b.astype(float), tolerance, tolerance, equal_nan=True)


def form_problem(expected: np.ndarray, answer: object, what: str) -> str | None:
    """Return what is wrong with the kind or shape of an answer, or with its NaN or infinities."""
    got = numbers(answer)
    if got is None:
        thing = "a number" if expected.ndim == 0 else "an array of numbers"
        hint = "; take the quotation marks away" if isinstance(answer, str) else ""
        return f"{what} must be {thing}, got {describe(answer)}{hint}."
    if got.shape != expected.shape and not (expected.ndim == 0 and got.size == 1):
        shapes = f"{_of_shape(expected)}, got {_of_shape(got)}"
        return f"{what} must be {shapes}{_shape_hint(got, expected)}."
    for name, test, hint in (
        ("NaN", np.isnan, "look for 0 / 0 and for the square root of a negative number"),
        ("infinite", np.isinf, "look for a division by 0"),
    ):
        if test(got).any() and not test(expected).any():
            share = f"{test(got).sum()} of {got.size} numbers of {what} are"
            return f"{share if got.size > 1 else f'{what} is'} {name}; {hint}."
    return None


def difference(
    expected: object, result: object, tolerance: float, dtype: bool, what: str = "the result"
) -> str | None:
    """Return how a result differs from the expected one, or ``None`` if it does not."""
    if isinstance(expected, str):
        if expected == result:
            return None
        got = repr(result) if isinstance(result, str) else describe(result)
        return f"{what} must be {expected!r}, got {got}."
    want = np.asarray(expected)
    if problem := form_problem(want, result, what):
        return problem
    got = numbers(result).reshape(want.shape)
    if dtype and got.dtype != want.dtype:
        return f"{what} must be of dtype {want.dtype}, got {got.dtype}."
    if are_equal(want, got, tolerance):
        return None
    if want.size <= MAX_SHOWN:
        a, b = _distinct_texts(got, want)
        return f"{what} must be {b}, got {a}{_pattern(want, got)}."
    off = ~np.isclose(got, want, tolerance, tolerance, equal_nan=True)
    gap = np.where(off, np.abs(np.subtract(got, want, dtype=float)), 0)
    worst = np.unravel_index(gap.argmax(), gap.shape)
    a, b = _distinct_texts(got[worst], want[worst])
    index = ", ".join(map(str, worst))
    return (
        f"{off.sum()} of {off.size} numbers of {what} are wrong; the one with the largest error, "
        f"at [{index}], must be {b}, got {a}{_pattern(want, got)}."
    )


def _pattern(want: np.ndarray, got: np.ndarray) -> str:
    """Return what the numbers of a wrong result have in common, if the pattern is simple."""
    want, got = want.astype(float).ravel(), got.astype(float).ravel()
    if len(want) < 2 or not np.isfinite([want, got]).all() or not got.any():
        return ""
    if np.allclose(got, -want):
        return "; every sign is reversed"
    factor = (got @ want) / (want @ want) if want.any() else 0
    if factor and np.allclose(got, factor * want, rtol=1e-5, atol=1e-9 * np.abs(want).max()):
        return f"; every number is {factor:.4g} times what it must be"
    shift = (got - want).mean()
    if np.allclose(got, want + shift, rtol=1e-5, atol=1e-9 * np.abs(want).max()):
        return f"; every number is too {'large' if shift > 0 else 'small'} by {abs(shift):.4g}"
    return ""


def _shape_hint(got: np.ndarray, want: np.ndarray) -> str:
    """Return the likely cause of a wrong shape, if it is a common one."""
    if got.ndim < want.ndim and got.shape == want.squeeze().shape and got.ndim:
        return "; `keepdims=True` keeps the axis that a mean or a sum runs over"
    if got.ndim > 1 and got.shape == want.shape[::-1]:
        return "; its axes are in reverse order"
    return ""


def describe_exception(error: Exception, answer: Callable, where: str) -> str:
    """Return which exception the answer raised, and on which of its own lines."""
    message = " ".join(str(error).split())
    if isinstance(error, TypeError) and "ellipsis" in message:
        return "there is still a `...` in the function; put your code in its place."
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = linecache.getline(file, own[-1].lineno).strip() if own else ""
    what = type(error).__name__ + (f" ({message.rstrip('.')})" if message else "")
    location = f" at `{line[:70]}`" if line else ""
    return f"{where} the function raised {what}{location}."


# Arguments.


def case_size(args: tuple) -> int:
    """Return how many numbers a case contains."""
    return sum(np.size(a) for a in args)


def signature(function: Callable) -> str:
    """Return the names of a function's arguments, in parentheses."""
    names = list(inspect.signature(function).parameters)
    return f"({', '.join(names)})" if names else "none"


def arguments(reference: Callable, args: tuple) -> str:
    """Describe the arguments of a case: small ones by value, large arrays by shape."""
    return ", ".join(f"{name} {_argument(a)}" for name, a in _named(reference, args))


def modified_argument(reference: Callable, before: tuple, after: tuple) -> str | None:
    """Return the name of the first argument that was modified, or ``None``."""
    for (name, a), b in zip(_named(reference, before), after, strict=True):
        if not _equal(a, b):
            return name
    return None


def _named(reference: Callable, args: tuple) -> list[tuple[str, Any]]:
    return list(inspect.signature(reference).bind(*args).arguments.items())


def _argument(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > MAX_SHOWN:
        return f"of shape {value.shape}"
    if isinstance(value, np.ndarray | float):
        return f"= {format_array(value)}"
    if isinstance(value, np.random.Generator):
        return "a random generator"
    return f"= {getattr(value, '__name__', None) or repr(value)}"


def _equal(a: Any, b: Any) -> bool:
    """Return whether an argument is unchanged; an object that is not data always is."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    return True


# Describing values.


def describe(value: object) -> str:
    """Describe a value by its kind, such as "a function" or "an array of float64"."""
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    if isinstance(value, bool | int | float | np.generic):
        return f"the number {value}"
    if callable(value):
        return "a function"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def result_count(value: object) -> str:
    """Return how many results a function returned, in words."""
    if isinstance(value, tuple | list):
        return f"it returns {len(value)} results"
    return "it returns one result"


def format_array(a: object, digits: int = 4) -> str:
    """Format an array, with ``digits`` significant digits for its largest number."""
    a = np.asarray(a)
    if a.ndim:
        shown = [_number(v, a, digits) for v in a.ravel()[:MAX_SHOWN]]
        return _nest(shown, a.shape) if a.size <= MAX_SHOWN else f"[{', '.join(shown)}, …]"
    return _number(a[()], a, digits)


def _number(value: Any, among: np.ndarray, digits: int) -> str:
    """Format one number of an array, rounded to the precision of the largest one."""
    if among.dtype.kind == "b":
        return str(bool(value))
    finite = np.abs(among[np.isfinite(among)].astype(float))
    largest = finite.max(initial=0)
    if not np.isfinite(value) or not largest:
        return f"{float(value):g}"
    value = round(float(value), digits - 1 - math.floor(math.log10(largest))) + 0.0  # no -0
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.12g}"


def _distinct_texts(a: np.ndarray, b: np.ndarray) -> tuple[str, str]:
    """Format two arrays with as many digits as it takes to tell them apart."""
    for digits in (4, 8, 12, 17):
        texts = format_array(a, digits), format_array(b, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _nest(texts: list[str], shape: tuple[int, ...]) -> str:
    if len(shape) > 1:
        step = len(texts) // max(1, shape[0])
        texts = [_nest(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return f"[{', '.join(texts)}]"


def _of_shape(a: np.ndarray) -> str:
    return f"an array of shape {a.shape}" if a.ndim else "a single number"
