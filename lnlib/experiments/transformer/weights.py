"""A transformer's weights in a ninth of a megabyte: what a record keeps, and what a page runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from lnlib.experiments.transformer import Settings
from lnlib.experiments.transformer.model import model
from lnlib.nn.transformer import Transformer

Packed = Mapping[str, Any]


@torch.no_grad()
def pack(model: Transformer) -> dict[str, Tensor]:
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
def unpack(packed: Packed, model: Transformer) -> Transformer:
    """Put weights that :func:`pack` has packed into a model of the same settings; return it.

    Raises:
        ValueError: If they are of a model of another size.
    """
    rest = {name: torch.as_tensor(packed[name]) for name in ("matrices", "scales", "vectors")}

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


def restore(record: Mapping[str, Any], point: int = -1) -> tuple[Transformer, str]:
    """Return the model of a record that has kept its weights, and its characters in their order.

    Args:
        record: As :func:`lnlib.runs.record.read` returns it, of a run with ``ablate``.
        point: At which of the measuring points; the last by default.

    Raises:
        ValueError: If the record has no weights.

    Returns:
        The model, in ``eval()``; and the characters: the model's token k is the k-th of them.
    """
    arrays = record["arrays"]
    if "matrices" not in arrays:
        raise ValueError("restore: record must be of a run with ablate, this one kept no weights")
    told = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
    characters = "".join(map(chr, arrays["characters"][point]))
    packed = {name: arrays[name][point] for name in ("matrices", "scales", "vectors")}
    return unpack(packed, model(Settings(**told), len(characters))).eval(), characters
