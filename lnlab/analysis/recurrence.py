"""A simple recurrent network over many steps: states, gradients, padding and statistics.

Networks are those of :func:`lnlib.cells.rnn_step`, eq. 4 of Ba, Kiros & Hinton (2016) and its
variants, with the same ``params`` and options ``form``, ``nonlinearity`` and ``eps``. The first
axis of inputs is the step, ``(T, B, I)``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lnlib import cells, norms
from lnlib.cells.rnn import find_activation
from lnlib.norms._statistics import standardize, standardize_backward


def orthogonal(inputs: int, hidden: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return random parameters with an orthogonal ``W_hh``, which preserves the norm of ``h``.

    Args:
        inputs: Number of features per step, I.
        hidden: Number of units, H.
        rng: Generator for the parameters.

    Returns:
        ``W_ih`` of shape ``(H, I)``, with entries of std 1 / sqrt(I), and ``W_hh``, ``(H, H)``.
    """
    W_ih = rng.normal(size=(hidden, inputs)) / np.sqrt(inputs)
    W_hh, _ = np.linalg.qr(rng.normal(size=(hidden, hidden)))
    return {"W_ih": W_ih, "W_hh": W_hh}


def states(x: np.ndarray, h: np.ndarray, params: cells.Params, **options: Any) -> np.ndarray:
    """Run a network over all steps.

    Args:
        x: Inputs, shape ``(T, B, I)``.
        h: State before the first step, shape ``(B, H)``.
        params: As for :func:`lnlib.cells.rnn_step`.
        **options: As for :func:`lnlib.cells.rnn_step`.

    Returns:
        The state before the first step and after each step, shape ``(T + 1, B, H)``.
    """
    result = [h]
    for step in x:
        result.append(cells.rnn_step(step, result[-1], params, **options))
    return np.stack(result)


@dataclass(frozen=True)
class SequenceOutputs:
    """Sizes of summed inputs and gradients over T steps.

    Attributes:
        summed: Root mean square of ``W_ih x + W_hh h`` before any norm, per step, ``(T,)``.
        gradient: Norm of the gradient with respect to the state after step T - k, for k from 0,
            relative to that for k = 0, ``(T,)``. The loss depends on the last state only.
    """

    summed: np.ndarray
    gradient: np.ndarray


@np.errstate(under="ignore")
def carry(
    x: np.ndarray,
    dh: np.ndarray,
    params: cells.Params,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
) -> SequenceOutputs:
    """Run a network from state 0 over all steps, and propagate the gradient back.

    Args:
        x: Inputs, shape ``(T, B, I)``.
        dh: Gradient of the loss with respect to the last state, shape ``(B, H)``.
        params: As for :func:`lnlib.cells.rnn_step`.
        form: As for :func:`lnlib.cells.rnn_step`.
        nonlinearity: As for :func:`lnlib.cells.rnn_step`.
        eps: As for :func:`lnlib.cells.rnn_step`.

    Example:
        >>> params = orthogonal(1, 2, np.random.default_rng(0))
        >>> params["W_hh"] = 2 * params["W_hh"]
        >>> carry(np.ones((4, 1, 1)), np.ones((1, 2)), params, form="plain",
        ...       nonlinearity="identity").gradient.round(3)
        array([1., 2., 4., 8.])
    """
    f, slope = find_activation("carry", nonlinearity)
    h, before = [np.zeros_like(dh)], []
    for step in x:  # saved, because the slope of a saturated tanh cannot be computed from its value
        before.append(
            cells.rnn_step(step, h[-1], params, form=form, nonlinearity="identity", eps=eps)
        )
        h.append(f(before[-1]))
    from_h = np.stack(h[:-1]) @ params["W_hh"].T  # (T, B, H)
    total = x @ params["W_ih"].T + from_h
    slopes = slope(np.stack(before))
    # Factors of the gradient that do not depend on it, for all steps at once.
    place, z = ("s", total) if form == "paper" else ("h", from_h)
    turn = np.transpose if form == "batch" else np.asarray  # batch norm's rows are features
    if form == "batch":
        z = z.swapaxes(1, 2)
    if form != "plain":
        slopes = slopes * params.get(f"gain_{place}", 1.0)
        x_hat, std = standardize(z, eps)
    lengths = [np.linalg.norm(dh)]
    for t in range(len(x) - 1, 0, -1):
        da = dh * slopes[t]
        if form != "plain":
            da = turn(standardize_backward(turn(da), x_hat[t], std[t]))
        dh = da @ params["W_hh"]
        lengths.append(np.linalg.norm(dh))
    summed = np.sqrt((total**2).mean((1, 2)))
    return SequenceOutputs(summed, np.array(lengths) / lengths[0])


