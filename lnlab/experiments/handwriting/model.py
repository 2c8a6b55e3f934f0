"""The network of section 6.5: an attention window over the text, LSTMs, and a Gaussian mixture."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.experiments.handwriting import Settings
from lnlab.experiments.handwriting.window import COMPONENT_PARAMETERS, WindowLSTM
from lnlib.nn import LayerNormLSTM, LayerNormLSTMCell

POINT_FEATURES = 3  # features of a point: offsets in x and y, and whether the pen is lifted
MIN_LOG_STD, MAX_LOG_STD = -7.0, 7.0  # bounds of log(std), in units of the std of the offsets
MAX_CORRELATION = 0.999  # the largest correlation


class Samples(NamedTuple):
    """Output of the network when it generates."""

    points: Tensor  # (T, B, 3)
    window: Tensor  # (T, B): its position, the mean of phi, in characters from 0


class HandwritingNetwork(nn.Module):
    """Map the previous pen positions and a text to the distribution of the next position.

    Each layer receives the pen input, the window and the output of the layer below; the output
    layer receives the outputs of all layers. Graves (2013), section 5.2.

    Args:
        settings: Norm and sizes.
        characters: Number of different characters.
    """

    def __init__(self, settings: Settings, characters: int) -> None:
        super().__init__()
        s, H = settings, settings.hidden
        self.constant = s.constant
        pen = POINT_FEATURES + s.constant
        if s.norm == "layer":
            options = {"eps": s.eps, "gain": s.gain}
            cell, lstm = LayerNormLSTMCell, LayerNormLSTM
        else:
            options, cell, lstm = {}, nn.LSTMCell, nn.LSTM
        self.first = WindowLSTM(cell(pen + characters, H, **options), s.window_components)
        self.others = nn.ModuleList(
            lstm(H + pen + characters, H, **options) for _ in range(s.layers - 1)
        )
        self.output = nn.Linear(s.layers * H, 1 + 6 * s.mixture)

    def pen(self, points: Tensor) -> Tensor:
        """Return points as inputs of the network, with a constant 1 if requested."""
        return F.pad(points, (0, 1), value=1.0) if self.constant else points

    def forward(self, points: Tensor, text: Tensor) -> tuple[Tensor, Tensor]:
        """Run over segments of lines.

        Args:
            points: Shape ``(T, B, 3)``: offsets in units of their std, lifts.
            text: Shape ``(B, U, C)``: one-hot vectors of the characters, with zeros after the last.

        Returns:
            Parameters of the distribution of the next point ``(T, B, 1 + 6 mixture)``, and phi
            ``(T, B, U)``.
        """
        x = self.pen(points)
        hidden, window, phi = self.first(x, text)
        layers = [hidden]
        for lstm in self.others:
            layers.append(lstm(torch.cat((layers[-1], x, window), 2))[0])
        return self.output(torch.cat(layers, 2)), phi

    def write(
        self, text: Tensor, count: int, generator: torch.Generator, bias: float = 0.0
    ) -> Samples:
        """Write texts ``(B, U, C)`` as ``count`` points, sampled one at a time by :func:`draw`."""
        state, others = self.first.start(text), [None] * len(self.others)
        point = text.new_zeros(len(text), POINT_FEATURES)
        positions = torch.arange(text.shape[1], dtype=text.dtype, device=text.device)
        points, window = [], []
        for _ in range(count):
            x = self.pen(point)
            state, phi = self.first.step(x, text, state)
            layers = [state.h]
            for k, lstm in enumerate(self.others):
                input = torch.cat((layers[-1], x, state.window), 1)
                output, others[k] = lstm(input.unsqueeze(0), others[k])
                layers.append(output[0])
            point = draw(self.output(torch.cat(layers, 1)), generator, bias)
            points.append(point)
            window.append(phi @ positions / phi.sum(1).clamp(min=1e-9))
        return Samples(torch.stack(points), torch.stack(window))


def model(
    settings: Settings, characters: int, pace: float, *, generator: torch.Generator
) -> HandwritingNetwork:
    """Build the network, with the same initial weights for each norm.

    Weights are uniform in +-1 / sqrt(fan-in of the recurrent weights), as in ``torch.nn``, unless
    ``start`` is ``chosen``. All biases are 0 except those of the window: with these, the window
    initially moves at the average pace, and the heights of its Gaussian components sum to 1.

    Args:
        settings: Norm, sizes and initialization.
        characters: Number of different characters.
        pace: Average number of characters per point.
        generator: Generator for the initial weights.
    """
    s, network = settings, HandwritingNetwork(settings, characters)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1:
                continue
            bound = 1 / math.sqrt(s.hidden)
            parameter.uniform_(-bound, bound, generator=generator)
        for name, parameter in network.named_parameters():
            leaf = name.rpartition(".")[2]
            if leaf.startswith("weight_ih") and s.start == "chosen":
                parameter.mul_(s.input_scale)
            elif leaf.startswith("weight_hh") and s.start == "chosen":
                for gate in parameter.split(s.hidden):
                    nn.init.orthogonal_(gate, generator=generator)
            elif "bias" in leaf:
                parameter.zero_()
        height, _, step = network.first.components.bias.chunk(COMPONENT_PARAMETERS)
        height.fill_(-math.log(s.window_components))
        step.fill_(math.log(pace))
    return network


def nll(params: Tensor, points: Tensor) -> Tensor:
    """Return the negative log likelihood of each point, in nats.

    ::

        -log sum over the mixture of  pi N(x, y; mean, std, correlation)
        -log p(lifted or not)

    Graves (2013), eqs. 23-26. Densities are with respect to the unit of ``points``.

    Args:
        params: Shape ``(..., 1 + 6 M)``: the logit of the lift, then for the M components their
            weights, means of x and y, logarithms of the standard deviations of x and y, and
            correlations before tanh.
        points: Shape ``(..., 3)``.
    """
    lift, weight, mean_x, mean_y, log_x, log_y, rho = _parts(params)
    x, y, lifted = points.unsqueeze(-1).unbind(-2)
    u, v = (x - mean_x) * torch.exp(-log_x), (y - mean_y) * torch.exp(-log_y)
    rest = 1 - rho * rho
    distance = (u * u + v * v - 2 * rho * u * v) / rest
    log_density = -0.5 * (distance + torch.log(rest)) - log_x - log_y - math.log(2 * math.pi)
    log_mixture = torch.logsumexp(F.log_softmax(weight, -1) + log_density, -1)
    bernoulli = F.binary_cross_entropy_with_logits(lift, lifted, reduction="none").squeeze(-1)
    return bernoulli - log_mixture


def draw(params: Tensor, generator: torch.Generator, bias: float = 0.0) -> Tensor:
    """Sample a point ``(B, 3)`` from the parameters of its distribution ``(B, 1 + 6 M)``.

    A ``bias`` reduces the variation: it divides standard deviations by ``e^bias`` and multiplies
    the logits of the mixture weights by ``1 + bias``; Graves (2013), eqs. 61-62.
    """
    lift, weight, *rest = _parts(params)
    weight, rest[2], rest[3] = weight * (1 + bias), rest[2] - bias, rest[3] - bias
    # If the weights are NaN, any component can be sampled.
    chosen = torch.multinomial(weight.softmax(-1).nan_to_num(1.0), 1, generator=generator)
    mean_x, mean_y, log_x, log_y, rho = (s.gather(1, chosen) for s in rest)
    u, v = torch.randn(2, len(params), 1, generator=generator, dtype=params.dtype)
    x = mean_x + log_x.exp() * u
    y = mean_y + log_y.exp() * (rho * u + (1 - rho * rho).sqrt() * v)
    lifted = torch.rand(len(params), 1, generator=generator, dtype=params.dtype) < lift.sigmoid()
    return torch.cat((x, y, lifted.to(params.dtype)), 1)


def _parts(params: Tensor) -> list[Tensor]:
    count = (params.shape[-1] - 1) // 6
    lift, weight, mean_x, mean_y, log_x, log_y, rho = params.split((1, *[count] * 6), -1)
    return [
        *(
            lift,
            weight,
            mean_x,
            mean_y,
            log_x.clamp(MIN_LOG_STD, MAX_LOG_STD),
            log_y.clamp(MIN_LOG_STD, MAX_LOG_STD),
        ),
        MAX_CORRELATION * rho.tanh(),
    ]
