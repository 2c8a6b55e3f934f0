"""What eps leaves of small numbers, inside the root and outside."""

from __future__ import annotations

import numpy as np


def deviation_after(
    std: float | np.ndarray, *, eps: float = 1e-5, place: str = "inside"
) -> np.ndarray:
    """Return the deviation after a norm of numbers that had the deviation ``std``.

    ::

        inside:  std / sqrt(std^2 + eps)        outside: std / (std + eps)

    Eqs. 2-4 and 16 of Ba, Kiros & Hinton (2016) have no eps, so their norm leaves 1. The authors'
    Theano code has it inside the root, their Lua code outside.

    Args:
        std: Above 0, any shape.
        eps: Squared units of ``std`` inside the root, units of ``std`` outside.
        place: ``"inside"`` or ``"outside"`` the root, as in :func:`lnlib.numerics.variant`.

    Raises:
        ValueError: If ``place`` is unknown.

    Example:
        >>> float(deviation_after(1e-5, place="outside"))
        0.5
    """
    if place not in ("inside", "outside"):
        raise ValueError(f"deviation_after: place must be inside or outside, got {place!r}")
    std = np.asarray(std, float)
    return std / (np.sqrt(std**2 + eps) if place == "inside" else std + eps)
