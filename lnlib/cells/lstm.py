"""Long short-term memory."""

import numpy as np

from lnlib.cells._shared import Params, _check, _Norms
from lnlib.cells.batch_norm import BatchNormAtStep
from lnlib.norms._activations import sigmoid, sigmoid_slope, tanh_slope


@np.errstate(under="ignore")
def lstm_step(
    x: np.ndarray,
    state: tuple[np.ndarray, np.ndarray],
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Take one step of an LSTM. Eqs. 17-22 and 29-31, with s for the logistic function.

    ::

        paper      i, f, g, o = LN_i(W_ih x) + LN_h(W_hh h) + b         eq. 20
                   c = s(f) c + s(i) tanh(g)                            eq. 21
                   h = s(o) tanh(LN_c(c))                               eq. 22
        plain      i, f, g, o = W_ih x + W_hh h + b;  h = s(o) tanh(c)
        draw       i, f, g, o = W_ih x + W_hh h + b;  h as in eq. 22
        per_gate   i, f, g, o = LN_s(W_ih x + W_hh h + b), each alone; h as in eq. 22
        carried    c = LN_c(s(f) c + s(i) tanh(g)), and h = s(o) tanh(c)
        batch      as paper, with batch norm

    Args:
        x: Input of this step, shape ``(B, I)``.
        state: ``(h, c)`` before it, each of shape ``(B, H)``.
        params: See :mod:`lnlib.cells`.
        form: One of the six.
        eps: Inside the root of every norm.
        batch_norm: As for :func:`rnn_step`.

    Returns:
        ``(h, c)`` after the step.

    Raises:
        ValueError: If a shape, a name in ``params`` or ``form`` is wrong.

    Example:
        >>> params = {"W_ih": np.ones((8, 1)), "W_hh": np.zeros((8, 2))}
        >>> state = np.zeros((1, 2)), np.array([[1.0, 5.0]])
        >>> h, c = lstm_step(np.ones((1, 1)), state, params)  # equal gates: LN gives 0, s(0) = 1/2
        >>> c, h.round(3)
        (array([[0.5, 2.5]]), array([[-0.381,  0.381]]))
    """
    h, c = _two("lstm_step", "state", state)
    norms = _check("lstm_step", "lstm", form, params, eps, batch_norm, x, h=h, c=c)
    gates, c, c_norm = _lstm(norms, x @ params["W_ih"].T, h @ params["W_hh"].T, c)
    return sigmoid(gates[3]) * np.tanh(c_norm), c_norm if form == "carried" else c


@np.errstate(under="ignore")
def lstm_step_backward(
    dstate: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    state: tuple[np.ndarray, np.ndarray],
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
    """Return ``(dx, (dh, dc), dparams)`` of :func:`lstm_step`, by hand.

    ``dstate`` is the pair of gradients of the loss in ``(h, c)`` after the step, each of shape
    ``(B, H)``; the other arguments are those of the step, ``state`` before it. Averages of
    ``batch_norm`` stay as they are. The gradients are those in ``x``, in the state before the step
    and in each array of ``params``.
    """
    name = "lstm_step_backward"
    (dh, dc), (h, c) = _two(name, "dstate", dstate), _two(name, "state", state)
    norms = _check(name, "lstm", form, params, eps, batch_norm, x, h=h, c=c, dh=dh, dc=dc)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    (i, f, g, o), c_new, c_norm = _lstm(norms, from_x, from_h, c)
    # Eq. 22, then 21: into the cell along h, and along what is carried on.
    d_c_norm = dh * sigmoid(o) * tanh_slope(c_norm)
    if form == "carried":
        d_c_new = norms.back("c", d_c_norm + dc, c_new)
    else:
        d_c_new = norms.back("c", d_c_norm, c_new) + dc
    d_gates = np.concatenate(
        [
            d_c_new * np.tanh(g) * sigmoid_slope(i),
            d_c_new * c * sigmoid_slope(f),
            d_c_new * sigmoid(i) * tanh_slope(g),
            dh * np.tanh(c_norm) * sigmoid_slope(o),
        ],
        axis=1,
    )
    db = d_gates
    if form == "per_gate":
        db = d_from_x = d_from_h = norms.back("s", d_gates, from_x + from_h + norms.b)
    else:
        d_from_x, d_from_h = norms.back("i", d_gates, from_x), norms.back("h", d_gates, from_h)
    dx, dh, dparams = norms.through_weights(d_from_x, d_from_h, x, h, b=db)
    return dx, (dh, d_c_new * sigmoid(f)), dparams


def _lstm(
    norms: _Norms, from_x: np.ndarray, from_h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the gates i, f, g, the cell, the cell normalized, and the gate o."""
    if norms.form == "per_gate":
        gates = norms("s", from_x + from_h + norms.b)
    else:
        gates = norms("i", from_x) + norms("h", from_h) + norms.b
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [i, f, g, o], c, norms("c", c)


def _two(function: str, name: str, state: object) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(state, tuple) or len(state) != 2:
        raise TypeError(
            f"{function}: {name} must be a pair of arrays (h, c), got {type(state).__name__}; "
            "an LSTM carries both"
        )
    return state
