"""Weights of layer-normalized networks from and to other code."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from lnlib.nn.recurrent import LayerNormLSTM


def from_fastrnns(state_dict: dict[str, Tensor], **options) -> LayerNormLSTM:
    """Build a :class:`LayerNormLSTM` from weights in the common public layout.

    That of ``LayerNormLSTMCell`` in PyTorch's ``benchmarks/fastrnns/custom_lstms.py`` and its
    copies: ``weight_ih``, ``weight_hh``, ``layernorm_i``, ``layernorm_h`` and ``layernorm_c``,
    alone or below ``layers.0.cell.`` or ``layers.0.directions.1.cell.``. They carry the normalized
    cell on, which is our ``form="carried"``, and have no ``b``.

    Args:
        state_dict: Of a cell, or of a stack of layers.
        **options: Passed on; ``form`` is ``"carried"`` unless given.

    Returns:
        A module with these weights.

    Raises:
        ValueError: If a name is missing or unknown.

    Example:
        >>> lstm = LayerNormLSTM(3, 4, form="carried")
        >>> theirs = to_fastrnns(lstm)
        >>> sorted(theirs)[0], from_fastrnns(theirs).form
        ('layers.0.cell.layernorm_c.bias', 'carried')
    """
    ours = {}
    for name, tensor in state_dict.items():
        match = re.fullmatch(
            r"(?:layers\.(\d+)\.)?(?:directions\.([01])\.)?(?:cell\.)?"
            r"(weight_[ih]h|layernorm_[ihc])(\.weight|\.bias)?",
            name,
        )
        if not match:
            raise ValueError(
                f"from_fastrnns: names must be weight_ih, weight_hh, layernorm_i, layernorm_h or "
                f"layernorm_c, alone or below layers.0.cell, got {name!r}; is it another cell?"
            )
        layer, direction, base, part = match.groups()
        suffix = f"_l{layer or 0}" + "_reverse" * (direction == "1")
        ours[f"{base}{suffix}{part or ''}"] = tensor
    if "weight_ih_l0" not in ours:
        raise ValueError(
            f"from_fastrnns: the state_dict must hold weight_ih, got {', '.join(state_dict)}; "
            "pass that of the cell or of the stack of layers"
        )
    weight = ours["weight_ih_l0"]
    module = LayerNormLSTM(
        weight.shape[1],
        weight.shape[0] // 4,
        num_layers=1 + max(int(re.search(r"_l(\d+)", name)[1]) for name in ours),
        bidirectional="weight_ih_l0_reverse" in ours,
        dtype=weight.dtype,
        device=weight.device,
        **{"form": "carried"} | options,
    )
    ours |= {  # b, which that layout has not
        name: torch.zeros_like(p) for name, p in module.named_parameters() if name[:6] == "bias_l"
    }
    try:
        module.load_state_dict(ours)
    except RuntimeError as error:
        raise ValueError(f"from_fastrnns: the weights do not fit: {error}") from error
    return module


def to_fastrnns(module: LayerNormLSTM) -> dict[str, Tensor]:
    """Return the weights of a :class:`LayerNormLSTM` as :func:`from_fastrnns` reads them.

    ``b`` is added to the bias of ``layernorm_i``, which computes the same. Settings are not
    part of the weights: pass ``eps``, ``batch_first`` and ``dropout`` to the other module yourself.

    Args:
        module: Of form ``"carried"``, which is what code with that layout computes, or ``"paper"``,
            which it does not: its outputs differ, since it carries the normalized cell on.

    Returns:
        A ``state_dict``: of a cell below ``layers.0.cell.`` for each layer, or of two directions.

    Raises:
        ValueError: If ``form`` is another, or the module was built with ``bias=False``.
    """
    if module.form not in ("carried", "paper") or not module.bias:
        raise ValueError(
            "to_fastrnns: the module must be of form 'carried' or 'paper' and have biases, got "
            f"form {module.form!r} and bias={module.bias}; that layout has no room for others"
        )
    theirs = {}
    for layer in range(module.num_layers):
        for direction, suffix in enumerate(module._suffixes(layer)):
            prefix = (
                f"layers.{layer}." + f"directions.{direction}." * module.bidirectional + "cell."
            )
            for weight in ("weight_ih", "weight_hh"):
                theirs[prefix + weight] = getattr(module, weight + suffix).detach().clone()
            for name in ("layernorm_i", "layernorm_h", "layernorm_c"):
                norm = getattr(module, name + suffix)
                theirs[f"{prefix}{name}.weight"] = norm.weight.detach().clone()
                theirs[f"{prefix}{name}.bias"] = norm.bias.detach().clone()
            theirs[f"{prefix}layernorm_i.bias"] += getattr(module, "bias" + suffix).detach()
    return theirs
