"""The network of the figures, colors of its variants, and formatting of numbers."""

from functools import cache

import numpy as np

from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, power_of_ten
from lnlab.analysis import recurrence

HIDDEN, INPUTS, SEQUENCES = 32, 8, 16

#: Maps the form of :func:`lnlib.cells.rnn_step` to label, color, dash.
STYLES = {
    "plain": NORMS["none"],
    "paper": ("layer norm, sum", *NORMS["layer"][1:]),
    "parts": ("layer norm, parts", COLORS["variant"], "dashdot"),
    "batch": NORMS["batch"],
}


@cache
def weights() -> tuple[np.ndarray, np.ndarray]:
    """Return W_ih ``(32, 8)`` and an orthogonal W_hh ``(32, 32)``, which preserves norms."""
    params = recurrence.orthogonal(INPUTS, HIDDEN, np.random.default_rng(0))
    return params["W_ih"], params["W_hh"]


def parameters(form: str, scale: float = 1.0, gain: float = 1.0) -> dict[str, np.ndarray]:
    """Return the parameters of a network.

    Args:
        form: A form of :func:`lnlib.cells.rnn_step`.
        scale: Factor of W_hh, and thus of the norm of W_hh h relative to that of h.
        gain: Gain of every norm.
    """
    W_ih, W_hh = weights()
    places = {"plain": "", "paper": "s"}.get(form, "ih")
    gains = {f"gain_{place}": np.full(HIDDEN, float(gain)) for place in places}
    return {"W_ih": W_ih, "W_hh": scale * W_hh} | gains


def format_size(value: float) -> str:
    """Format a positive number with few digits; very large and small ones in powers of ten."""
    if value == 0:
        return "0"
    if 0.0095 <= value < 999.5:
        return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
    mantissa, exponent = f"{value:.0e}".split("e")
    ten = power_of_ten(int(exponent))
    return ten if mantissa == "1" else f"{mantissa}·{ten}"
