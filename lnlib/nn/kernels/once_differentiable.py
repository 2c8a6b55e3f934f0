"""Backward passes that can be taken once, of gradients of any kind."""

from collections.abc import Callable
from functools import partial, wraps

import torch
from torch import Tensor

from lnlib.nn.kernels.memory import dense, is_batched, is_transformed, readable

Gradients = tuple[Tensor | None, ...]


def once_differentiable(backward: Callable[..., Gradients]) -> Callable[..., Gradients]:
    """Give ``backward`` incoming gradients that it can read, and refuse a second derivative.

    Batched gradients (``is_grads_batched``, ``vmap``) are taken one by one. Zero tensors, negative
    views and sparse gradients are written out.

    PyTorch's decorator of this name refuses only where ``dy`` itself needs a gradient. Behind
    ``output.sum()`` it does not, and the second derivative would come out wrong in silence. Here
    the refusal lies on the way to every saved tensor. One of them has to be an output: behind it
    stand the inputs that are not saved themselves.
    """

    @wraps(backward)
    def first(ctx, *dys: Tensor | None) -> Gradients:
        with torch.no_grad():
            gradients = linear(partial(backward, ctx), *dys)
        if not torch.is_grad_enabled():  # as it is with create_graph=True
            return gradients
        history = [t for t in ctx.saved_tensors if t is not None and t.requires_grad]
        defined = [g for g in gradients if g is not None]
        refused = iter(_Refusal.apply(len(history), *history, *defined))
        return tuple(g if g is None else next(refused) for g in gradients)

    return first


def linear(backward: Callable[..., Gradients], *dys: Tensor | None) -> Gradients:
    """Return ``backward(*dys)`` for incoming gradients of any kind; it is given some it can read.

    A backward pass is linear: of a batch it is taken one by one, and its tangent is that of theirs.
    """
    dys = tuple(map(dense, dys))
    tensors = [d for d in dys if d is not None]
    if not is_transformed(tensors):
        return backward(*dys)
    if any(map(is_batched, tensors)):
        return _batch(backward, dys)
    is_present: list[bool] = []

    def present(*dys: Tensor | None) -> tuple[Tensor, ...]:
        gradients = backward(*map(readable, dys))
        is_present[:] = [g is not None for g in gradients]
        return tuple(g for g in gradients if g is not None)

    gradients = iter(_Linear.apply(present, *dys))
    return tuple(next(gradients) if exists else None for exists in is_present)


def _batch(backward: Callable[..., Gradients], dys: Gradients) -> Gradients:
    """Return the batch of gradients of a batch, in the sense of ``is_grads_batched``."""
    top = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()

    def examples(d: Tensor, level: int) -> Tensor | None:
        # Where d has no batch at a level, the requested size is arbitrary.
        two, three = (torch._remove_batch_dim(d, level, n, 0) for n in (2, 3))
        return two if len(two) == len(three) else None

    batches: list[Tensor | None] = []
    for level in range(top, 0, -1):
        batches = [d if d is None else examples(d, level) for d in dys]
        if any(b is not None for b in batches):
            break
    count = next(len(b) for b in batches if b is not None)
    pairs = list(zip(dys, batches, strict=True))
    results = [
        linear(backward, *(d if b is None else b[k] for d, b in pairs)) for k in range(count)
    ]
    return tuple(
        None if g[0] is None else torch._add_batch_dim(torch.stack(g), 0, level)
        for g in zip(*results, strict=True)
    )


class _Linear(torch.autograd.Function):
    """A function that is linear in its tensors, as a backward pass is."""

    @staticmethod
    def forward(function, *tensors):
        return function(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.function = inputs[0]

    @staticmethod
    def vmap(info, in_dims, function, *tensors):
        def example(k: int) -> tuple[Tensor, ...]:
            pairs = zip(tensors, in_dims[1:], strict=True)
            return _Linear.apply(function, *(t if d is None else t.select(d, k) for t, d in pairs))

        results = [example(k) for k in range(info.batch_size)]
        stacked = tuple(torch.stack(r) for r in zip(*results, strict=True))
        return stacked, (0,) * len(stacked)

    @staticmethod
    def jvp(ctx, _, *tangents):
        return ctx.function(*tangents)


class _Refusal(torch.autograd.Function):
    @staticmethod
    def forward(skip, *tensors):
        return tuple(t.view_as(t) for t in tensors[skip:])

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, skip, *tensors):
        return _Refusal.apply(skip, *tensors), in_dims[1 + skip :]

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            "lnlib.nn: this implementation of the recurrence is once_differentiable; for a second "
            'derivative, use implementation="plain"'
        )
