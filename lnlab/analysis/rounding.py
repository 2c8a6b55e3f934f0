"""How wrong a deviation is for the arithmetic it was computed in."""

from __future__ import annotations

import numpy as np

from lnlib import numerics


def errors_of_std(x: np.ndarray) -> dict[str, float]:
    """Return the worst relative error of the deviation of vectors, by method.

    ::

        max over the vectors of |std / true - 1|

    ``true`` is float64's for the numbers as ``x`` holds them, so the error is the method's own and
    not that of rounding its input.

    Args:
        x: Shape ``(n, H)``, float16 or float32.

    Returns:
        For each of :data:`lnlib.numerics.METHODS`: infinity where the deviation of a vector came
        out infinite or NaN. NaN itself says that there is nothing to measure: ``x`` holds infinity
        or NaN, or a vector of equal numbers.

    Example:
        >>> x = np.array([[40000, 40001, 40002, 40003]], dtype=np.float32)
        >>> {name: round(error, 3) for name, error in errors_of_std(x).items()}
        {'naive': inf, 'Welford': 0.0, 'two-pass': 0.0, 'shifted': 0.0}
    """
    wide = x.astype(np.float64)
    if not np.isfinite(wide).all() or not (true := wide.std(-1)).all():
        return dict.fromkeys(numerics.METHODS, np.nan)
    errors = {}
    for name, method in numerics.METHODS.items():
        with np.errstate(invalid="ignore"):
            error = np.abs(np.sqrt(method(x)[1].astype(np.float64)) / true - 1).max()
        errors[name] = float(error) if np.isfinite(error) else np.inf
    return errors
