"""Gradients that can be taken once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor


def once_differentiable(backward: Callable) -> Callable:
    """Refuse a second derivative of what ``backward`` returns.

    PyTorch's decorator of this name refuses only where ``dy`` itself needs a gradient. Behind
    ``output.sum()`` it does not, and the second derivative would come out wrong in silence. Here
    the refusal lies on the way to every saved tensor. One of them has to be an output: behind it
    stand the inputs that are not saved themselves.
    """

    @wraps(backward)
    def first(ctx, *dys: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            gradients = backward(ctx, *dys)
        if not torch.is_grad_enabled():  # as it is with create_graph=True
            return gradients
        history = [t for t in ctx.saved_tensors if t is not None and t.requires_grad]
        return _Refusal.apply(len(history), *history, *gradients)

    return first


class _Refusal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, skip, *tensors):
        return tensors[skip:]

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            "lnlib.nn: a fast recurrence is once_differentiable; for a second derivative, take "
            'implementation="plain"'
        )
