"""Conditions on two measured fractions of the residual stream (pre-norm, post-norm)."""


def is_no_fraction(pre: float, post: float) -> bool:
    """Return whether one of them is outside the range from 0 to 1."""
    return not (0 <= pre <= 1 and 0 <= post <= 1)


def is_swapped(pre: float, post: float) -> bool:
    """Return whether the fraction of post-norm is much larger."""
    return post > 100 * pre


def is_the_same_block(pre: float, post: float) -> bool:
    """Return whether the two are nearly equal."""
    return 0.5 < post / max(pre, 1e-12) < 2


def is_untrained(pre: float, post: float) -> bool:
    """Return whether post-norm still has its value before training."""
    return post > 0.01


def is_trained_too_little(pre: float, post: float) -> bool:
    """Return whether pre-norm is still at its minimum after the first updates."""
    return pre < 0.0005
