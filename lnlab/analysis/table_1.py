"""Table 1 of the paper measured whole, and one cell of it number by number.

Ba, Kiros & Hinton (2016), section 5.1; :mod:`lnlib.invariance` says what is transformed how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lnlib import invariance

#: Below this a change is rounding: the exact invariances stay under 1e-12.
ROUNDING = 1e-9


class Change(NamedTuple):
    """One layer before and after a transformation, each array ``(N, H)``, unit beside same unit.

    Attributes:
        summed: Summed inputs before.
        new_summed: Summed inputs after.
        output: Outputs before.
        new_output: Outputs after.
    """

    summed: np.ndarray
    new_summed: np.ndarray
    output: np.ndarray
    new_output: np.ndarray


def change(
    norm: str,
    transformation: str,
    X: np.ndarray,
    layer: invariance.Layer,
    *,
    strength: float | None = None,
    eps: float = 0.0,
) -> Change:
    """Transform one layer or its data, and look at every summed input and output.

    Args:
        norm: One of :data:`lnlib.invariance.NORMS`.
        transformation: One of :data:`lnlib.invariance.TRANSFORMS`.
        X: Data, a case a row, shape ``(N, D)``.
        layer: Of H units.
        strength: Factor or shift; 3 if ``None``.
        eps: Inside the root of every norm that has one.

    Example:
        >>> X, W = np.array([[1.0], [2.0]]), np.array([[1.0], [-1.0], [3.0]])
        >>> layer = invariance.Layer(W, np.ones(3), np.zeros(3))
        >>> found = change("layer", "dataset_rescaling", X, layer, strength=2.0)
        >>> np.array_equal(found.new_summed, 2 * found.summed)
        True
        >>> bool(np.abs(found.new_output - found.output).max() < ROUNDING)
        True
    """
    new_X, (new,), order = invariance.transform(transformation, X, (layer,), strength=strength)

    def summed(data: np.ndarray, of: invariance.Layer) -> np.ndarray:
        a = data @ of.W.T
        return a if of.input_bias is None else a + of.input_bias

    before = summed(X, layer), invariance.output(norm, X, (layer,), eps=eps)
    after = summed(new_X, new), invariance.output(norm, new_X, (new,), eps=eps)
    return Change(before[0][:, order], after[0], before[1][:, order], after[1])


def changes(
    X: np.ndarray, units: Sequence[int], *, eps: float = 0.0, strength: float | None = None
) -> np.ndarray:
    """Measure every transformation under every norm.

    Args:
        X: Data, a case a row, shape ``(N, D)``.
        units: Of each layer, multiples of 4; tanh stands behind each if there are several.
        eps: Inside the root of every norm that has one.
        strength: Factor or shift; 3 if ``None``.

    Returns:
        The largest change of an output, shape ``(10, 7)``: :data:`lnlib.invariance.TRANSFORMS` by
        :data:`lnlib.invariance.NORMS`.

    Example:
        >>> found = changes(np.random.default_rng(0).normal(size=(16, 8)), [12])
        >>> (found[:6, :3] < ROUNDING).sum(axis=0)  # batch, weight and layer norm in Table 1
        array([4, 2, 4])
    """
    result = np.empty((len(invariance.TRANSFORMS), len(invariance.NORMS)))
    activation = "tanh" if len(units) > 1 else "identity"
    for j, norm in enumerate(invariance.NORMS):
        layers = invariance.network([X.shape[1], *units], np.random.default_rng(1), norm=norm)
        options = {"X": X, "layers": layers, "strength": strength, "eps": eps}
        for i, name in enumerate(invariance.TRANSFORMS):
            result[i, j] = invariance.measure(norm, name, activation=activation, **options)
    return result
