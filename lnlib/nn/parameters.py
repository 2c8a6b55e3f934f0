"""Parameters of norms: their names in other frameworks, and optimizers without weight decay."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, _NormBase)  # _NormBase: batch, instance norm
OTHER_NAMES = {
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

    Only parameters of the norms in ``model`` are renamed. So the ``gamma`` of a layer scale
    (:math:`x + gamma * f(x)`) keeps its name, which a search for that word would change. Keras
    3.15, Flax 0.12, Haiku 0.0.17, Transformers 5.24.

    Values are not changed. Take care of the rest yourself: ``eps`` (1e-3 in Keras, 1e-6 in Flax,
    1e-12 in BERT, 1e-5 in PyTorch), a gain ``1 + w`` of which only ``w`` is stored,
    and the weights of linear layers, which are transposed in Keras, Flax and Haiku and are called
    ``kernel`` or ``w`` there.

    Args:
        state: Maps names to tensors or arrays, not nested. ``/`` is read as a dot, and a final
            ``:0``, as in TensorFlow, is removed. Names of modules must be those of ``model``.
        model: The model that is going to load the result. It is not changed.

    Returns:
        A new dict for ``model.load_state_dict``; other parameters keep their names.

    Raises:
        TypeError: If a value is a dict.
        ValueError: If there are two names for one parameter, or a shape is not that of the model.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
        >>> keras_state = {"1.gamma": np.ones(3, np.float32), "1.beta": np.zeros(3, np.float32)}
        >>> sorted(to_torch_names(keras_state, model))
        ['1.bias', '1.weight']
    """
    result = {}
    for key, value in state.items():
        if isinstance(value, Mapping):
            raise TypeError(
                f"to_torch_names: state must contain tensors or arrays, got a dict at {key!r}; "
                "flatten it first, with names joined by dots"
            )
        name = key.removesuffix(":0").replace("/", ".")
        if name in result:
            raise ValueError(
                f"to_torch_names: state must contain {name!r} once, got two spellings of it; "
                "remove one of them"
            )
        result[name] = value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
    for path, module in model.named_modules(remove_duplicate=False):
        if not isinstance(module, NORMS):
            continue
        prefix = f"{path}." if path else ""
        for torch_name, parameter in module.state_dict().items():
            names = (torch_name, *OTHER_NAMES.get(torch_name, ()))
            matches = [prefix + name for name in names if prefix + name in result]
            if len(matches) > 1:
                raise ValueError(
                    f"to_torch_names: state must name {prefix + torch_name!r} once, got "
                    f"{' and '.join(matches)}; remove one of them"
                )
            for name in matches:
                value = result.pop(name)
                if value.shape != parameter.shape:
                    raise ValueError(
                        f"to_torch_names: {name!r} must have the shape {tuple(parameter.shape)} "
                        f"as in the model, got {tuple(value.shape)}; does it belong to another "
                        "layer, or to a model of another size?"
                    )
                result[prefix + torch_name] = value
    return result


def no_decay_groups(
    model: nn.Module, weight_decay: float, *, also: tuple[type[nn.Module], ...] = ()
) -> list[dict]:
    """Return two parameter groups for an optimizer: with and without weight decay.

    The group without weight decay has the gains and biases of norms, all other parameters with
    fewer than two dimensions, such as the biases of linear layers, and the parameters of modules of
    the types in ``also``. Weight decay pulls toward 0, but the neutral value of a gain is 1. To
    exclude norms and biases is a convention (as in minGPT and in Hugging Face's ``Trainer``), not a
    theorem.

    The rule "fewer than two dimensions" alone would not find the gain of a ``nn.LayerNorm`` over
    several dimensions.

    Args:
        model: The model. Each of its parameters, frozen or not, is in exactly one group. A
            parameter that several modules share is without weight decay if that holds for one of
            them.
        weight_decay: Weight decay of the first group; that of the second is 0.
        also: Types of further modules without weight decay, such as ``(nn.Embedding,)``.

    Returns:
        Two dicts with ``params`` and ``weight_decay``.

    Raises:
        ValueError: If ``weight_decay`` is negative.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
        >>> groups = no_decay_groups(model, 0.1)
        >>> [len(group["params"]) for group in groups]
        [1, 3]
        >>> optimizer = torch.optim.AdamW(groups, lr=1e-3)
    """
    if not weight_decay >= 0:
        raise ValueError(f"no_decay_groups: weight_decay must be >= 0, got {weight_decay!r}")
    without_decay = {
        parameter
        for module in model.modules()
        for parameter in module.parameters(recurse=False)
        if isinstance(module, (*NORMS, *also)) or parameter.dim() < 2
    }
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p not in without_decay], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p in without_decay], "weight_decay": 0.0},
    ]
