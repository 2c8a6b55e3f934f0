"""A simple recurrent network."""

from collections.abc import Callable

import numpy as np

from lnlib.cells._shared import Params, _check, _Norms
from lnlib.cells.batch_norm import BatchNormAtStep
from lnlib.norms._activations import tanh_slope

ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {  # f, and its slope
    "tanh": (np.tanh, tanh_slope),
    "relu": (lambda a: np.maximum(a, 0), lambda a: (a > 0).astype(a.dtype)),
    "identity": (lambda a: a, np.ones_like),
}


@np.errstate(under="ignore")
def rnn_step(
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> np.ndarray:
    """Take one step of a simple recurrent network. Eq. 4, where f is the nonlinearity.

    ::

        plain         h = f(W_ih x + W_hh h + b)
        paper         h = f(LN_s(W_ih x + W_hh h))
        parts, batch  h = f(N_i(W_ih x) + N_h(W_hh h) + b)

    Args:
        x: Input of this step, shape ``(B, I)``.
        h: State before it, shape ``(B, H)``.
        params: See :mod:`lnlib.cells`.
        form: ``plain``, ``paper``, ``parts`` or ``batch``.
        nonlinearity: ``tanh``, ``relu`` or ``identity``.
        eps: Inside the root of every norm.
        batch_norm: For ``batch``: whose statistics to take, from :class:`RecurrentBatchNorm`;
            ``None`` takes the batch's own and keeps nothing.

    Returns:
        The state after the step, shape ``(B, H)``.

    Raises:
        ValueError: If a shape, a name in ``params``, ``form`` or ``nonlinearity`` is wrong.

    Example:
        >>> params = {"W_ih": np.eye(2), "W_hh": np.zeros((2, 2))}
        >>> rnn_step(np.array([[3.0, 1.0]]), np.zeros((1, 2)), params, eps=0).round(3)
        array([[ 0.762, -0.762]])
    """
    norms = _check("rnn_step", "rnn", form, params, eps, batch_norm, x, h=h)
    f, _ = find_activation("rnn_step", nonlinearity)
    return f(_rnn_sum(norms, x @ params["W_ih"].T, h @ params["W_hh"].T))


@np.errstate(under="ignore")
def rnn_step_backward(
    dh: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    batch_norm: BatchNormAtStep | None = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return ``(dx, dh, dparams)`` of :func:`rnn_step`, by hand.

    ``dh`` is the gradient of the loss in the state after the step, shape ``(B, H)``; the other
    arguments are those of the step, ``h`` before it. Averages of ``batch_norm`` stay as they are.
    The gradients are those in ``x``, in ``h`` and in each array of ``params``.
    """
    norms = _check("rnn_step_backward", "rnn", form, params, eps, batch_norm, x, h=h, dh=dh)
    _, slope = find_activation("rnn_step_backward", nonlinearity)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    da = dh * slope(_rnn_sum(norms, from_x, from_h))
    if form == "paper":
        d_from_x = d_from_h = norms.back("s", da, from_x + from_h)
    else:
        d_from_x, d_from_h = norms.back("i", da, from_x), norms.back("h", da, from_h)
    return norms.through_weights(d_from_x, d_from_h, x, h, b=da)


def _rnn_sum(norms: _Norms, from_x: np.ndarray, from_h: np.ndarray) -> np.ndarray:
    """Return what the nonlinearity is applied to."""
    if norms.form == "paper":
        return norms("s", from_x + from_h)
    return norms("i", from_x) + norms("h", from_h) + norms.b


def find_activation(function: str, nonlinearity: str) -> tuple[Callable, Callable]:
    """Return a nonlinearity and its derivative, both of the summed inputs."""
    if nonlinearity not in ACTIVATIONS:
        raise ValueError(
            f"{function}: nonlinearity must be one of {', '.join(ACTIVATIONS)}; "
            f"got {nonlinearity!r}"
        )
    return ACTIVATIONS[nonlinearity]
