"""The exercises of the chapter ``outlier_features``."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function


def bound(H: int) -> float:
    """Return the largest absolute value that a feature can have after layer norm without eps."""
    return np.sqrt(H - 1.0)


def rotate(W: np.ndarray, gain: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return weights for the rotated, normalized stream, with the gain of the norm folded in."""
    return (W * gain) @ Q


def _layers(rng: np.random.Generator) -> Iterator[tuple]:
    for outputs, H in ((3, 2), (4, 4), (2, 5)):
        Q, _ = np.linalg.qr(rng.normal(size=(H, H)))
        yield rng.normal(size=(outputs, H)), 1 + rng.uniform(size=H), Q


EXERCISES = {
    "largest-normalized-feature": Function(
        bound,
        cases=lambda rng: [(H,) for H in (2, 3, 64, 4096)],
        misconceptions={
            "this is the bound of RMSNorm. LayerNorm subtracts the mean as well, so the other "
            "features must have the opposite sign.": lambda H: np.sqrt(H),
            "this is the square of the bound.": lambda H: H - 1.0,
            "a single outlier a gives the mean a/H. Subtract it from all features before you "
            "divide by the standard deviation.": lambda H: H / np.sqrt(H - 1.0),
        },
        on_success="The bound is reached if all other features are equal, and approached as the "
        "outlier grows otherwise.",
    ),
    "rotate-the-weights": Function(
        rotate,
        cases=_layers,
        misconceptions={
            "the gain is applied after the rotation. It belongs to the features before it: scale "
            "the columns of `W`, then rotate.": lambda W, gain, Q: (W @ Q) * gain,
            "the gain is missing: the norm of the rotated stream has none, so `W` has to contain "
            "it.": lambda W, gain, Q: W @ Q,
            "this rotates once more instead of back: `x' = x @ Q`, so `x = x' @ Q.T`, and "
            "`W @ (x' @ Q.T).T = (W @ Q) @ x'.T`.": lambda W, gain, Q: (W * gain) @ Q.T,
            "`x_hat` is multiplied by the gain, not divided.": lambda W, gain, Q: (W / gain) @ Q,
        },
        on_success="The layer returns the same outputs as before, and the gain of the norm is now "
        "1.",
    ),
}
