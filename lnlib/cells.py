"""One step of a recurrent network in NumPy: plain, normalized, and the gradient by hand.

Ba, Kiros & Hinton (2016), arXiv:1607.06450, eq. 4 and the appendix. Each cell takes a ``form``:

============  =========================  ====================================================
``rnn_step``  ``plain``                  h = f(W_x x + W_h h + b)
              ``paper``                  h = f(LN(W_x x + W_h h))                      eq. 4
              ``parts``                  h = f(LN(W_x x) + LN(W_h h) + b)
``lstm_step`` ``plain``                  no norm                                       eqs. 17-19
              ``paper``                  LN(W_x x) + LN(W_h h) + b; tanh(LN(c))        eqs. 20-22
              ``draw``                   tanh(LN(c)) alone                             eqs. 29-31
              ``carried``                as ``paper``, but LN(c) is what is carried on
              ``per_gate``               LN of each gate alone, after the sum; tanh(LN(c))
``gru_step``  ``plain``                  no norm                                       eqs. 23-25
              ``paper``                  LN of r and z jointly, and of the candidate   eqs. 26-28
all three     ``batch``                  batch norm where ``paper`` of an LSTM or GRU, or
                                         ``parts`` of an RNN, has layer norm
============  =========================  ====================================================

``carried`` and ``per_gate`` are not the paper's; public code has them under the same name.

Parameters come as a dict of arrays, ``H`` the number of units, ``I`` of inputs, ``G`` the number
of gates (RNN 1; LSTM 4: i, f, g, o; GRU 3: r, z, then the candidate n):

- ``W_ih`` of shape ``(G H, I)`` and ``W_hh`` of shape ``(G H, H)``, which must be there.
- ``b`` of shape ``(G H,)``; zeros if it is missing. Eq. 4 and eqs. 26-28 have none.
- a ``gain_`` and a ``bias_`` for each norm, ones and zeros if missing: ``_i`` of the input's part,
  ``_h`` of the hidden state's part, ``_s`` of their sum, ``_c`` of the cell; for a GRU ``_i`` and
  ``_h`` span r and z, ``_in`` and ``_hn`` the candidate.

Mistakes raise ``ValueError`` or ``TypeError``; arguments are never written over.
"""

import difflib
from collections.abc import Callable, Mapping

import numpy as np

from lnlib import norm

Params = Mapping[str, np.ndarray]

# From form to the places that it normalizes, and whether it has a bias b.
_RNN = {"plain": ("", True), "paper": ("s", False), "parts": ("i h", True), "batch": ("i h", True)}
_LSTM = {
    "plain": ("", True),
    "paper": ("i h c", True),
    "carried": ("i h c", True),
    "per_gate": ("s c", True),
    "draw": ("c", True),
    "batch": ("i h c", True),
}
_GRU = {"plain": ("", True), "paper": ("i h in hn", False), "batch": ("i h in hn", False)}


# A simple recurrent network.

_ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {  # f, and its slope from f's value
    "tanh": (np.tanh, lambda y: 1 - y**2),
    "relu": (lambda a: np.maximum(a, 0), lambda y: (y > 0).astype(y.dtype)),
    "identity": (lambda a: a, np.ones_like),
}


def rnn_step(
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
) -> np.ndarray:
    """Take one step of a simple recurrent network. Eq. 4, where f is the nonlinearity.

    ::

        plain         h = f(W_ih x + W_hh h + b)
        paper         h = f(LN_s(W_ih x + W_hh h))
        parts, batch  h = f(N_i(W_ih x) + N_h(W_hh h) + b)

    Args:
        x: Input of this step, shape ``(B, I)``.
        h: State before it, shape ``(B, H)``.
        params: See the top of this module.
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
    norms = _open("rnn_step", _RNN, form, 1, params, eps, batch_norm, x, h=h)
    f, _ = _activation("rnn_step", nonlinearity)
    return f(_rnn_sum(norms, x @ params["W_ih"].T, h @ params["W_hh"].T))


def rnn_step_backward(
    dh: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    nonlinearity: str = "tanh",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return ``(dx, dh, dparams)`` of :func:`rnn_step`, by hand.

    Args:
        dh: Gradient of the loss in the state after the step, shape ``(B, H)``.
        x: As for the step, and so are the rest.
        h: State before the step.
        params: See the top of this module.
        form: As for the step.
        nonlinearity: As for the step.
        eps: As for the step.
        batch_norm: As for the step; its averages stay as they are.

    Returns:
        Gradients in ``x``, in the state before the step, and in each array of ``params``.
    """
    norms = _open("rnn_step_backward", _RNN, form, 1, params, eps, batch_norm, x, h=h, dh=dh)
    f, slope = _activation("rnn_step_backward", nonlinearity)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    da = dh * slope(f(_rnn_sum(norms, from_x, from_h)))
    if form == "paper":
        d_from_x = d_from_h = norms.back("s", da, from_x + from_h)
    else:
        d_from_x, d_from_h = norms.back("i", da, from_x), norms.back("h", da, from_h)
    return norms.through_weights(d_from_x, d_from_h, x, h, b=da)


