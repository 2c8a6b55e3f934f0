"""A trained network's weights in a byte each: what a record keeps, and what a page runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Packed = Mapping[str, Any]
NAMES = ("matrices", "scales", "vectors")  # what pack returns
Net = TypeVar("Net", bound=nn.Module)


@torch.no_grad()
def pack(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights, the matrices in 8 bits.

    ::

        W[i, j] = scale[i] * q[i, j]        scale[i] = max_j |W[i, j]| / 127

    Returns:
        ``matrices``, int8, row by row, each with its number in ``scales``; and ``vectors``: biases,
        gains and whatever else has one axis. Each in the order of ``model.named_parameters()``, the
        latter two float32.
    """
    matrices, scales, vectors = [], [], []
    for p in model.parameters():
        if p.dim() == 2:
            scale = p.abs().amax(1, keepdim=True) / 127
            # 0 / 0 is a row of zeros; of a model that has exploded there is nothing to keep.
            matrices.append((p / scale).round().nan_to_num(0).to(torch.int8).flatten())
            scales.append(scale.flatten())
        else:
            vectors.append(p.flatten())
    return {
        "matrices": torch.cat(matrices),
        "scales": torch.cat(scales).float(),
        "vectors": torch.cat(vectors).float(),
    }


@torch.no_grad()
def unpack(packed: Packed, model: Net) -> Net:
    """Put weights that :func:`pack` has packed into a model of the same settings; return it.

    Raises:
        ValueError: If they are of a model of another size.
    """
    rest = {name: torch.as_tensor(packed[name]) for name in NAMES}

    def take(name: str, count: int) -> Tensor:
        part, rest[name] = rest[name][:count], rest[name][count:]
        if len(part) < count:
            raise ValueError(f"unpack: {name} must have more numbers for this model; take its own")
        return part

    for p in model.parameters():
        if p.dim() == 2:
            scales = take("scales", len(p)).unsqueeze(1)
            p.copy_(scales * take("matrices", p.numel()).view_as(p))
        else:
            p.copy_(take("vectors", p.numel()).view_as(p))
    if left := [name for name, part in rest.items() if len(part)]:
        raise ValueError(
            f"unpack: the weights must be used up by the model, some of {', '.join(left)} are "
            "left; it is smaller than the one that was packed"
        )
    return model
