"""The network of section 6.4: two LSTMs, and the windows through which they read and paint."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.datasets.mnist_binarized import SIDE
from lnlab.experiments.draw import Settings
from lnlib.nn import LayerNormLSTMCell

ATTENTION = 5  # numbers that place a window: center x and y, deviation, stride, intensity


class Window(NamedTuple):
    """Where a window lies in each image of a batch, in pixels; the first has its center at 0.

    Attributes:
        center: x and y, shape ``(B, 2)``.
        stride: From one filter to the next, shape ``(B, 1)``.
        variance: Of each filter, shape ``(B, 1)``, in square pixels.
        intensity: What is read is multiplied by it, what is painted divided; shape ``(B, 1)``.
    """

    center: Tensor
    stride: Tensor
    variance: Tensor
    intensity: Tensor

    def numbers(self) -> Tensor:
        """Return center, stride, deviation and intensity, shape ``(B, 5)``."""
        parts = (self.center, self.stride, self.variance.sqrt(), self.intensity)
        return torch.cat(parts, 1)


def window(given: Tensor, size: int) -> Window:
    """Place a window of ``size`` filters a side as a network says.

    ::

        center = (S - 1) / 2 + (S + 1) / 2 (x, y)        stride = (S - 1) / (size - 1) exp(d)
        variance = exp(v)                                 intensity = exp(i)

    Gregor et al. (2015), eqs. 21-24, for a square image of S pixels a side. They number pixels
    from 1, here the first is 0.

    Args:
        given: ``x, y, v, d, i``, shape ``(B, 5)``; zeros are a window over the whole image.
        size: Filters in each direction, at least 2.
    """
    center = (SIDE - 1) / 2 + (SIDE + 1) / 2 * given[:, :2]
    variance, stride, intensity = given[:, 2:].exp().split(1, 1)
    return Window(center, (SIDE - 1) / (size - 1) * stride, variance, intensity)


def filters(where: Window, size: int) -> tuple[Tensor, Tensor]:
    """Return a window's Gaussian filters.

    ::

        F[k, a] = exp(-(a - m_k)^2 / (2 variance)) / Z_k
        m_k = center + (k - (size - 1) / 2) stride        for k from 0

    Z_k makes the sum over the pixels a 1. Gregor et al. (2015), eqs. 19, 20, 25 and 26.

    Args:
        where: The window.
        size: Filters in each direction.

    Returns:
        Those along x and those along y, each of shape ``(B, size, S)``.
    """
    own = where.center.new_tensor([k - (size - 1) / 2 for k in range(size)])
    pixels = torch.arange(SIDE, dtype=own.dtype, device=own.device)
    means = where.center[:, :, None] + (own * where.stride)[:, None]  # (B, 2, size)
    slope = (-0.5 / where.variance)[:, :, None, None]
    # Not exp and then a division: far from the image all of a filter would be 0.
    result = ((pixels - means[..., None]).square() * slope).softmax(-1)
    return result[:, 0], result[:, 1]


def read(images: Tensor, where: Window, size: int) -> Tensor:
    """Return what a window shows of each of two images.

    ::

        intensity F_y x F_x^T

    Args:
        images: Shape ``(B, S, 2, S)``: row, which of the two, column.
        where: The window.
        size: Filters in each direction.

    Returns:
        Shape ``(B, 2 size^2)``, all of the first image and then of the second.
    """
    along_x, along_y = filters(where, size)
    B = len(images)
    rows = (where.intensity[..., None] * along_y) @ images.view(B, SIDE, 2 * SIDE)
    rows = rows.view(B, size, 2, SIDE).transpose(1, 2).reshape(B, 2 * size, SIDE)
    return (rows @ along_x.transpose(1, 2)).flatten(1)


def paint(canvas: Tensor, patch: Tensor, where: Window, size: int) -> Tensor:
    """Add a patch to the canvas, through a window.

    ::

        canvas + F_y^T patch F_x / intensity

    Args:
        canvas: Shape ``(B, S, S)``.
        patch: Shape ``(B, size, size)``.
        where: The window.
        size: Filters in each direction.
    """
    along_x, along_y = filters(where, size)
    return torch.baddbmm(
        canvas, along_y.transpose(1, 2), patch / where.intensity[..., None] @ along_x
    )


class Painting(NamedTuple):
    """What the network does to a batch of images, glimpse by glimpse.

    Attributes:
        kl: Of what the encoder passes on, against N(0, 1), over all glimpses; shape ``(B,)``, nats.
        canvas: At the end, as logits of white, ``(B, S, S)``.
        canvases: After each glimpse, where they were asked for.
        reads: The windows that read, likewise.
        writes: The windows that paint, likewise.
    """

    kl: Tensor
    canvas: Tensor
    canvases: list[Tensor]
    reads: list[Window]
    writes: list[Window]


class Painter(nn.Module):
    """DRAW (Gregor et al., 2015, eqs. 3-8), for images of S x S bits.

    ::

        r = read(x, x - sigmoid(c); h_dec)        h_enc = LSTM(r, h_dec; h_enc)
        z ~ N(mean(h_enc), deviation(h_enc)^2)    h_dec = LSTM(z; h_dec)
        c = c + paint(h_dec)

    Args:
        encoder: A cell, called as ``nn.LSTMCell`` is.
        decoder: Another.
        settings: Its sizes.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, settings: Settings) -> None:
        super().__init__()
        self.sizes = settings.read_size, settings.write_size
        self.glimpses, self.hidden, self.latent = (
            settings.glimpses, settings.hidden, settings.latent
        )  # fmt: skip
        self.encoder, self.decoder = encoder, decoder
        self.code = nn.Linear(self.hidden, 2 * self.latent)
        # What is painted now, and where to look next: both follow from one state of the decoder.
        self.look = nn.Linear(self.hidden, 2 * ATTENTION + settings.write_size**2)

    def forward(self, images: Tensor, noise: Tensor, *, keep: bool = False) -> Painting:
        """Paint images.

        Args:
            images: Shape ``(B, S, S)``, 0 or 1.
            noise: From N(0, 1), shape ``(glimpses, B, latent)``.
            keep: Whether to keep all canvases and windows.
        """
        B, kl = len(images), images.new_zeros(())
        size = self.sizes[0]
        canvas = torch.zeros_like(images)
        zeros = images.new_zeros(B, self.hidden)
        encoded, decoded = (zeros, zeros), (zeros, zeros)
        following = self.look(zeros)[:, :ATTENTION]
        canvases, reads, writes = [], [], []
        for each in noise:
            here = window(following, size)
            both = torch.stack((images, images - canvas.sigmoid()), 2)
            seen = torch.cat((read(both, here, size), decoded[0]), 1)
            encoded = self.encoder(seen, encoded)
            mean, log_var = self.code(encoded[0]).chunk(2, 1)
            deviation = (log_var / 2).exp()
            kl = kl + (mean.square() + deviation.square() - log_var - 1)
            decoded, canvas, there, following = self.step(mean + deviation * each, decoded, canvas)
            if keep:
                canvases.append(canvas)
                reads.append(here)
                writes.append(there)
        return Painting(kl.sum(1) / 2, canvas, canvases, reads, writes)

    def step(
        self, z: Tensor, decoded: tuple[Tensor, Tensor], canvas: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor, Window, Tensor]:
        """Decode and paint once: state, canvas, where it was painted, and where to look next."""
        size = self.sizes[1]
        decoded = self.decoder(z, decoded)
        following, at, patch = self.look(decoded[0]).split((ATTENTION, ATTENTION, size**2), 1)
        there = window(at, size)
        canvas = paint(canvas, patch.view(-1, size, size), there, size)
        return decoded, canvas, there, following

    def dream(self, noise: Tensor) -> Painting:
        """Paint what nobody has seen: ``noise`` in place of what the encoder passes on."""
        B = noise.shape[1]
        canvas = noise.new_zeros(B, SIDE, SIDE)
        zeros = noise.new_zeros(B, self.hidden)
        decoded, canvases, writes = (zeros, zeros), [], []
        for z in noise:
            decoded, canvas, there, _ = self.step(z, decoded, canvas)
            canvases.append(canvas)
            writes.append(there)
        return Painting(noise.new_zeros(B), canvas, canvases, [], writes)


