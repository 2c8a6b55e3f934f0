"""What the cells share: the norms of a step, and argument checks."""

from collections.abc import Collection, Mapping

import numpy as np

from lnlib import norms
from lnlib.cells.batch_norm import BatchNormAtStep
from lnlib.norms._arguments import check_arrays, check_eps, check_names
from lnlib.registry import CELLS

Params = Mapping[str, np.ndarray]


class _Norms:
    """The norms of one step by position, forward and backward; gradients gather in ``grads``."""

    def __init__(
        self,
        form: str,
        positions: Collection[str],
        params: Params,
        eps: float,
        batch_norm: BatchNormAtStep | None,
    ) -> None:
        self.form, self.positions, self.params, self.eps = form, positions, params, eps
        self.batch_norm = batch_norm
        self.peek = False  # a backward pass looks at the batch a second time: count it once
        self.b = params.get("b", 0.0)
        self.grads: dict[str, np.ndarray] = {}

    def __call__(self, position: str, z: np.ndarray) -> np.ndarray:
        """Return ``z`` normalized, or as it is where the form has no norm."""
        if position not in self.positions:
            return z
        gain, bias = self.params.get(f"gain_{position}"), self.params.get(f"bias_{position}")
        if self.form == "batch":
            if self.batch_norm and not self.peek:
                self.batch_norm.update(position, z)
            return norms.batch_norm(z, gain, bias, eps=self.eps, **self._statistics_for(position))
        if position == "s" and self.form == "per_gate":
            return norms.group_norm(z, 4, gain, bias, eps=self.eps)  # each gate alone
        return norms.layer_norm(z, gain, bias, eps=self.eps)

    def back(self, position: str, dy: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradient in ``z`` and keep those in the gain and the bias."""
        if position not in self.positions:
            return dy
        gain = self.params.get(f"gain_{position}")
        if self.form == "batch":
            dz, dgain, dbias = norms.batch_norm_backward(
                dy, z, gain, eps=self.eps, **self._statistics_for(position)
            )
        elif position == "s" and self.form == "per_gate":
            dz, dgain, dbias = norms.group_norm_backward(dy, z, 4, gain, eps=self.eps)
        else:
            dz, dgain, dbias = norms.layer_norm_backward(dy, z, gain, eps=self.eps)
        self.grads |= {f"gain_{position}": dgain, f"bias_{position}": dbias}
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

    def _statistics_for(self, position: str) -> dict[str, np.ndarray]:
        return self.batch_norm.given(position) if self.batch_norm else {}


def _check(
    function: str,
    cell: str,
    form: str,
    params: Params,
    eps: float,
    batch_norm: BatchNormAtStep | None,
    x: np.ndarray,
    **states: np.ndarray,
) -> _Norms:
    """Check the arguments of a step; return its norms."""
    gates, _, forms = CELLS[cell]
    if form not in forms:
        raise ValueError(f"{function}: form must be one of {', '.join(forms)}; got {form!r}")
    if batch_norm is not None and form != "batch":
        raise ValueError(
            f"{function}: batch_norm belongs to form 'batch', got form {form!r}; layer norm keeps "
            "no statistics, leave it out"
        )
    check_eps(function, eps)
    spans = forms[form].norms
    known = ["W_ih", "W_hh"] + ["b"] * forms[form].bias
    known += [f"{kind}_{position}" for position in spans for kind in ("gain", "bias")]
    check_names(function, params, known, f"of form {form!r}", "leave it out or choose another form")
    check_arrays(function, {"x": x} | states | dict(params))
    W_ih, W_hh = params["W_ih"], params["W_hh"]
    H = W_hh.shape[-1] if W_hh.ndim == 2 else 0
    if W_ih.ndim != 2 or H < 1 or W_ih.shape[0] != gates * H or W_hh.shape[0] != gates * H:
        raise ValueError(
            f"{function}: W_ih and W_hh must be of shapes ({gates} H, I) and ({gates} H, H), got "
            f"{W_ih.shape} and {W_hh.shape}; the rows belong to {gates} gates, one after the other"
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
    for name in set(params) - {"W_ih", "W_hh"}:
        size = H * (spans | {"b": gates})[name.split("_")[-1]]
        if params[name].shape != (size,):
            raise ValueError(
                f"{function}: {name} must be of shape ({size},), got {params[name].shape}; "
                "one number for each summed input that it is applied to"
            )
    return _Norms(form, spans, params, eps, batch_norm)
