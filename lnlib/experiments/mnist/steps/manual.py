"""The training step with its gradient written by hand, for one network or several side by side.

Autograd keeps a graph, zeroes the gradients and adds to them; at batch size 4 that costs more than
the products do. Here each gradient is written once, straight to its place. Tensors have a leading
axis S, the networks: 1 for a single run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lnlib.nn import LayerNorm
from lnlib.nn.baselines import BatchNorm, WeightNormLinear

SWEEP = 100  # updates


def make(replay: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the step of one run: from ``x (B, D)`` and ``y (B,)`` to the mean NLL before it.

    Args:
        replay: With ``model`` and ``optimizer``, which has one flat parameter, of which the
            model's own are views.
    """
    optimizer = replay.optimizer
    (flat,) = optimizer.param_groups[0]["params"]
    networks = Networks([replay.model], flat.data[None], flat.grad[None])

    def step(x: Tensor, y: Tensor) -> Tensor:
        (loss,) = networks(x[None], y[None])
        optimizer.step()
        if not flat.is_cuda:
            sweep(optimizer.state[flat])
        return loss

    return step


@torch.no_grad()
def sweep(state: dict[str, Any]) -> None:
    """Set Adam's tiniest moments to 0, every 100 updates.

    Where a pixel is rarely on, the moments decay into denormal numbers, and with those a CPU's
    Adam takes three times as long. What is swept out could not move a parameter by 1e-12 of the
    learning rate; in the runs of section 6.6 not a bit changes.

    Args:
        state: Adam's, of one tensor, on the CPU.
    """
    if "exp_avg" in state and int(state["step"]) % SWEEP == 0:
        for moment, least in ((state["exp_avg"], 1e-30), (state["exp_avg_sq"], 1e-36)):
            moment.masked_fill_(moment.abs() < least, 0)


class Networks:
    """S networks of section 6.6, equal but for their parameters: loss and gradient in one call.

    Args:
        models: As :func:`lnlib.experiments.mnist.run.network` builds them. Their running averages
            become views of one tensor.
        flat: All parameters, ``(S, P)``; row s in the order of ``models[s].parameters()``.
        grad: Where the gradients go, ``(S, P)``. What was there is overwritten.

    Raises:
        TypeError: If a model has a module that this file has no gradient for.
    """

    def __init__(self, models: Sequence[nn.Sequential], flat: Tensor, grad: Tensor) -> None:
        start = 0

        def take(shape: torch.Size) -> tuple[Tensor, Tensor]:
            nonlocal start
            part = slice(start, start := start + shape.numel())
            rows = shape if len(shape) == 2 else (1, *shape)  # vectors stand for all cases
            return tuple(t[:, part].view(len(models), *rows) for t in (flat, grad))

        self.layers = []
        for modules in zip(*models, strict=True):
            kind = type(modules[0])
            if kind in (nn.Linear, WeightNormLinear):
                layer = _Linear if kind is nn.Linear else _WeightNormLinear
            elif kind in (BatchNorm, LayerNorm):
                layer = _Norm
            elif kind is nn.ReLU:
                layer = _ReLU
            else:
                raise TypeError(
                    f"Networks: no gradient by hand for {kind.__name__}; take the step 'plain'"
                )
            self.layers.append(layer(modules, take))

    @torch.no_grad()
    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        """Write the gradients and return the mean NLL in nats, ``(S,)``.

        Args:
            x: Cases, ``(S, B, D)``.
            y: Classes, ``(S, B)``, int64.
        """
        for layer in self.layers:
            x = layer.forward(x)
        log_p, y = x.log_softmax(2), y[..., None]  # (S, B, C), (S, B, 1)
        d = log_p.exp()
        d.scatter_(2, y, d.gather(2, y) - 1).div_(y.shape[1])  # (p - [the class]) / B
        for layer in reversed(self.layers):
            d = layer.backward(d, first=layer is self.layers[0])
        return -log_p.gather(2, y).mean((1, 2))


class _Linear:
    """a = x W' + b; dW = da' x, db = sum(da), dx = da W."""

    def __init__(self, modules: Sequence[nn.Linear], take: Callable) -> None:
        self.W, self.dW = take(modules[0].weight.shape)  # (S, H, D)
        self.has_bias = modules[0].bias is not None
        if self.has_bias:
            self.b, self.db = take(modules[0].bias.shape)  # (S, 1, H)

    def forward(self, x: Tensor) -> Tensor:
        self.x, turned = x, self.W.transpose(1, 2)
        return torch.baddbmm(self.b, x, turned) if self.has_bias else x.bmm(turned)

    def backward(self, d: Tensor, *, first: bool) -> Tensor | None:
        torch.bmm(d.transpose(1, 2), self.x, out=self.dW)
        if self.has_bias:
            torch.sum(d, 1, keepdim=True, out=self.db)
        return None if first else d.bmm(self.W)


