"""Layer norm and RMS norm of features that are split over processes: tensor parallelism."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lnlib.nn import functional
from lnlib.nn.adaptive import _check_sizes
from lnlib.norms._arguments import check_eps

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class _SplitNorm(nn.Module):
    """What both norms share: the slices of gain and bias, the group, and the call."""

    _is_centered: ClassVar[bool]

    def __init__(self, features, eps, elementwise_affine, bias, device, dtype, group) -> None:
        super().__init__()
        _check_sizes(type(self).__name__, features=features)
        self.features, self.eps, self.group = features, eps, group
        for name, exists in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            values = torch.empty(features, device=device, dtype=dtype) if exists else None
            self.register_parameter(name, None if values is None else nn.Parameter(values))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the gain to 1 and the bias to 0."""
        if self.weight is not None:
            nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def __deepcopy__(self, memo: dict) -> _SplitNorm:
        memo[id(self.group)] = self.group  # the same ranks; a process group cannot be copied
        memo[id(self)] = result = self.__new__(type(self))
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result

    def forward(self, input: Tensor) -> Tensor:
        """Return this rank's slice of the normalized examples."""
        name, weight, bias = type(self).__name__, self.weight, self.bias
        input = functional._check(name, input, (self.features,), weight, bias)
        eps = functional.rms_eps(input.dtype) if self.eps is None else self.eps
        ranks = _number_of_ranks(name, self.group)
        centered = self._is_centered
        return _SplitFunction.apply(input, weight, bias, eps, centered, self.group, ranks)

    def extra_repr(self) -> str:
        """Return the features of this rank, eps, and which parameters there are."""
        affine, bias = (p is not None for p in (self.weight, self.bias))
        return f"{self.features}, eps={self.eps}, elementwise_affine={affine}, bias={bias}"


class ParallelLayerNorm(_SplitNorm):
    """Layer norm of examples whose features are split over the processes of a group.

    ::

        y = weight * (x - mean) / sqrt(var + eps) + bias

    Ba, Kiros & Hinton (2016), eqs. 15-16, with ``mean`` and ``var`` over the features of *all*
    ranks, as tensor parallelism needs it for a norm between a column-parallel and a row-parallel
    linear layer, or for QK norm over all heads. Each rank holds its own slice of the features, of
    ``weight`` and of ``bias``. ``torch.nn.LayerNorm`` in its place would take the statistics of
    each slice, without an error.

    Each pass needs one message. In the forward pass, ranks gather each other's mean and sum of
    squared distances from it for each example, and combine them without cancellation (Chan, Golub
    & LeVeque, 1983)::

        mean = sum(n_r * mean_r) / n
        var  = sum(squares_r + n_r * (mean_r - mean)^2) / n

    In the backward pass, they add up the two sums of the gradient of the input. The gradients of
    ``weight`` and ``bias`` are complete on each rank, as long as no rank has other examples.

    All ranks of the group have to call the module the same number of times, forward and backward,
    with inputs that agree in all sizes but the last. A rank that is missing lets the others wait.

    Args:
        features: On this rank. Ranks may have different numbers, as 11 features in three slices.
        eps: In squared units of the input.
        elementwise_affine: Whether there are ``weight`` (the gain) and ``bias``.
        bias: Whether there is ``bias``, given ``elementwise_affine``.
        device: Of the parameters.
        dtype: Of the parameters. A float16 or bfloat16 input may meet float32 parameters; the
            statistics are computed and exchanged in float32.
        group: The ranks that share an example, such as ``mesh.get_group("tp")``. ``None``: all
            ranks, or this process alone if ``torch.distributed.init_process_group`` was not called:
            then it is the ordinary norm.

    Attributes:
        weight: Shape ``(features,)``: of the ordinary norm's, the slice of this rank. A
            ``state_dict`` has the names of ``torch.nn.LayerNorm``'s.
        bias: Shape ``(features,)``, likewise.

    Shape:
        Input and output: ``(*, features)``. Plain tensors: of a ``DTensor``, pass ``to_local()``.

    Raises:
        ValueError: If ``features`` is below 1, or ``eps`` below 0.
        RuntimeError: In a call, if a shape does not fit, or this process is not in ``group``. The
            gradient cannot be differentiated again.

    Example:
        >>> norm = ParallelLayerNorm(4, eps=0)  # one process
        >>> norm(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
        >>> whole = nn.LayerNorm(8).state_dict()  # rank 1 of 2 loads its slices
        >>> norm.load_state_dict({name: p.chunk(2)[1] for name, p in whole.items()})
        <All keys matched successfully>
    """

    _is_centered = True

    def __init__(
        self,
        features: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        group: ProcessGroup | None = None,
    ) -> None:
        check_eps("ParallelLayerNorm", eps)
        super().__init__(features, eps, elementwise_affine, bias, device, dtype, group)


