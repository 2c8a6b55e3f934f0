"""Calls under ``torch.fx`` tracing or with per-example gradients (``ExpandedWeight``).

PyTorch treats the modules of ``torch.nn`` itself: the tracer of ``torch.fx`` makes each a node, and
``call_for_per_sample_grads`` knows the functions they call. Ours do the same here.
"""

import sys
from typing import Any

import torch
from torch import Tensor, fx, nn


def is_transformed(module: nn.Module, input: Any) -> bool:
    """Return whether a tracer or per-example gradients require :func:`call` for ``module``."""
    if isinstance(input, fx.Proxy):
        return bool(_path(module, input))  # else it is the root, of which the graph is
    return _is_expanded(module)


def call(module: nn.Module, *args: Any, in_dims: Any = 0, out_dims: Any = 0) -> Any:
    """Return a node of the graph, or outputs with a gradient for each example.

    Args:
        module: The module whose ``forward`` was called.
        *args: Its arguments.
        in_dims: The axis of the examples in each argument, as ``torch.vmap`` takes it.
        out_dims: That of the outputs.
    """
    while args[-1] is None:  # an optional argument that was left out
        args = args[:-1]
    if isinstance(args[0], fx.Proxy):
        return args[0].tracer.create_proxy("call_module", _path(module, args[0]), args, {})
    return _each_example(module, args, in_dims, out_dims)


def _path(module: nn.Module, input: fx.Proxy) -> str:
    try:
        return input.tracer.path_of_module(module)
    except NameError:
        return ""


def _is_expanded(module: nn.Module) -> bool:
    # The class is loaded only where gradients per example are computed.
    utils = sys.modules.get("torch.nn.utils._expanded_weights")
    return utils is not None and any(isinstance(p, utils.ExpandedWeight) for p in _all(module))


def _all(module: nn.Module) -> list[Tensor]:
    return [p for part in module.modules() for p in part._parameters.values() if p is not None]


def _each_example(module: nn.Module, args: tuple[Any, ...], in_dims: Any, out_dims: Any) -> Any:
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    dims, count = dims[: len(args)], args[0].shape[dims[0]]
    kind = sys.modules["torch.nn.utils._expanded_weights"].ExpandedWeight
    named = dict(module.named_parameters())
    expanded = {n: _Expand.apply(p, count) for n, p in named.items() if isinstance(p, kind)}
    shared = {n: p for n, p in named.items() if n not in expanded}

    def call_on_example(expanded: dict[str, Tensor], *args: Any) -> Any:
        return torch.func.functional_call(module, {**expanded, **shared}, args)

    call_on_batch = torch.func.vmap(call_on_example, (0, *dims), out_dims, randomness="different")
    return call_on_batch(expanded, *args)


class _Expand(torch.autograd.Function):
    """Repeat a parameter for each example; its gradient becomes the parameter's ``grad_sample``."""

    @staticmethod
    def forward(ctx, weight, count):
        ctx.weight = weight
        return weight.orig_weight.detach().expand(count, *weight.orig_weight.shape)

    @staticmethod
    def backward(ctx, d):
        from torch.nn.utils._expanded_weights import expanded_weights_utils

        expanded_weights_utils.set_grad_sample_if_exists(ctx.weight, lambda _: d)
        return None, None
