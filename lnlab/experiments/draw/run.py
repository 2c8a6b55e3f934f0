"""Training of DRAW (section 6.4): batches, the bound, and recorded canvases and windows."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lnlab import run
from lnlab.datasets.mnist_binarized import SIDE, Binarized
from lnlab.experiments.draw import EXPERIMENT, Settings
from lnlab.experiments.draw.model import Window, bound, model

SPLITS = ("val", "test")
MAX_GRAY_LEVEL = 15  # of a recorded canvas: 16 gray levels compress well
EVAL_BATCH_SIZE = 250  # images per batch in the evaluation


class DrawRun(run.Run):
    """Training of DRAW, with one seed.

    The seed determines the initial weights, the same for both norms, the order of the images and
    the noise of each epoch. The noise for the measurement of the bound is always the same.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If there are too few images for ``batch_size``, ``images`` or ``keep``, or
            ``seed`` is negative.
    """

    experiment = EXPERIMENT
    optional_measures = ("val_bound_of_all", "test_bound_of_all")
    measures_at_end = allow_divergence = True

    def setup(self, data: Binarized) -> None:
        """Build the model and its optimizer, and put the images on the device."""
        self.images = {
            split: torch.from_numpy(images).view(-1, SIDE, SIDE).to(self.device)
            for split, images in data.images.items()
        }
        self.model = model(self.settings, generator=self.generator()).to(self.device)
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Binarized) -> int:
        """Return the number of updates per epoch, which is a setting.

        Raises:
            ValueError: If there are too few images for ``batch_size``, ``images`` or ``keep``.
        """
        for name, splits in (("batch_size", ["train"]), ("images", SPLITS), ("keep", ["test"])):
            available = min(len(data.images[s]) for s in splits)
            cls.check_enough(settings, name, available, f"images of {' and '.join(splits)}", data)
        return settings.updates_per_epoch

    @property
    def cases(self) -> dict[str, int]:
        """Number of images of each split."""
        return {split: len(images) for split, images in self.images.items()}

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield images ``(B, S, S)`` and noise ``(glimpses, B, latent)``."""
        s = self.settings
        rng = np.random.default_rng([self.seed, 0, epoch])
        for chosen in self.order(epoch):
            shape = s.glimpses, s.batch_size, s.latent
            noise = torch.from_numpy(rng.standard_normal(shape, np.float32))
            yield self.floats(self.images["train"][chosen]), self.floats(noise)

    def order(self, epoch: int) -> Iterator[np.ndarray]:
        """Yield the image indices of each batch; a last, smaller batch of a pass is dropped."""
        s, count = self.settings, len(self.images["train"])
        batches_per_pass, images = count // s.batch_size, {}
        for update in range(epoch * s.updates_per_epoch, (epoch + 1) * s.updates_per_epoch):
            number, k = divmod(update, batches_per_pass)
            if number not in images:
                rng = np.random.default_rng([self.seed, 1, number])
                images = {number: rng.permutation(count)}
            yield images[number][k * s.batch_size : (k + 1) * s.batch_size]

    def floats(self, values: Tensor) -> Tensor:
        """Return values on the device of the model, in its dtype."""
        return values.to(next(self.model.parameters()))

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Return the mean bound of a batch."""
        images, noise = batch
        return bound(self.model(images, noise), images).mean()

    def measure(self) -> dict[str, Any]:
        """Measure the bound on validation and test images.

        - ``val_bound`` and ``test_bound``: the mean over ``images`` evenly spaced images;
        - ``val_kl`` and ``test_kl``: its KL term;
        - ``val_bound_of_all`` and ``test_bound_of_all``: the mean over all images at the end, NaN
          before;
        - with ``keep``, the results of :meth:`recorded_images`.
        """
        results = {}
        for split in SPLITS:
            images = self.images[split]
            some = images[evenly_spaced(len(images), self.settings.images)]
            results[f"{split}_bound"], results[f"{split}_kl"] = self.mean_bound(some)
            bound_of_all = self.mean_bound(images)[0] if self.at_end else math.nan
            results[f"{split}_bound_of_all"] = bound_of_all
        return results | (self.recorded_images() if self.settings.keep else {})

    def mean_bound(self, images: Tensor) -> tuple[float, float]:
        """Return the mean bound of images and its KL term, in nats."""
        generator, totals = torch.Generator().manual_seed(0), torch.zeros(2, dtype=torch.float64)
        for part in images.split(EVAL_BATCH_SIZE):
            part = self.floats(part)
            painting = self.model(part, self.noise(len(part), generator))
            bound_and_kl = torch.stack((bound(painting, part), painting.kl))
            totals += bound_and_kl.double().sum(1).cpu()
        return tuple((totals / len(images)).tolist())

    def noise(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw standard normal noise for ``count`` images, shape ``(glimpses, count, latent)``."""
        s = self.settings
        return self.floats(torch.randn(s.glimpses, count, s.latent, generator=generator))

    def recorded_images(self) -> dict[str, Tensor]:
        """Return how ``keep`` evenly spaced test images and as many generated images are drawn.

        - ``canvas``: canvas after each glimpse, shape ``(keep, glimpses, S, S)``, uint8, 0 to 15;
        - ``read_window`` and ``write_window``: :meth:`Window.numbers`, ``(keep, glimpses, 5)``,
          float16;
        - ``dream_canvas`` and ``dream_window``: the same for generated images, with codes from
          N(0, 1).
        """
        generator, keep = torch.Generator().manual_seed(1), self.settings.keep
        images = self.images["test"][evenly_spaced(len(self.images["test"]), keep)]
        reconstructed = self.model(self.floats(images), self.noise(keep, generator), keep=True)
        generated = self.model.dream(self.noise(keep, generator))
        return {
            "canvas": _canvases(reconstructed.canvases),
            "read_window": _windows(reconstructed.reads),
            "write_window": _windows(reconstructed.writes),
            "dream_canvas": _canvases(generated.canvases),
            "dream_window": _windows(generated.writes),
        }


def evenly_spaced(count: int, some: int) -> list[int]:
    """Return ``some`` evenly spaced indices below ``count``.

    Example:
        >>> evenly_spaced(10, 3)
        [1, 5, 8]
    """
    return [(2 * k + 1) * count // (2 * some) for k in range(some)]


def _canvases(logits: Sequence[Tensor]) -> Tensor:
    shades = torch.stack(tuple(logits), 1).sigmoid() * MAX_GRAY_LEVEL
    return shades.round().nan_to_num(0).to(torch.uint8)


def _windows(windows: Sequence[Window]) -> Tensor:
    numbers = torch.stack([window.numbers() for window in windows], 1)
    # Clamped to the range of float16; such windows are far outside the image.
    return numbers.nan_to_num(0).clamp(-1e4, 1e4).half()