def _rnn_sum(norms: "_Norms", from_x: np.ndarray, from_h: np.ndarray) -> np.ndarray:
    """Return what the nonlinearity is applied to."""
    if norms.form == "paper":
        return norms("s", from_x + from_h)
    return norms("i", from_x) + norms("h", from_h) + norms.b


# Long short-term memory.


def lstm_step(
    x: np.ndarray,
    state: tuple[np.ndarray, np.ndarray],
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
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
        params: See the top of this module.
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
    norms = _open("lstm_step", _LSTM, form, 4, params, eps, batch_norm, x, h=h, c=c)
    *_, c, c_norm, o = _lstm(norms, x @ params["W_ih"].T, h @ params["W_hh"].T, c)
    return o * np.tanh(c_norm), c_norm if form == "carried" else c


def lstm_step_backward(
    dstate: tuple[np.ndarray, np.ndarray],
    x: np.ndarray,
    state: tuple[np.ndarray, np.ndarray],
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
    """Return ``(dx, (dh, dc), dparams)`` of :func:`lstm_step`, by hand.

    Args:
        dstate: Gradients of the loss in ``(h, c)`` after the step, each of shape ``(B, H)``.
        x: As for the step, and so are the rest.
        state: ``(h, c)`` before the step.
        params: See the top of this module.
        form: As for the step.
        eps: As for the step.
        batch_norm: As for the step; its averages stay as they are.

    Returns:
        Gradients in ``x``, in the state before the step, and in each array of ``params``.
    """
    name = "lstm_step_backward"
    (dh, dc), (h, c) = _two(name, "dstate", dstate), _two(name, "state", state)
    norms = _open(name, _LSTM, form, 4, params, eps, batch_norm, x, h=h, c=c, dh=dh, dc=dc)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    i, f, g, c_new, c_norm, o = _lstm(norms, from_x, from_h, c)
    tanh_c = np.tanh(c_norm)
    # Eq. 22, then 21: into the cell along h, and along what is carried on.
    d_c_norm = dh * o * (1 - tanh_c**2)
    if form == "carried":
        d_c_new = norms.back("c", d_c_norm + dc, c_new)
    else:
        d_c_new = norms.back("c", d_c_norm, c_new) + dc
    d_gates = np.concatenate(
        [
            d_c_new * g * i * (1 - i),
            d_c_new * c * f * (1 - f),
            d_c_new * i * (1 - g**2),
            dh * tanh_c * o * (1 - o),
        ],
        axis=1,
    )
    db = d_gates
    if form == "per_gate":
        db = d_from_x = d_from_h = norms.back("s", d_gates, from_x + from_h + norms.b)
    else:
        d_from_x, d_from_h = norms.back("i", d_gates, from_x), norms.back("h", d_gates, from_h)
    dx, dh, dparams = norms.through_weights(d_from_x, d_from_h, x, h, b=db)
    return dx, (dh, d_c_new * f), dparams


def _lstm(
    norms: "_Norms", from_x: np.ndarray, from_h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the gates i, f, g, the cell, the cell normalized, and the gate o."""
    if norms.form == "per_gate":
        gates = norms("s", from_x + from_h + norms.b)
    else:
        gates = norms("i", from_x) + norms("h", from_h) + norms.b
    i, f, g, o = np.split(gates, 4, axis=1)
    i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
    c = f * c + i * g
    return i, f, g, c, norms("c", c), o


# The gated recurrent unit.


def gru_step(
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
) -> np.ndarray:
    """Take one step of a GRU. Eqs. 23-28, with s for the logistic function.

    ::

        paper   r, z = LN_i(W x) + LN_h(W_h h)                        eq. 26
                n = tanh(LN_in(W x) + s(r) LN_hn(U h))                eq. 27
                h = (1 - s(z)) h + s(z) n                             eq. 28
        plain   the same without LN, and with b beside W x
        batch   as paper, with batch norm

    ``z`` opens the gate to the new, as in the paper. ``torch.nn.GRU`` and the authors' own code
    open it to the old: there ``z`` has the opposite sign.

    Args:
        x: Input of this step, shape ``(B, I)``.
        h: State before it, shape ``(B, H)``.
        params: See the top of this module.
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
    norms = _open("gru_step", _GRU, form, 3, params, eps, batch_norm, x, h=h)
    _, z, n, *_ = _gru(norms, x @ params["W_ih"].T, h @ params["W_hh"].T)
    return (1 - z) * h + z * n


def gru_step_backward(
    dh: np.ndarray,
    x: np.ndarray,
    h: np.ndarray,
    params: Params,
    *,
    form: str = "paper",
    eps: float = 1e-5,
    batch_norm: "AtStep | None" = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return ``(dx, dh, dparams)`` of :func:`gru_step`, by hand.

    Args:
        dh: Gradient of the loss in the state after the step, shape ``(B, H)``.
        x: As for the step, and so are the rest.
        h: State before the step.
        params: See the top of this module.
        form: As for the step.
        eps: As for the step.
        batch_norm: As for the step; its averages stay as they are.

    Returns:
        Gradients in ``x``, in the state before the step, and in each array of ``params``.
    """
    norms = _open("gru_step_backward", _GRU, form, 3, params, eps, batch_norm, x, h=h, dh=dh)
    from_x, from_h = x @ params["W_ih"].T, h @ params["W_hh"].T
    norms.peek = True
    r, z, n, candidate = _gru(norms, from_x, from_h)
    dn = dh * z * (1 - n**2)
    d_gates = np.concatenate([dn * candidate * r * (1 - r), dh * (n - h) * z * (1 - z)], axis=1)
    k = 2 * h.shape[1]
    d_from_x = np.concatenate(
        [norms.back("i", d_gates, from_x[:, :k]), norms.back("in", dn, from_x[:, k:])], axis=1
    )
    d_from_h = np.concatenate(
        [norms.back("h", d_gates, from_h[:, :k]), norms.back("hn", dn * r, from_h[:, k:])], axis=1
    )
    dx, dh_through, dparams = norms.through_weights(
        d_from_x, d_from_h, x, h, b=np.concatenate([d_gates, dn], axis=1)
    )
    return dx, dh_through + dh * (1 - z), dparams


def _gru(norms: "_Norms", from_x: np.ndarray, from_h: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return r, z, n and the hidden state's part of the candidate."""
    k = from_h.shape[1] // 3 * 2
    b = norms.b + np.zeros(from_x.shape[1], from_x.dtype)
    r, z = np.split(
        _sigmoid(norms("i", from_x[:, :k]) + norms("h", from_h[:, :k]) + b[:k]), 2, axis=1
    )
    candidate = norms("hn", from_h[:, k:])
    return r, z, np.tanh(norms("in", from_x[:, k:]) + b[k:] + r * candidate), candidate


# Batch norm through time.


class RecurrentBatchNorm:
    """Running statistics for batch norm in a recurrent network: the baseline of section 4.

    The summed inputs of step 1 are distributed otherwise than those of step 50, so batch norm
    keeps a mean and a variance for each time step, for each norm of the cell. Cooijmans et al.
    (2016); their gains start at 0.1, as section 4 says. ``shared=True`` keeps one for all steps.

    A training step uses the statistics of the batch and moves the averages; at test time the
    averages stand in. A test sequence longer than any in training has none from there on, and
    the last step's are used.

    Args:
        shared: One set of statistics for all steps.
        momentum: Weight of the newest batch. The first batch of a step is taken whole.

    Example:
        >>> statistics = RecurrentBatchNorm()
        >>> params = {"W_ih": np.eye(1), "W_hh": np.eye(1)}
        >>> h = np.zeros((2, 1))
        >>> for t, x in enumerate(np.array([[[1.0], [3.0]], [[2.0], [8.0]]])):
        ...     h = rnn_step(x, h, params, form="batch", batch_norm=statistics.at(t))
        >>> statistics.steps
        2
        >>> statistics.mean("i", 1)
        array([5.])
    """

    def __init__(self, *, shared: bool = False, momentum: float = 0.1) -> None:
        if not 0 < momentum <= 1:
            raise ValueError(
                f"RecurrentBatchNorm: momentum must be above 0 and at most 1, got {momentum}; "
                "it is the weight of the newest batch, often 0.1"
            )
        self.shared, self.momentum = shared, momentum
        self._kept: list[dict[str, tuple[np.ndarray, np.ndarray]]] = []

    @property
    def steps(self) -> int:
        """How many steps have statistics of their own."""
        return len(self._kept)

    def at(self, t: int, *, training: bool = True) -> "AtStep":
        """Return what a cell takes as ``batch_norm`` at step ``t``, counted from 0.

        Raises:
            ValueError: If ``t`` is negative or skips a step in training, or nothing is kept yet
                at test time.
        """
        t = 0 if self.shared else t
        if training and not 0 <= t <= self.steps:
            raise ValueError(
                f"RecurrentBatchNorm.at: t must be from 0 to {self.steps} in training, the first "
                f"step without statistics, got {t}; train on the steps in order"
            )
        if not training and (t < 0 or not self.steps):
            raise ValueError(
                "RecurrentBatchNorm.at: a test needs t from 0 and statistics from training, got "
                f"t = {t} and {self.steps} steps with statistics; run training steps first"
            )
        return AtStep(self, t, training)

    def mean(self, place: str, t: int) -> np.ndarray:
        """Return the running mean at step ``t`` of the norm at ``place``, such as ``"h"``."""
        return self._kept[self._known(t)][place][0]

    def var(self, place: str, t: int) -> np.ndarray:
        """Return the running variance at step ``t`` of the norm at ``place``."""
        return self._kept[self._known(t)][place][1]

    def _known(self, t: int) -> int:
        return min(t, self.steps - 1)  # 0 where they are shared

    def _update(self, place: str, t: int, z: np.ndarray) -> None:
        mean, var = norm.batch_statistics(z, ddof=1)
        if t == self.steps:
            self._kept.append({})
        kept = self._kept[t]
        if place in kept:
            mean = norm.update_running(kept[place][0], mean, self.momentum)
            var = norm.update_running(kept[place][1], var, self.momentum)
        kept[place] = mean, var


class AtStep:
    """:class:`RecurrentBatchNorm` at one time step; made by its ``at``."""

    def __init__(self, statistics: RecurrentBatchNorm, t: int, training: bool) -> None:
        self.statistics, self.t, self.training = statistics, t, training

    def given(self, place: str) -> dict[str, np.ndarray]:
        """Return ``mean`` and ``var`` to use instead of the batch's own, if any."""
        if self.training:
            return {}
        kept = self.statistics
        return {"mean": kept.mean(place, self.t), "var": kept.var(place, self.t)}

    def seen(self, place: str, z: np.ndarray) -> None:
        """Move the averages towards the batch ``z``, in training."""
        if self.training:
            self.statistics._update(place, self.t, z)


# What the cells share.


class _Norms:
    """The norms of one step by their place, forward and back; gradients gather in ``grads``."""

    def __init__(
        self,
        form: str,
        places: list[str],
        params: Params,
        eps: float,
        batch_norm: AtStep | None,
    ) -> None:
        self.form, self.places, self.params, self.eps = form, places, params, eps
        self.batch_norm = batch_norm
        self.peek = False  # a backward pass looks at the batch a second time: count it once
        self.b = params.get("b", 0.0)
        self.grads: dict[str, np.ndarray] = {}

    def __call__(self, place: str, z: np.ndarray) -> np.ndarray:
        """Return ``z`` normalized, or as it is where the form has no norm."""
        if place not in self.places:
            return z
        gain, bias = self.params.get(f"gain_{place}"), self.params.get(f"bias_{place}")
        if self.form == "batch":
            if self.batch_norm and not self.peek:
                self.batch_norm.seen(place, z)
            return norm.batch_norm(z, gain, bias, eps=self.eps, **self._given(place))
        if place == "s" and self.form == "per_gate":
            return norm.group_norm(z, 4, gain, bias, eps=self.eps)  # each gate alone
        return norm.layer_norm(z, gain, bias, eps=self.eps)

    def back(self, place: str, dy: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradient in ``z`` and keep those in the gain and the bias."""
        if place not in self.places:
            return dy
        gain = self.params.get(f"gain_{place}")
        if self.form == "batch":
            dz, dgain, dbias = norm.batch_norm_backward(
                dy, z, gain, eps=self.eps, **self._given(place)
            )
        elif place == "s" and self.form == "per_gate":
            dz, dgain, dbias = norm.group_norm_backward(dy, z, 4, gain, eps=self.eps)
        else:
            dz, dgain, dbias = norm.layer_norm_backward(dy, z, gain, eps=self.eps)
        self.grads |= {f"gain_{place}": dgain, f"bias_{place}": dbias}
        return dz

    def through_weights(
        self,
        d_from_x: np.ndarray,
        d_from_h: np.ndarray,
        x: np.ndarray,
        h: np.ndarray,
        *,
        b: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return ``dx``, ``dh`` and the gradients in what ``params`` holds."""
        self.grads |= {"W_ih": d_from_x.T @ x, "W_hh": d_from_h.T @ h, "b": b.sum(0)}
        grads = {name: self.grads[name] for name in self.params}
        return d_from_x @ self.params["W_ih"], d_from_h @ self.params["W_hh"], grads

    def _given(self, place: str) -> dict[str, np.ndarray]:
        return self.batch_norm.given(place) if self.batch_norm else {}


def _sigmoid(a: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(a / 2)) / 2  # no overflow, unlike 1 / (1 + exp(-a))


# The public door.


def _open(
    function: str,
    forms: dict[str, tuple[str, bool]],
    form: str,
    gates: int,
    params: Params,
    eps: float,
    batch_norm: AtStep | None,
    x: np.ndarray,
    **states: np.ndarray,
) -> _Norms:
    """Check every argument of a step; return its norms."""
    if form not in forms:
        raise ValueError(f"{function}: form must be one of {', '.join(forms)}; got {form!r}")
    if batch_norm is not None and form != "batch":
        raise ValueError(
            f"{function}: batch_norm belongs to form 'batch', got form {form!r}; layer norm keeps "
            "no statistics, leave it out"
        )
    if not isinstance(params, Mapping):
        raise TypeError(
            f"{function}: params must be a dict of arrays, got {type(params).__name__}; "
            "W_ih and W_hh must be in it"
        )
    places, has_b = forms[form]
    places = places.split()
    known = ["W_ih", "W_hh"] + ["b"] * has_b
    known += [f"{kind}_{place}" for place in places for kind in ("gain", "bias")]
    _check_names(function, params, known, form)
    for name, a in ({"x": x} | states | dict(params)).items():
        if not isinstance(a, np.ndarray) or a.dtype.kind != "f":
            got = a.dtype if isinstance(a, np.ndarray) else type(a).__name__
            raise TypeError(
                f"{function}: {name} must be a NumPy array of floats, got {got}; "
                f"try np.asarray({name}, dtype=float)"
            )
    W_ih, W_hh = params["W_ih"], params["W_hh"]
    H = W_hh.shape[-1] if W_hh.ndim == 2 else 0
    if W_ih.ndim != 2 or H < 1 or W_ih.shape[0] != gates * H or W_hh.shape[0] != gates * H:
        raise ValueError(
            f"{function}: W_ih and W_hh must be of shapes ({gates} H, I) and ({gates} H, H), got "
            f"{W_ih.shape} and {W_hh.shape}; {gates} gates lie one below the other"
        )
    if x.ndim != 2 or x.shape[1] != W_ih.shape[1]:
        raise ValueError(
            f"{function}: x must be of shape (B, {W_ih.shape[1]}), got {x.shape}; one time step "
            "of each sequence, x[None] for a single one"
        )
    for name, a in states.items():
        if a.shape != (len(x), H):
            raise ValueError(
                f"{function}: {name} must be of shape ({len(x)}, {H}), got {a.shape}; "
                "a row for each sequence"
            )
    joint = 2 * H if gates == 3 else gates * H  # a GRU's r and z
    sizes = {"b": gates * H, "i": joint, "h": joint, "s": gates * H, "c": H, "in": H, "hn": H}
    for name in set(params) - {"W_ih", "W_hh"}:
        size = sizes[name.split("_")[-1]]
        if params[name].shape != (size,):
            raise ValueError(
                f"{function}: {name} must be of shape ({size},), got {params[name].shape}; "
                "one number for each summed input that it is applied to"
            )
    return _Norms(form, places, params, eps, batch_norm)


def _check_names(function: str, params: Params, known: list[str], form: str) -> None:
    for name in ("W_ih", "W_hh"):
        if name not in params:
            raise ValueError(f"{function}: params must hold {name}, got {', '.join(params)}")
    for name in params:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            fix = f"did you mean {near[0]!r}?" if near else "leave it out or choose another form"
            raise ValueError(
                f"{function}: params of form {form!r} are {', '.join(known)}; got {name!r}; {fix}"
            )


def _activation(function: str, nonlinearity: str) -> tuple[Callable, Callable]:
    if nonlinearity not in _ACTIVATIONS:
        raise ValueError(
            f"{function}: nonlinearity must be one of {', '.join(_ACTIVATIONS)}; "
            f"got {nonlinearity!r}"
        )
    return _ACTIVATIONS[nonlinearity]


def _two(function: str, name: str, state: object) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(state, tuple) or len(state) != 2:
        raise TypeError(
            f"{function}: {name} must be a pair of arrays (h, c), got {type(state).__name__}; "
            "an LSTM carries both"
        )
    return state
