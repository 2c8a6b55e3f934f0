"""The gated recurrent unit."""

import numpy as np

from lnlib.cells._shared import Params, _check, _Norms
from lnlib.cells.batch_norm import BatchNormAtStep
from lnlib.norms._activations import sigmoid, sigmoid_slope, tanh_slope


@np.errstate(under="ignore")
def gru_step(
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> np.ndarray:
    """Take one step of a GRU. Eqs. 23-28, with s for the logistic function.

    ::

        paper   r, z = LN_i(W x) + LN_h(W_h h)                        eq. 26
                n = tanh(LN_in(W x) + s(r) LN_hn(U h))                eq. 27
                h = (1 - s(z)) h + s(z) n                             eq. 28
        plain   the same without LN, and with b added to W x
        batch   as paper, with batch norm

    ``z`` is the weight of the new state, as in the paper. In ``torch.nn.GRU`` and in the authors'
    code it is the weight of the old state, so ``z`` has the opposite sign there.

    Args:
        x: Input of this step, shape ``(B, I)``.
        h: State before it, shape ``(B, H)``.
        params: See :mod:`lnlib.cells`.
        form: ``plain``, ``paper`` or ``batch``.
        eps: Inside the root of every norm.
        batch_norm: As for :func:`rnn_step`.

    Returns:
        The state after the step, shape ``(B, H)``.

    Raises:
        ValueError: If a shape, a name in ``params`` or ``form`` is wrong.

    Example:
        >>> params = {"W_ih": np.ones((6, 1)), "W_hh": np.zeros((6, 2))}
        >>> gru_step(np.ones((1, 1)), np.array([[1.0, 5.0]]), params)  # the gates are at 1/2
        array([[0.5, 2.5]])
    """
    norms = _check("gru_step", "gru", form, params, eps, batch_norm, x, h=h)
    _, z, n, *_ = _gru(norms, x @ params["W_ih"].T, h @ params["W_hh"].T)
    return sigmoid(-z) * h + sigmoid(z) * np.tanh(n)


@np.errstate(under="ignore")
def gru_step_backward(
    dh: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return ``(dx, dh, dparams)`` of :func:`gru_step`, by hand.

    ``dh`` is the gradient of the loss in the state after the step, shape ``(B, H)``; the other
    arguments are those of the step, ``h`` before it. Averages of ``batch_norm`` stay as they are.
    The gradients are those in ``x``, in ``h`` and in each array of ``params``.
    """
    norms = _check("gru_step_backward", "gru", form, params, eps, batch_norm, x, h=h, dh=dh)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    r, z, n, candidate = _gru(norms, from_x, from_h)
    dn = dh * sigmoid(z) * tanh_slope(n)
    dr, dz = dn * candidate * sigmoid_slope(r), dh * (np.tanh(n) - h) * sigmoid_slope(z)
    d_gates = np.concatenate([dr, dz], axis=1)
    k = 2 * h.shape[1]
    d_from_x = np.concatenate(
        [norms.back("i", d_gates, from_x[:, :k]), norms.back("in", dn, from_x[:, k:])], axis=1
    )
    d_from_h = np.concatenate(
        [norms.back("h", d_gates, from_h[:, :k]), norms.back("hn", dn * sigmoid(r), from_h[:, k:])],
        axis=1,
    )
    dx, dh_through, dparams = norms.through_weights(
        d_from_x, d_from_h, x, h, b=np.concatenate([d_gates, dn], axis=1)
    )
    return dx, dh_through + dh * sigmoid(-z), dparams


def _gru(norms: _Norms, from_x: np.ndarray, from_h: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return r, z and n before their squashing, and what r is the gate of."""
    k = from_h.shape[1] // 3 * 2
    b = norms.b + np.zeros(from_x.shape[1], from_x.dtype)
    r, z = np.split(norms("i", from_x[:, :k]) + norms("h", from_h[:, :k]) + b[:k], 2, axis=1)
    candidate = norms("hn", from_h[:, k:])
    return r, z, norms("in", from_x[:, k:]) + b[k:] + sigmoid(r) * candidate, candidate
