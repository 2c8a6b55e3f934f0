"""DRAW (section 6.4): two LSTMs, with attention windows for reading and writing."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.datasets.mnist_binarized import SIDE
from lnlab.experiments.draw import Settings
from lnlib.nn import LayerNormLSTMCell

ATTENTION = 5  # parameters of a window: center x and y, variance, stride, intensity


class Window(NamedTuple):
    """Attention windows of a batch, in pixels; the center of the first pixel is at 0.

    Attributes:
        center: x and y, shape ``(B, 2)``.
        stride: Distance between filters, shape ``(B, 1)``.
        variance: Variance of the filters, shape ``(B, 1)``, in square pixels.
        intensity: Factor for reading and divisor for writing, shape ``(B, 1)``.
    """

    center: Tensor
    stride: Tensor
    variance: Tensor
    intensity: Tensor

    def numbers(self) -> Tensor:
        """Return center, stride, std and intensity, shape ``(B, 5)``."""
        parts = (self.center, self.stride, self.variance.sqrt(), self.intensity)
        return torch.cat(parts, 1)


def window(parameters: Tensor, size: int) -> Window:
    """Return the windows for the outputs of a network.

    ::

        center = (S - 1) / 2 + (S + 1) / 2 (x, y)        stride = (S - 1) / (size - 1) exp(d)
        variance = exp(v)                                 intensity = exp(i)

    Gregor et al. (2015), eqs. 21-24, for square images of S x S pixels. They number pixels from 1;
    here, the first pixel is 0.

    Args:
        parameters: ``x, y, v, d, i``, shape ``(B, 5)``; zeros are a window over the whole image.
        size: Number of filters in each direction, at least 2.
    """
    center = (SIDE - 1) / 2 + (SIDE + 1) / 2 * parameters[:, :2]
    variance, stride, intensity = parameters[:, 2:].exp().split(1, 1)
    return Window(center, (SIDE - 1) / (size - 1) * stride, variance, intensity)


def filters(windows: Window, size: int) -> tuple[Tensor, Tensor]:
    """Return the Gaussian filters of windows.

    ::

        F[k, a] = exp(-(a - m_k)^2 / (2 variance)) / Z_k
        m_k = center + (k - (size - 1) / 2) stride        for k from 0

    Z_k normalizes the sum over the pixels to 1. Gregor et al. (2015), eqs. 19, 20, 25 and 26.

    Args:
        windows: The windows.
        size: Number of filters in each direction.

    Returns:
        The filters along x and along y, each of shape ``(B, size, S)``.
    """
    offsets = windows.center.new_tensor([k - (size - 1) / 2 for k in range(size)])
    pixels = torch.arange(SIDE, dtype=offsets.dtype, device=offsets.device)
    means = windows.center[:, :, None] + (offsets * windows.stride)[:, None]  # (B, 2, size)
    slope = (-0.5 / windows.variance)[:, :, None, None]
    # softmax, because exp would underflow to 0 for windows far outside the image.
    result = ((pixels - means[..., None]).square() * slope).softmax(-1)
    return result[:, 0], result[:, 1]


def read(images: Tensor, windows: Window, size: int) -> Tensor:
    """Read a patch of each of two images through windows.

    ::

        intensity F_y x F_x^T

    Args:
        images: Pairs of images, shape ``(B, S, 2, S)``: row, image, column.
        windows: The windows.
        size: Number of filters in each direction.

    Returns:
        Patches of the first images, then of the second, shape ``(B, 2 size^2)``.
    """
    along_x, along_y = filters(windows, size)
    B = len(images)
    rows = (windows.intensity[..., None] * along_y) @ images.view(B, SIDE, 2 * SIDE)
    rows = rows.view(B, size, 2, SIDE).transpose(1, 2).reshape(B, 2 * size, SIDE)
    return (rows @ along_x.transpose(1, 2)).flatten(1)


def write_patch(canvas: Tensor, patch: Tensor, windows: Window, size: int) -> Tensor:
    """Add a patch to the canvas through windows.

    ::

        canvas + F_y^T patch F_x / intensity

    Args:
        canvas: Shape ``(B, S, S)``.
        patch: Shape ``(B, size, size)``.
        windows: The windows.
        size: Number of filters in each direction.
    """
    along_x, along_y = filters(windows, size)
    return torch.baddbmm(
        canvas, along_y.transpose(1, 2), patch / windows.intensity[..., None] @ along_x
    )


class DRAWOutput(NamedTuple):
    """The output of the network for a batch of images.

    Attributes:
        kl: KL divergence of the codes from N(0, 1), summed over glimpses, shape ``(B,)``, in nats.
        canvas: The final canvas, logits of white, shape ``(B, S, S)``.
        canvases: The canvas after each glimpse, if requested.
        reads: The reading windows, if requested.
        writes: The writing windows, if requested.
    """

    kl: Tensor
    canvas: Tensor
    canvases: list[Tensor]
    reads: list[Window]
    writes: list[Window]


class DRAW(nn.Module):
    """DRAW (Gregor et al., 2015, eqs. 3-8), for images of S x S bits.

    ::

        r = read(x, x - sigmoid(c); h_dec)        h_enc = LSTM(r, h_dec; h_enc)
        z ~ N(mean(h_enc), deviation(h_enc)^2)    h_dec = LSTM(z; h_dec)
        c = c + write(h_dec)

    Args:
        encoder: A cell with the interface of ``nn.LSTMCell``.
        decoder: A cell with the interface of ``nn.LSTMCell``.
        settings: The sizes.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, settings: Settings) -> None:
        super().__init__()
        self.sizes = settings.read_size, settings.write_size
        self.glimpses, self.hidden, self.latent = (
            settings.glimpses, settings.hidden, settings.latent
        )  # fmt: skip
        self.encoder, self.decoder = encoder, decoder
        self.code = nn.Linear(self.hidden, 2 * self.latent)
        # The patch, its window and the next reading window are read from one decoder state.
        self.look = nn.Linear(self.hidden, 2 * ATTENTION + settings.write_size**2)

    def forward(self, images: Tensor, noise: Tensor, *, keep: bool = False) -> DRAWOutput:
        """Encode and reconstruct images.

        Args:
            images: Shape ``(B, S, S)``, 0 or 1.
            noise: Samples of N(0, 1), shape ``(glimpses, B, latent)``.
            keep: Whether to return all canvases and windows.
        """
        B, kl = len(images), images.new_zeros(())
        size = self.sizes[0]
        canvas = torch.zeros_like(images)
        zeros = images.new_zeros(B, self.hidden)
        encoded, decoded = (zeros, zeros), (zeros, zeros)
        next_read = self.look(zeros)[:, :ATTENTION]
        canvases, reads, writes = [], [], []
        for epsilon in noise:
            read_window = window(next_read, size)
            pairs = torch.stack((images, images - canvas.sigmoid()), 2)
            inputs = torch.cat((read(pairs, read_window, size), decoded[0]), 1)
            encoded = self.encoder(inputs, encoded)
            mean, log_var = self.code(encoded[0]).chunk(2, 1)
            std = (log_var / 2).exp()
            kl = kl + (mean.square() + std.square() - log_var - 1)
            z = mean + std * epsilon
            decoded, canvas, write_window, next_read = self.step(z, decoded, canvas)
            if keep:
                canvases.append(canvas)
                reads.append(read_window)
                writes.append(write_window)
        return DRAWOutput(kl.sum(1) / 2, canvas, canvases, reads, writes)

    def step(
        self, z: Tensor, decoded: tuple[Tensor, Tensor], canvas: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor, Window, Tensor]:
        """Decode one code; return state, canvas, writing window and next reading window."""
        size = self.sizes[1]
        decoded = self.decoder(z, decoded)
        next_read, write_params, patch = self.look(decoded[0]).split(
            (ATTENTION, ATTENTION, size**2), 1
        )
        write_window = window(write_params, size)
        canvas = write_patch(canvas, patch.view(-1, size, size), write_window, size)
        return decoded, canvas, write_window, next_read

    def dream(self, noise: Tensor) -> DRAWOutput:
        """Generate images from codes ``noise``, samples of N(0, 1), without the encoder."""
        B = noise.shape[1]
        canvas = noise.new_zeros(B, SIDE, SIDE)
        zeros = noise.new_zeros(B, self.hidden)
        decoded, canvases, writes = (zeros, zeros), [], []
        for z in noise:
            decoded, canvas, write_window, _ = self.step(z, decoded, canvas)
            canvases.append(canvas)
            writes.append(write_window)
        return DRAWOutput(noise.new_zeros(B), canvas, canvases, [], writes)