class ParallelRMSNorm(_SplitNorm):
    """RMS norm of examples whose features are split over the processes of a group.

    ::

        y = weight * x / sqrt(mean(x^2) + eps)

    Zhang & Sennrich (2019), with the mean over the features of *all* ranks; everything else is as
    in :class:`ParallelLayerNorm`. Each pass needs one all-reduce of one number per example: the sum
    of squares in the forward pass, and in the backward pass the sum of ``weight * dy * x_hat``,
    where ``x_hat`` is the normalized input.

    Args:
        features, device, dtype, group: As in :class:`ParallelLayerNorm`.
        eps: In squared units of the input. ``None``: the machine epsilon, as in
            :class:`lnlib.nn.RMSNorm`.
        elementwise_affine: Whether there is ``weight`` (the gain).

    Example:
        >>> norm = ParallelRMSNorm(2, eps=0)  # one process
        >>> norm(torch.tensor([[1.0, 7.0]])).detach()
        tensor([[0.2000, 1.4000]])
    """

    _is_centered = False

    def __init__(
        self,
        features: int,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        group: ProcessGroup | None = None,
    ) -> None:
        if eps is not None:
            check_eps("ParallelRMSNorm", eps)
        super().__init__(features, eps, elementwise_affine, False, device, dtype, group)


class _SplitFunction(torch.autograd.Function):
    """Layer norm, or RMS norm if not ``centered``, and its gradient (not differentiable again)."""

    @staticmethod
    def forward(ctx, input, weight, bias, eps, centered, group, ranks):
        x = functional._wide(input)
        mean, var, ctx.count = _statistics(x, centered, group, ranks)
        rstd = (var + eps).rsqrt()
        ctx.centered, ctx.group, ctx.ranks = centered, group, ranks
        ctx.save_for_backward(input, weight, bias, mean, rstd)
        return functional._affine((x - mean) * rstd, weight, bias).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        input, weight, bias, mean, rstd = ctx.saved_tensors
        dy, x_hat = functional._wide(dy), (functional._wide(input) - mean) * rstd
        dx_hat = dy if weight is None else weight * dy
        parts = [dx_hat * x_hat, dx_hat] if ctx.centered else [dx_hat * x_hat]
        sums = torch.stack([part.sum(-1, keepdim=True) for part in parts])
        if ctx.ranks > 1:
            dist.all_reduce(sums, group=ctx.group)
        slope, *shift = sums / ctx.count
        dx = (dx_hat - slope * x_hat - (shift[0] if shift else 0)) * rstd
        parameters = functional.parameter_gradients(dy, x_hat, weight, bias)
        return dx.to(input.dtype), *parameters, *[None] * 4


def _statistics(
    x: Tensor, centered: bool, group: ProcessGroup | None, ranks: int
) -> tuple[Tensor, Tensor, Tensor | int]:
    """Return the mean (0 unless ``centered``), the mean square about it, and the features."""
    count = x.shape[-1]
    mean = x.mean(-1, keepdim=True) if centered else torch.zeros_like(x[..., :1])
    squares = (x - mean).square().sum(-1, keepdim=True)
    if ranks == 1:
        return mean, squares / count, count
    # The count travels in the same message, since slices may differ.
    parts = [x.new_full((1,), count), squares.flatten(), *([mean.flatten()] if centered else [])]
    message = torch.cat(parts)
    if not centered:
        dist.all_reduce(message, group=group)
        return mean, message[1:].view_as(mean) / message[0], message[0]
    messages = [torch.empty_like(message) for _ in range(ranks)]
    dist.all_gather(messages, message, group=group)
    gathered = torch.stack(messages)
    counts, (squares, means) = gathered[:, :1], gathered[:, 1:].chunk(2, dim=1)
    share = counts / counts.sum()
    of_all = (share * means).sum(0)
    var = (squares / counts.sum() + share * (means - of_all).square()).sum(0)
    return of_all.view_as(mean), var.view_as(mean), counts.sum()


def _number_of_ranks(name: str, group: ProcessGroup | None) -> int:
    if not (dist.is_available() and dist.is_initialized()):
        return 1
    count = dist.get_world_size(group)
    if count < 1:
        raise RuntimeError(
            f"{name}: group must contain this process, got one without rank {dist.get_rank()}; "
            "each rank passes the group that has its slices"
        )
    return count
