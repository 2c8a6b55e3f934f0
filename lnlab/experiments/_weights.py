"""Quantization of trained weights to 8 bits, for records and for networks that run in a page."""

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Packed = Mapping[str, Any]
NAMES = ("matrices", "scales", "vectors")  # keys of the result of pack
Net = TypeVar("Net", bound=nn.Module)


@torch.no_grad()
def pack(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a model, with matrices quantized to 8 bits.

    ::

        W[i, j] = scale[i] * q[i, j]        scale[i] = max_j |W[i, j]| / 127

    Returns:
        ``matrices``, int8, flattened, with the ``scales`` of their rows; and ``vectors``: all
        parameters with one axis, such as biases and gains. Each is in the order of
        ``model.parameters()``; ``scales`` and ``vectors`` are float32.
    """
    matrices, scales, vectors = [], [], []
    for p in model.parameters():
        if p.dim() == 2:
            scale = p.abs().amax(1, keepdim=True) / 127
            # 0 / 0 is from a row of zeros, and other NaNs from a model that has diverged.
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
    """Load weights from :func:`pack` into a model of the same settings; return the model.

    Raises:
        ValueError: If they belong to a model of another size.
    """
    remaining = {name: torch.as_tensor(packed[name]) for name in NAMES}

    def take(name: str, count: int) -> Tensor:
        part, remaining[name] = remaining[name][:count], remaining[name][count:]
        if len(part) < count:
            raise ValueError(
                f"unpack: {name} has too few numbers for this model; use those of the same model"
            )
        return part

    for p in model.parameters():
        if p.dim() == 2:
            scales = take("scales", len(p)).unsqueeze(1)
            p.copy_(scales * take("matrices", p.numel()).view_as(p))
        else:
            p.copy_(take("vectors", p.numel()).view_as(p))
    if left := [name for name, part in remaining.items() if len(part)]:
        raise ValueError(
            f"unpack: the model must use all weights, but some of {', '.join(left)} are "
            "left; it is smaller than the packed model"
        )
    return model