def padded_states(
    x: np.ndarray,
    lengths: Sequence[int],
    params: cells.Params,
    *,
    leave_out: bool = False,
    **options: Any,
) -> np.ndarray:
    """Run sequences of different lengths, with zeros as the initial state.

    Args:
        x: Padded inputs, shape ``(T, B, I)``.
        lengths: Length of each sequence, at most T, in descending order.
        params: As for :func:`lnlib.cells.rnn_step`.
        leave_out: Whether each step has only the sequences that have not ended, as in a packed
            batch; otherwise, all sequences continue through their padding.
        **options: As for :func:`lnlib.cells.rnn_step`.

    Returns:
        The state after each step, shape ``(T, B, H)``; NaN where a sequence was left out.

    Raises:
        ValueError: If the number of ``lengths`` differs from that of sequences, or they are not in
            descending order.
    """
    steps, rows, _ = x.shape
    longest_first = sorted(lengths, reverse=True)
    if len(lengths) != rows or list(lengths) != longest_first or longest_first[0] > steps:
        raise ValueError(
            f"padded_states: lengths must be {rows} numbers up to {steps}, the longest first, got "
            f"{list(lengths)}; sort the sequences by length"
        )
    h = np.zeros((rows, params["W_hh"].shape[1]))
    result = np.full((steps, *h.shape), np.nan)
    for t in range(steps):
        on = sum(length > t for length in lengths) if leave_out else rows
        result[t, :on] = cells.rnn_step(x[t, :on], h[:on], params, **options)
        h = result[t]
    return result


@dataclass(frozen=True)
class BatchNormOverTime:
    """Input part of recurrent batch norm at test time, over T steps.

    Attributes:
        data: Standard deviation of ``W_ih x`` over the test data, root mean square over the units,
            per step, ``(T,)``.
        running: The same from the running statistics, by ``each step`` and ``shared``.
        size: Root mean square of ``W_ih x`` after its norm, by the same keys and ``layer``.
    """

    data: np.ndarray
    running: dict[str, np.ndarray]
    size: dict[str, np.ndarray]


def over_time(
    training: Iterable[np.ndarray], test: np.ndarray, params: cells.Params, *, eps: float = 1e-5
) -> BatchNormOverTime:
    """Average the statistics of recurrent batch norm, and normalize sequences that may be longer.

    Statistics are per step (those of the last training step are used for later steps) or shared by
    all steps; see :class:`lnlib.cells.RecurrentBatchNorm`.

    Args:
        training: Batches, each ``(T_train, B, I)``.
        test: One batch, shape ``(T, B, I)``.
        params: As for :func:`lnlib.cells.rnn_step` with ``form="batch"``.
        eps: Constant inside the square root of every norm.
    """
    kinds = {
        "each step": cells.RecurrentBatchNorm(),
        "shared": cells.RecurrentBatchNorm(shared=True),
    }
    for x in training:
        for t, part in enumerate(x @ params["W_ih"].T):  # independent of the state
            for statistics in kinds.values():
                statistics.at(t).update("i", part)
    part = test @ params["W_ih"].T  # (T, B, H)
    running, size = {}, {"layer": _size(norms.layer_norm(part, eps=eps))}
    for kind, statistics in kinds.items():
        means, variances = (
            np.stack([value("i", t) for t in range(len(test))])[:, None]
            for value in (statistics.mean, statistics.var)
        )
        running[kind] = np.sqrt(variances.mean((1, 2)))
        size[kind] = _size((part - means) / np.sqrt(variances + eps))
    return BatchNormOverTime(np.sqrt(part.var(axis=1).mean(-1)), running, size)


def _size(a: np.ndarray) -> np.ndarray:
    return np.sqrt((a**2).mean((1, 2)))
