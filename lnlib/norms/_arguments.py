"""Argument checks of the norms, and of what is built of them."""

import difflib
import math
import numbers
from collections.abc import Collection, Mapping

import numpy as np


def check_floats(function: str, eps: float = 0.0, **arrays: np.ndarray | None) -> np.dtype:
    """Check ``eps`` and that all are float arrays; return the dtype they promote to."""
    check_eps(function, eps)
    present = {k: a for k, a in arrays.items() if a is not None or k not in ("gain", "bias")}
    check_arrays(function, present)
    return np.result_type(*present.values())


def check_eps(function: str, eps: float) -> None:
    try:
        real = isinstance(eps, numbers.Real) and not isinstance(eps, bool)
        fits = real and 0 <= float(eps) < math.inf
    except OverflowError:  # an int past the largest float
        fits = False
    if not fits:
        raise ValueError(f"{function}: eps must be finite and >= 0, got {eps!r:.40}; try 1e-5")


def check_arrays(function: str, arrays: Mapping[str, object]) -> None:
    """Check that all are arrays of float16, float32 or float64, of whatever shape."""
    for name, a in arrays.items():
        if isinstance(a, np.ma.MaskedArray):  # its mask would be lost
            got, fix = "MaskedArray", f"fill it first, {name}.filled(...)"
        elif not isinstance(a, np.ndarray) or isinstance(a, np.matrix):
            got, fix = type(a).__name__, f"try np.asarray({name}, dtype=float)"
        elif a.dtype.kind == "c":
            got, fix = a.dtype, f"take {name}.real and {name}.imag separately"
        elif a.dtype.kind != "f" or a.dtype.itemsize > 8:  # float64 sums would round longdouble
            got, fix = a.dtype, f"try {name}.astype(float)"
        else:
            continue
        raise TypeError(f"{function}: {name} must be a NumPy array of floats, got {got}; {fix}")


def check_names(
    function: str, params: Mapping[str, object], known: Collection[str], where: str, fix: str
) -> None:
    """Check that a dict of parameters holds the matrices among ``known``, and nothing unknown.

    Args:
        function: What errors call the function.
        params: The dict.
        known: The names it may contain; it must contain those that begin with W.
        where: Of which these are the names.
        fix: What to do about an unknown name that is like none of them.
    """
    matrices = [name for name in known if name[0] == "W"]
    if not isinstance(params, Mapping):
        raise TypeError(
            f"{function}: params must be a dict of arrays, got {type(params).__name__}; "
            f"{', '.join(matrices)} must be in it"
        )
    for name in params:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            fix = f"did you mean {near[0]!r}?" if near else fix
            raise ValueError(
                f"{function}: params {where} are {', '.join(known)}; got {name!r}; {fix}"
            )
    for name in matrices:
        if name not in params:
            raise ValueError(f"{function}: params must contain {name}, got {', '.join(params)}")


def check_shapes(function: str, shape: tuple[int, ...], **arrays: np.ndarray | None) -> None:
    for name, a in arrays.items():
        if a is not None and a.shape != shape:
            if name == "dy":
                fix = "it is the gradient in the output and has its shape"
            else:
                fix = f"it has one number for each feature, as np.ones({shape})"
            raise ValueError(f"{function}: {name} must be of shape {shape}, got {a.shape}; {fix}")


def check_features(function: str, x: np.ndarray, **parameters: np.ndarray | None) -> int:
    """Check ``(..., H)`` and the parameters ``(H,)``; return H."""
    if x.ndim < 1 or x.shape[-1] < 1:
        raise ValueError(
            f"{function}: x must be of shape (..., H) with H >= 1, got {x.shape}; "
            "the features are the last axis"
        )
    check_shapes(function, x.shape[-1:], **parameters)
    return x.shape[-1]


def check_channels(
    function: str, x: np.ndarray, axes: int = 2, **parameters: np.ndarray | None
) -> tuple[int, int, int]:
    """Check ``(N, C, ...)`` and the parameters ``(C,)``; return N, C and the size of the rest."""
    if x.ndim < axes or 0 in x.shape[1:]:
        expected = ", ".join(["N", "C", "L"][:axes])
        raise ValueError(
            f"{function}: x must be of shape ({expected}, ...), where only N can be 0, "
            f"got {x.shape}; x[None] adds a batch axis"
        )
    check_shapes(function, x.shape[1:2], **parameters)
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


def check_groups(function: str, groups: int, C: int) -> None:
    if not isinstance(groups, numbers.Integral) or isinstance(groups, bool):
        raise TypeError(
            f"{function}: groups must be a whole number, got {type(groups).__name__}; "
            "this argument comes before gain and bias"
        )
    if groups < 1 or C % groups:
        divisors = [n for n in range(1, C + 1) if C % n == 0]
        raise ValueError(
            f"{function}: groups must divide the {C} channels, got {groups}; try one of {divisors}"
        )


def check_cases(function: str, n: int, ddof: int) -> None:
    if not isinstance(ddof, numbers.Integral) or not 0 <= ddof < n:
        raise ValueError(
            f"{function}: ddof must be a whole number >= 0 and below the number of examples in the "
            f"batch, got ddof={ddof!r} for {n}; use a larger batch, or give mean and var"
        )


def check_weights(
    function: str, x: np.ndarray, W: np.ndarray, **parameters: np.ndarray | None
) -> tuple[int, int]:
    """Check ``(..., D)``, ``(H, D)`` and the parameters ``(H,)``; return H and D."""
    if W.ndim != 2 or x.ndim < 1 or x.shape[-1] != W.shape[1] or 0 in W.shape:
        raise ValueError(
            f"{function}: x and W must be of shapes (..., D) and (H, D), "
            f"got {x.shape} and {W.shape}; try W.T"
        )
    check_shapes(function, W.shape[:1], **parameters)
    return W.shape
