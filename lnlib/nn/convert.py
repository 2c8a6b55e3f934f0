"""Weights from and to other code, from layer norm to RMS norm, and from a norm to linear layers."""

import re
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lnlib.nn.norm import LayerNorm, RMSNorm
from lnlib.nn.recurrent import LayerNormLSTM


def from_fastrnns(state_dict: dict[str, Tensor], **options) -> LayerNormLSTM:
    """Build a :class:`LayerNormLSTM` from weights in the common public layout.

    That of ``LayerNormLSTMCell`` in PyTorch's ``benchmarks/fastrnns/custom_lstms.py`` and its
    copies: ``weight_ih``, ``weight_hh``, ``layernorm_i``, ``layernorm_h`` and ``layernorm_c``,
    alone or after ``layers.0.cell.`` or ``layers.0.directions.1.cell.``. They carry the normalized
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
                f"layernorm_c, alone or after layers.0.cell, got {name!r}; is it another cell?"
            )
        layer, direction, base, part = match.groups()
        suffix = f"_l{layer or 0}" + "_reverse" * (direction == "1")
        ours[f"{base}{suffix}{part or ''}"] = tensor
    if "weight_ih_l0" not in ours:
        raise ValueError(
            f"from_fastrnns: the state_dict must contain weight_ih, got {', '.join(state_dict)}; "
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
            f"form {module.form!r} and bias={module.bias}; that layout has no names for others"
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
                for key, p in norm.named_parameters():
                    theirs[f"{prefix}{name}.{key}"] = p.detach().clone()
            theirs[f"{prefix}layernorm_i.bias"] += getattr(module, "bias" + suffix).detach()
    return theirs


@torch.no_grad()
def rms_from_layer_norm(
    norm: nn.LayerNorm,
    before: Iterable[nn.Linear | nn.Embedding | Tensor],
    after: Iterable[nn.Linear] = (),
) -> RMSNorm:
    """Return an RMS norm that computes what a layer norm does, once the layers before are centered.

    ::

        LayerNorm(x) = gain * (x - mean) / sqrt(var + eps) + bias
                     = RMSNorm(x - mean) + bias

    If ``x`` is a sum of the outputs of ``before``, as in the residual stream of a pre-norm
    transformer, its mean over features can be subtracted from their weights once instead of from
    ``x`` in every forward pass: ``W - W.mean(0)`` and ``b - b.mean()`` for a linear layer,
    ``E - E.mean(-1)`` for an embedding. ``bias`` moves into the linear layers that read the norm:
    ``c + W bias``. Jiang et al. (2023); Ashkboos et al. (2024).

    ``before`` and ``after`` are changed in place; ``norm`` is not, and its module has to be
    replaced by the result. Centering twice changes nothing, so the same layers can be passed with
    each of the norms that read their sum. The model computes the same as before if all of these
    hold:

    - ``before`` has *everything* that is added to the norm's input, and each norm that reads the
      sum is replaced or is a layer norm itself. Nothing else may read the sum.
    - ``after`` has everything that reads the norm's output, if it has a bias.
    - An embedding whose weight is also that of the output layer is untied first: centering changes
      the logits.

    In a post-norm network the norm's input contains the output of the norm before it, whose mean
    depends on the gain; there is no weight to center.

    Args:
        norm: Over one axis, of ``H`` features.
        before: The layers whose outputs add up to the norm's input: ``nn.Linear`` with ``H``
            outputs, ``nn.Embedding`` of ``H`` features, or a tensor or parameter whose last axis
            are the features, such as a positional embedding.
        after: The layers that read the norm's output: ``nn.Linear`` with ``H`` inputs. One without
            a bias gets one. Needed only if ``norm`` has a bias that is not 0.

    Returns:
        A module with the gain and ``eps`` of ``norm``.

    Raises:
        TypeError: If a layer is of another type.
        ValueError: If a size does not fit, an embedding rescales its rows (``max_norm``), the
            norm's bias has nowhere to go, or a weight is in ``before`` and in ``after``.

    Example:
        >>> write, norm, read = nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)
        >>> x = torch.randn(5, 3)
        >>> y = read(norm(write(x)))
        >>> rms = rms_from_layer_norm(norm, [write], [read])
        >>> torch.allclose(read(rms(write(x))), y, atol=1e-5)
        True
    """
    before, after = list(before), list(dict.fromkeys(after))  # a bias moves once into a layer
    _check_neighbors(norm, before, after)
    for layer in before:
        if isinstance(layer, nn.Linear):
            _center(layer.weight, 0)
            if layer.bias is not None:
                _center(layer.bias, 0)
        else:
            _center(layer.weight if isinstance(layer, nn.Embedding) else layer, -1)
    if norm.bias is not None:
        for layer in after:
            _move(norm.bias, layer)
    weight = norm.weight
    result = RMSNorm(norm.normalized_shape, norm.eps, weight is not None)
    if weight is not None:
        result.to(weight).weight.copy_(weight)
    return result.train(norm.training)


@torch.no_grad()
def fold_norm(
    norm: nn.LayerNorm | nn.RMSNorm, *linears: nn.Linear, model: nn.Module | None = None
) -> None:
    """Fold gain and bias of a norm into the linear layers that read it, in place.

    ::

        W (gain * x_hat + bias) + c  =  (W * gain) x_hat + (c + W bias)

    The columns of ``W`` are multiplied by the gain, and ``norm`` loses its parameters: its
    ``weight`` and ``bias`` become ``None``. The layers compute the same to rounding. This is for
    inference, and for what needs a norm without a gain: rotations of the residual stream, or
    quantization, in which the folded weights are rounded (Ashkboos et al., 2024; Wei et al., 2022).

    ``linears`` must be *all* that read the norm's output, such as the layers of Q, K and V. If
    something else reads it, as the residual path of a post-norm network does, or if there is a
    nonlinearity in between, the outputs change, and this function cannot see it. Make the optimizer
    after folding.

    Batch norm in eval mode is folded into the layer *before* it, which needs no function of ours:
    ``torch.nn.utils.fusion.fuse_conv_bn_eval`` and ``fuse_linear_bn_eval``.

    Args:
        norm: Over one axis, of ``H`` features. One without parameters is left as it is.
        *linears: Each with ``H`` inputs. One without a bias gets one, if the norm has a bias that
            is not 0.
        model: Where given, it is checked that no other module of it has a weight of ``linears``, as
            an embedding has whose weight is also that of the output layer: it would be changed.

    Raises:
        TypeError: If ``norm`` or a layer is of another type, or of a subclass with a ``forward`` of
            its own, which may use the gain or the weight in another way.
        ValueError: If a size does not fit, ``norm`` is over several axes, there is no layer, a
            weight is parametrized (as by ``weight_norm``) or tied. Nothing is changed then.

    Example:
        >>> norm, q, k = nn.LayerNorm(4), nn.Linear(4, 3), nn.Linear(4, 3, bias=False)
        >>> _ = nn.init.uniform_(norm.weight), nn.init.uniform_(norm.bias)
        >>> x = torch.randn(5, 4)
        >>> before = q(norm(x)), k(norm(x))
        >>> fold_norm(norm, q, k)
        >>> norm.weight, k.bias.shape
        (None, torch.Size([3]))
        >>> all(torch.allclose(f(norm(x)), y, atol=1e-5) for f, y in zip((q, k), before))
        True
    """
    linears = tuple(dict.fromkeys(linears))
    _check_fold(norm, linears, model)
    bias = getattr(norm, "bias", None)
    for layer in linears:
        if bias is not None and bias.any():
            _move(bias, layer)  # with the weight from before the gain
        if norm.weight is not None:
            layer.weight.copy_(layer.weight.double() * norm.weight.double())
    norm.weight = None
    if bias is not None:
        norm.bias = None
    norm.elementwise_affine = False


def _move(bias: Tensor, layer: nn.Linear) -> None:
    """Add to the bias of a layer what the bias of the norm before it contributes, in float64."""
    moved = layer.weight.double() @ bias.double()
    if layer.bias is None:
        layer.bias = nn.Parameter(moved.to(layer.weight), layer.weight.requires_grad)
    else:
        layer.bias.copy_(layer.bias.double() + moved)


def _check_fold(norm: nn.Module, linears: tuple, model: nn.Module | None) -> None:
    """Refuse what cannot be folded, before anything is changed."""
    name, own = "fold_norm", (nn.LayerNorm, nn.RMSNorm, LayerNorm, RMSNorm)
    if type(norm).forward not in [kind.forward for kind in own]:
        raise TypeError(
            f"{name}: norm must be an nn.LayerNorm or nn.RMSNorm with its own forward, got "
            f"{type(norm).__name__}; fold batch norm by torch.nn.utils.fusion.fuse_conv_bn_eval, "
            "and another norm by hand: multiply the columns of each weight by its gain"
        )
    features = _features(name, norm)
    if not linears:
        raise ValueError(
            f"{name}: there must be a layer to fold into, got none; pass all nn.Linear that read "
            "the norm's output"
        )
    for layer in linears:
        if not isinstance(layer, nn.Linear) or type(layer).forward is not nn.Linear.forward:
            raise TypeError(
                f"{name}: layers must be nn.Linear with its forward, got {type(layer).__name__}; "
                "fold by hand: multiply the columns of its weight by the norm's gain"
            )
        if layer.in_features != features:
            raise ValueError(
                f"{name}: layers must read the {features} features of the norm, got one that reads "
                f"{layer.in_features}; is it the layer before the norm?"
            )
        if "weight" not in layer._parameters:
            raise ValueError(
                f"{name}: the weight of a layer must be a parameter, got one that is computed from "
                "others; remove the parametrization first "
                "(torch.nn.utils.parametrize.remove_parametrizations)"
            )
    modules = [*linears, *(model.modules() if model is not None else ())]
    for module in dict.fromkeys(modules):
        for layer in linears:
            if module is not layer and any(p is layer.weight for p in module._parameters.values()):
                raise ValueError(
                    f"{name}: the weight of a layer must not be shared, got one of shape "
                    f"{tuple(layer.weight.shape)} that {type(module).__name__} has, too; untie it "
                    "first: layer.weight = nn.Parameter(layer.weight.detach().clone())"
                )


def _center(tensor: Tensor, axis: int) -> None:
    """Subtract the mean over an axis, computed in float64, in place."""
    wide = tensor.double()
    tensor.copy_(wide - wide.mean(axis, keepdim=True))


def _check_neighbors(norm: nn.LayerNorm, before: list, after: list) -> None:
    """Refuse what cannot be converted, before anything is changed."""
    name = "rms_from_layer_norm"
    if not isinstance(norm, nn.LayerNorm):
        raise TypeError(f"{name}: norm must be an nn.LayerNorm, got {type(norm).__name__}")
    features = _features(name, norm)
    for layer in before:
        if isinstance(layer, nn.LayerNorm | nn.RMSNorm):
            raise TypeError(
                f"{name}: before must contain layers with weights to center, got {layer}; in a "
                "post-norm network layer norm cannot be replaced this way"
            )
        is_tensor = isinstance(layer, Tensor) and layer.is_floating_point()
        if not is_tensor and not isinstance(layer, nn.Linear | nn.Embedding):
            raise TypeError(
                f"{name}: before must contain nn.Linear, nn.Embedding or tensors of floats, got "
                f"{type(layer).__name__}; pass its weight as a tensor with the features last"
            )
        if isinstance(layer, nn.Embedding) and layer.max_norm is not None:
            raise ValueError(
                f"{name}: an embedding in before must have max_norm=None, got {layer.max_norm}; "
                "it would rescale the centered rows"
            )
        size = _size(layer)
        if size != features:
            raise ValueError(
                f"{name}: before must contain layers with the {features} features of the norm, got "
                f"{size} from {type(layer).__name__}; did you mean after?"
            )
    for layer in after:
        if not isinstance(layer, nn.Linear):
            raise TypeError(
                f"{name}: after must contain nn.Linear, got {type(layer).__name__}; add its weight "
                "times the norm's bias to its bias yourself, and set the norm's bias to 0"
            )
        if layer.in_features != features:
            raise ValueError(
                f"{name}: after must contain layers that read the {features} features of the norm, "
                f"got {layer.in_features}; did you mean before?"
            )
        if any(layer.weight is (b if isinstance(b, Tensor) else b.weight) for b in before):
            raise ValueError(
                f"{name}: a weight must not be in both before and after, got one of shape "
                f"{tuple(layer.weight.shape)}; untie the embedding from the output layer first"
            )
    if norm.bias is not None and norm.bias.any() and not after:
        raise ValueError(
            f"{name}: the norm's bias must have a linear layer to move into, got after=(); pass "
            "all layers that read the norm's output"
        )


def _features(function: str, norm: nn.LayerNorm | nn.RMSNorm) -> int:
    if len(norm.normalized_shape) != 1:
        raise ValueError(
            f"{function}: norm must be over one axis, got normalized_shape="
            f"{norm.normalized_shape}; the weights of a linear layer belong to the last axis alone"
        )
    return norm.normalized_shape[0]


def _size(layer: nn.Linear | nn.Embedding | Tensor) -> int:
    if isinstance(layer, nn.Linear):
        return layer.out_features
    if isinstance(layer, nn.Embedding):
        return layer.embedding_dim
    return layer.shape[-1] if layer.dim() else 1