class _WeightNormLinear:
    """a = gain (x W') / ||w|| + bias; the gradient of w stands at a right angle to w."""

    def __init__(self, modules: Sequence[WeightNormLinear], take: Callable) -> None:
        self.W, self.dW = take(modules[0].weight.shape)  # (S, H, D)
        self.gain, self.dgain = take(modules[0].gain.shape)  # (S, 1, H)
        self.bias, self.dbias = take(modules[0].bias.shape)

    def forward(self, x: Tensor) -> Tensor:
        self.norm = torch.linalg.vector_norm(self.W, dim=2)[:, None]
        self.x, self.a = x, x.bmm(self.W.transpose(1, 2))
        self.scale = self.gain / self.norm
        return torch.addcmul(self.bias, self.a, self.scale)

    def backward(self, d: Tensor, *, first: bool) -> Tensor | None:
        torch.sum(d, 1, keepdim=True, out=self.dbias)
        torch.div((d * self.a).sum(1, keepdim=True), self.norm, out=self.dgain)
        d = d * self.scale
        torch.bmm(d.transpose(1, 2), self.x, out=self.dW)
        # d(1 / ||w||) / dw = -w / ||w||^3 takes the part along w away.
        along = self.dgain * self.scale / self.norm
        self.dW.addcmul_(self.W, along.transpose(1, 2), value=-1)
        return None if first else d.bmm(self.W)


class _Norm:
    """Layer norm, over the features, or batch norm in training, over the batch.

    dx = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / std, where the last mean divides
    by n - 1 if the variance does.
    """

    def __init__(self, modules: Sequence[BatchNorm | LayerNorm], take: Callable) -> None:
        norm = modules[0]
        self.gain, self.dgain = take(norm.weight.shape)  # (S, 1, H)
        self.bias, self.dbias = take(norm.bias.shape)
        self.eps, self.axis, self.correction = norm.eps, 2, 0
        self.over_batch = isinstance(norm, BatchNorm)
        if self.over_batch:
            self.axis, self.correction, self.momentum = 1, int(norm.unbiased), norm.momentum
            self.mean = stack([m.running_mean for m in modules])[:, None]
            self.var = stack([m.running_var for m in modules])[:, None]

    def forward(self, a: Tensor) -> Tensor:
        n = a.shape[self.axis]
        if self.over_batch and n < 2:
            raise ValueError(f"Networks: batch norm needs at least 2 cases in a batch, got {n}")
        mean = a.mean(self.axis, keepdim=True)
        x_hat = a - mean
        # Not torch.var_mean, which is slow on a CPU: a seventh of a step of four cases.
        total = (x_hat * x_hat).sum(self.axis, keepdim=True)
        self.rstd = (total / (n - self.correction)).add_(self.eps).rsqrt_()
        self.x_hat = x_hat.mul_(self.rstd)
        if self.over_batch:  # the running variance is unbiased in either case, as in PyTorch
            self.mean.lerp_(mean, self.momentum)
            self.var.lerp_(total / (n - 1), self.momentum)
        return torch.addcmul(self.bias, self.x_hat, self.gain)

    def backward(self, d: Tensor, *, first: bool) -> Tensor:
        torch.sum(d, 1, keepdim=True, out=self.dbias)
        torch.sum(d * self.x_hat, 1, keepdim=True, out=self.dgain)
        if self.over_batch:
            # The gain is constant along the axis, and the sums are there already.
            scale, total, along = self.gain * self.rstd, self.dbias, self.dgain
        else:
            d, scale = d * self.gain, self.rstd
            total, along = d.sum(2, keepdim=True), (d * self.x_hat).sum(2, keepdim=True)
        n = d.shape[self.axis]
        dx = torch.sub(d, total, alpha=1 / n)
        return dx.addcmul_(self.x_hat, along, value=-1 / (n - self.correction)).mul_(scale)


class _ReLU:
    """y = max(x, 0)."""

    def __init__(self, modules: Sequence[nn.ReLU], take: Callable) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        self.y = x.relu_()
        return self.y

    def backward(self, d: Tensor, *, first: bool) -> Tensor:
        return d.mul_(self.y.sign())


def stack(tensors: Sequence[Tensor]) -> Tensor:
    """Lay tensors of one shape into one with a leading axis, of which they become views."""
    together = torch.stack([t.data for t in tensors])
    for tensor, part in zip(tensors, together, strict=True):
        tensor.data = part
    return together
