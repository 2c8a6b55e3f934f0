"""Ablation: a trained transformer whose layer norms are changed or removed at test time.

The network is not trained again, so the result shows how much the other weights rely on the norms.
"""

import copy
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.experiments._weights import pack, unpack
from lnlab.experiments.transformer import ABLATIONS
from lnlib.nn.norm import LayerNorm
from lnlib.nn.transformer import Transformer

EPS = {"thousandth": 1e-3, "hundredth": 1e-2, "tenth": 0.1, "one": 1.0}


class ReplacedLayerNorm(nn.Module):
    """A replacement of a layer norm, with its gain and bias.

    Args:
        norm: The layer norm.
        change: Returns the output, given the norm, its input and ``std``.
        std: Constant standard deviation of the input, for a frozen norm.
    """

    def __init__(
        self,
        norm: LayerNorm,
        change: Callable[[LayerNorm, Tensor, Tensor], Tensor],
        std: Tensor,
    ) -> None:
        super().__init__()
        self.norm, self.change, self.std = norm, change, std

    def forward(self, x: Tensor) -> Tensor:
        """Return the replacement of ``norm(x)``."""
        return self.change(self.norm, x, self.std)


def _gain_and_bias(norm: LayerNorm, x: Tensor, std: Tensor) -> Tensor:
    return norm.weight * x + norm.bias


def _rms(norm: LayerNorm, x: Tensor, std: Tensor) -> Tensor:
    return F.rms_norm(x, norm.normalized_shape, norm.weight, norm.eps) + norm.bias


def _frozen(norm: LayerNorm, x: Tensor, std: Tensor) -> Tensor:
    return norm.weight * (x - x.mean(-1, keepdim=True)) / std + norm.bias


def _sums_as_they_come(norm: LayerNorm, x: Tensor, std: Tensor) -> Tensor:
    # The straightforward implementation, which ignores the dtype.
    centered = x - x.mean(-1, keepdim=True)
    var = (centered * centered).mean(-1, keepdim=True)
    return norm.weight * centered / (var + norm.eps).sqrt() + norm.bias


def norms(model: Transformer) -> dict[str, LayerNorm]:
    """Return the layer norms of the residual stream by name, in order; QK norms are left out."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, LayerNorm) and not name.endswith(("norm_q", "norm_k"))
    }


@torch.no_grad()
def deviations(model: Transformer, tokens: Tensor) -> Tensor:
    """Return the mean standard deviation of the input of each norm, over texts ``(B, T)``."""
    observed: list[Tensor] = []

    def note(norm: nn.Module, inputs: tuple[Tensor]) -> None:
        observed.append((inputs[0].var(-1, correction=0) + norm.eps).sqrt().mean())

    hooks = [norm.register_forward_pre_hook(note) for norm in norms(model).values()]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack(observed)


# Effect of each value of a switch.
SWITCHES: dict[str, Callable[[LayerNorm, Tensor, Tensor], Tensor] | None] = {
    "on": None,
    "rms": _rms,
    "frozen": _frozen,
    "off": lambda norm, x, std: x,
}


def switched(model: Transformer, switches: Sequence[str], frozen: Tensor) -> Transformer:
    """Return a copy of a model whose layer norms are changed by the switches.

    Args:
        model: A trained model with layer norms.
        switches: A value for each of :func:`norms`: ``on``; ``rms``, RMSNorm with the same gain and
            bias; ``frozen``, with a constant standard deviation; ``off``, without the norm, its
            gain and its bias.
        frozen: Standard deviations for ``frozen``, as :func:`deviations` returns them.

    Raises:
        ValueError: If the number of switches differs from that of norms, or a switch has another
            value.
    """
    names = norms(model)
    if len(switches) != len(names) or not set(switches) <= set(SWITCHES):
        raise ValueError(
            f"switched: switches must be {len(names)} of {', '.join(SWITCHES)}, one per norm; "
            f"got {', '.join(map(repr, switches)) or 'none'}"
        )
    changed = copy.deepcopy(model)
    for name, switch, std in zip(names, switches, frozen, strict=True):
        if change := SWITCHES[switch]:
            _replace_norm(changed, name, change, std)
    return changed


def _replace_norm(changed: Transformer, path: str, change: Callable, std: Tensor) -> None:
    owner, _, field = path.rpartition(".")
    norm = changed.get_submodule(path)
    setattr(changed.get_submodule(owner), field, ReplacedLayerNorm(norm, change, std))


def ablated(model: Transformer, name: str, frozen: Tensor) -> Transformer:
    """Return a copy of a model with its layer norms changed.

    Args:
        model: A trained model with layer norms.
        name: One of :data:`lnlab.experiments.transformer.ABLATIONS`, which describes each of them.
        frozen: Standard deviations for ``frozen``, as :func:`deviations` returns them.

    Raises:
        ValueError: If there is no ablation with this name.
    """
    if name not in ABLATIONS:
        raise ValueError(f"ablated: name must be one of {', '.join(ABLATIONS)}, got {name!r}")
    changed = copy.deepcopy(model)
    if name == "int8":
        unpack(pack(changed), changed)
        return changed
    if name.startswith("eps_"):
        for norm in norms(changed).values():
            norm.eps = EPS[name.removeprefix("eps_")]
        return changed
    if name in ("float16", "bfloat16"):
        return changed.to(getattr(torch, name))
    change = {
        "gain_and_bias": _gain_and_bias,
        "rms": _rms,
        "frozen": _frozen,
        "frozen_but_last": _frozen,
        "float16_sums": _sums_as_they_come,
    }.get(name, lambda norm, x, std: x)
    for path, std in zip(norms(changed), frozen, strict=True):
        is_last = path == "last_norm"
        if (name.endswith("but_last") and is_last) or (name == "last" and not is_last):
            continue
        _replace_norm(changed, path, change, std)
    return changed.half() if name == "float16_sums" else changed
