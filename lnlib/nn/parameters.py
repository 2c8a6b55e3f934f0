"""Parameters of norms: their names in other frameworks, and optimizers without weight decay."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)  # the last: batch and instance norm
NAMES_ELSEWHERE = {
    "weight": ("gamma", "scale"),
    "bias": ("beta", "offset"),
    "running_mean": ("moving_mean", "mean"),
    "running_var": ("moving_variance", "var"),
}


def to_torch_names(state: Mapping[str, Tensor | np.ndarray], model: nn.Module) -> dict[str, Tensor]:
    """Return a ``state_dict`` in which the norms of a model have PyTorch's names.

    ============  =================  =====  ======  ==============
    PyTorch       TensorFlow, Keras  Flax   Haiku   old BERT files
    ============  =================  =====  ======  ==============
    weight        gamma              scale  scale   gamma
    bias          beta               bias   offset  beta
    running_mean  moving_mean        mean
    running_var   moving_variance    var
    ============  =================  =====  ======  ==============

    Keras' ``RMSNormalization`` has ``scale``.

    The model says which names belong to a norm. So the ``gamma`` of a layer scale
    (:math:`x + gamma * f(x)`) keeps its name, which a search for the word in all names would
    change. Keras 3.15, Flax 0.12, Haiku 0.0.17, Transformers 5.24.

    Names and containers only: values are copied as they are. What is not in the names is left to
    you: ``eps`` (1e-3 in Keras, 1e-6 in Flax, 1e-12 in BERT, 1e-5 in PyTorch), a gain that is
    stored as ``1 + w``, and the weights of linear layers, which are transposed in Keras, Flax and
    Haiku and are called ``kernel`` or ``w`` there.

    Args:
        state: From names to tensors or arrays, not nested. ``/`` is read as a dot, and a ``:0`` at
            the end, as in TensorFlow, is left out. Names of modules have to be those of ``model``.
        model: The model that is going to load the result. It is not changed.

    Returns:
        A new dict for ``model.load_state_dict``: names of other parameters are kept.

    Raises:
        TypeError: If a value is a dict.
        ValueError: If two names mean the same parameter, or a shape is not that of the model.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
        >>> theirs = {"1.gamma": np.ones(3, np.float32), "1.beta": np.zeros(3, np.float32)}
        >>> sorted(to_torch_names(theirs, model))
        ['1.bias', '1.weight']
    """
    result = {}
    for key, value in state.items():
        if isinstance(value, Mapping):
            raise TypeError(
                f"to_torch_names: state must hold tensors or arrays, got a dict at {key!r}; "
                "flatten it first, with names joined by dots"
            )
        name = key.removesuffix(":0").replace("/", ".")
        if name in result:
            raise ValueError(f"to_torch_names: state must have one {name!r}, got two spellings")
        result[name] = value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
    for path, module in model.named_modules(remove_duplicate=False):
        if not isinstance(module, NORMS):
            continue
        prefix = f"{path}." if path else ""
        for own, wanted in module.state_dict().items():
            matches = [n for n in (own, *NAMES_ELSEWHERE.get(own, ())) if prefix + n in result]
            if len(matches) > 1:
                raise ValueError(
                    f"to_torch_names: state must name {prefix + own!r} once, got "
                    f"{' and '.join(prefix + n for n in matches)}; remove one of them"
                )
            for name in matches:
                value = result.pop(prefix + name)
                if value.shape != wanted.shape:
                    raise ValueError(
                        f"to_torch_names: {prefix + name!r} must have the shape "
                        f"{tuple(wanted.shape)} of the model's, got {tuple(value.shape)}; is it of "
                        "another layer, or another size of the model?"
                    )
                result[prefix + own] = value
    return result


def no_decay_groups(
    model: nn.Module, weight_decay: float, *, also: tuple[type[nn.Module], ...] = ()
) -> list[dict]:
    """Return two parameter groups for an optimizer: with weight decay, and without.

    Without are the gains and biases of norms, every other parameter of fewer than two axes, such
    as the biases of linear layers, and the parameters of modules of a type in ``also``. Weight
    decay pulls towards 0, and the neutral value of a gain is 1. That norms and biases are left out
    is a convention (as in minGPT and in Hugging Face's ``Trainer``), not a theorem.

    The rule "fewer than two axes" alone misses the gain of a ``nn.LayerNorm`` over several axes.

    Args:
        model: Each of its parameters is in one of the groups, also those that are frozen, and also
            once if several modules share it. A shared parameter is without weight decay if one of
            the modules is.
        weight_decay: Of the first group; 0 in the second.
        also: Types of further modules without weight decay, such as ``(nn.Embedding,)``.

    Returns:
        Two dicts with ``params`` and ``weight_decay``.

    Raises:
        ValueError: If ``weight_decay`` is negative.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
        >>> decayed, others = no_decay_groups(model, 0.1)
        >>> [len(group["params"]) for group in (decayed, others)]
        [1, 3]
        >>> optimizer = torch.optim.AdamW([decayed, others], lr=1e-3)
    """
    if not weight_decay >= 0:
        raise ValueError(f"no_decay_groups: weight_decay must be >= 0, got {weight_decay!r}")
    excluded = {
        parameter
        for module in model.modules()
        for parameter in module.parameters(recurse=False)
        if isinstance(module, (*NORMS, *also)) or parameter.dim() < 2
    }
    decayed = [p for p in model.parameters() if p not in excluded]
    others = [p for p in model.parameters() if p in excluded]
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