def bound(painting: DRAWOutput, images: Tensor) -> Tensor:
    """Return the upper bound of the negative log likelihood of each image, ``(B,)``, in nats.

    ::

        -log p(x | c) + KL(q(z | x) || N(0, 1))

    with one sample of z. Gregor et al. (2015), eqs. 9-12.

    Args:
        painting: The output of the network for the images.
        images: Shape ``(B, S, S)``, 0 or 1.
    """
    reconstruction = F.binary_cross_entropy_with_logits(painting.canvas, images, reduction="none")
    return reconstruction.sum((1, 2)) + painting.kl


def model(settings: Settings, *, generator: torch.Generator) -> DRAW:
    """Build the network, with the same initial weights with and without layer norm.

    Biases are 0 and weights uniform in +-1/sqrt(hidden). If ``start`` is ``chosen``, recurrent
    weights of the LSTMs are orthogonal and input weights are scaled.

    Args:
        settings: Norm, initialization and sizes.
        generator: Generator for the initial weights.
    """
    H = settings.hidden

    def cell(inputs: int) -> nn.Module:
        if settings.norm == "layer":
            return LayerNormLSTMCell(inputs, H, form="draw", eps=settings.eps, gain=settings.gain)
        plain = nn.LSTMCell(inputs, H)
        # Eq. 29 has one bias. With both of PyTorch's trained, their sum would learn twice as fast.
        plain.bias_hh.requires_grad_(False)
        return plain

    inputs = 2 * settings.read_size**2 + H
    network = DRAW(cell(inputs), cell(settings.latent), settings)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "bias" in name:
                parameter.zero_()
            elif parameter.dim() == 2:
                bound = 1 / math.sqrt(H)
                parameter.uniform_(-bound, bound, generator=generator)
        if settings.start == "chosen":
            for lstm in (network.encoder, network.decoder):
                lstm.weight_ih.mul_(settings.input_scale)
                for gate in lstm.weight_hh.split(H):
                    nn.init.orthogonal_(gate, generator=generator)
    return network