def bound(painting: Painting, images: Tensor) -> Tensor:
    """Return an upper bound of each image's negative log probability, shape ``(B,)``, in nats.

    ::

        -log p(x | c) + KL(q(z | x) || N(0, 1))

    with z drawn once. Gregor et al. (2015), eqs. 9-12.

    Args:
        painting: Of the images.
        images: Shape ``(B, S, S)``, 0 or 1.
    """
    missed = F.binary_cross_entropy_with_logits(painting.canvas, images, reduction="none")
    return missed.sum((1, 2)) + painting.kl


def model(settings: Settings, *, generator: torch.Generator) -> Painter:
    """Build the network, with or without layer norm on the same weights.

    Biases are 0 and weights uniform in +-1/sqrt(hidden), but for the LSTMs where ``start`` is
    ``chosen``.

    Args:
        settings: Norm, start, sizes.
        generator: Draws the weights, the same for both norms.
    """
    H = settings.hidden

    def cell(inputs: int) -> nn.Module:
        if settings.norm == "layer":
            return LayerNormLSTMCell(inputs, H, form="draw", eps=settings.eps, gain=settings.gain)
        plain = nn.LSTMCell(inputs, H)
        # Eq. 29 has one bias: of PyTorch's two, whose sum would learn twice as fast, one stays 0.
        plain.bias_hh.requires_grad_(False)
        return plain

    inputs = 2 * settings.read_size**2 + H
    built = Painter(cell(inputs), cell(settings.latent), settings)
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if "bias" in name:
                parameter.zero_()
            elif parameter.dim() == 2:
                bound = 1 / math.sqrt(H)
                parameter.uniform_(-bound, bound, generator=generator)
        if settings.start == "chosen":
            for lstm in (built.encoder, built.decoder):
                lstm.weight_ih.mul_(settings.input_scale)
                for gate in lstm.weight_hh.split(H):
                    nn.init.orthogonal_(gate, generator=generator)
    return built
