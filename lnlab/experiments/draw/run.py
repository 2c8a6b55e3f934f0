"""One run of section 6.4: how images come, how the bound is measured, what is kept to be shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lnlab import run
from lnlab.datasets.mnist_binarized import SIDE, Binarized
from lnlab.experiments.draw import EXPERIMENT, Settings
from lnlab.experiments.draw.model import Window, bound, model

SPLITS = ("val", "test")
SHADES = 15  # of a canvas that is kept: enough for the eye, and soon compressed
TOGETHER = 250  # images that are measured at once


class Run(run.Run):
    """One run: one norm, one start, one seed. Feed it to ``train``.

    The seed draws the weights, the same for both norms, the order of the images in each pass and
    the noise of each epoch. The noise at which the bound is measured is always the same.

    Args:
        settings: What is chosen.
        data: The images.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are too few images for ``batch_size``, ``images`` or ``keep``, or
            ``seed`` is negative.
    """

    experiment = EXPERIMENT
    optional_measures = ("val_bound_of_all", "test_bound_of_all")
    measures_at_end = allow_divergence = True

    def __init__(
        self,
        settings: Settings,
        data: Binarized,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        self.images = {
            split: torch.from_numpy(images).view(-1, SIDE, SIDE).to(device)
            for split, images in data.images.items()
        }
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        self.model = model(settings, generator=generator).to(device)
        self.learnt = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = self.adam()

    @classmethod
    def updates(cls, settings: Settings, data: Binarized) -> int:
        """Return the number of updates in an epoch, which is a setting.

        Raises:
            ValueError: If there are too few images for ``batch_size``, ``images`` or ``keep``.
        """
        for name, splits in (("batch_size", ["train"]), ("images", SPLITS), ("keep", ["test"])):
            least, asked = min(len(data.images[s]) for s in splits), getattr(settings, name)
            if asked > least:
                raise ValueError(
                    f"Run: {name} {asked} needs as many images of {' and '.join(splits)}, "
                    f"{data.name} gives {least}; choose a smaller {name}"
                )
        return settings.updates_an_epoch

    @property
    def cases(self) -> dict[str, int]:
        """How many images each split has."""
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
        """Yield which images a batch has; what a pass leaves over for a last one is left out."""
        s, count = self.settings, len(self.images["train"])
        a_pass, images = count // s.batch_size, {}
        for update in range(epoch * s.updates_an_epoch, (epoch + 1) * s.updates_an_epoch):
            number, place = divmod(update, a_pass)
            if number not in images:
                rng = np.random.default_rng([self.seed, 1, number])
                images = {number: rng.permutation(count)}
            yield images[number][place * s.batch_size : (place + 1) * s.batch_size]

    def floats(self, values: Tensor) -> Tensor:
        """Move values to where the model is, in its type."""
        return values.to(self.learnt[0])

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Return the batch's mean bound."""
        images, noise = batch
        return bound(self.model(images, noise), images).mean()

    def update(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Take one step of Adam, with the gradient no longer than ``clip``."""
        loss = self.loss(batch)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self.learnt, self.settings.clip)
        self.optimizer.step()
        return loss.detach()

    def measure(self) -> dict[str, Any]:
        """Measure the bound of images that were not trained on.

        - ``val_bound`` and ``test_bound``: the mean over ``images`` of them, evenly spaced;
        - ``val_kl`` and ``test_kl``: the part of it that is the code's, the rest is the image's;
        - ``val_bound_of_all`` and ``test_bound_of_all``: over all, at the end, else NaN;
        - with ``keep``, what :meth:`shown` returns.
        """
        results = {}
        for split in SPLITS:
            images = self.images[split]
            some = images[evenly(len(images), self.settings.images)]
            results[f"{split}_bound"], results[f"{split}_kl"] = self.mean_bound(some)
            all_of_it = self.mean_bound(images)[0] if self.at_end else math.nan
            results[f"{split}_bound_of_all"] = all_of_it
        return results | (self.shown() if self.settings.keep else {})

    def mean_bound(self, images: Tensor) -> tuple[float, float]:
        """Return the mean bound of images, and that of its code, in nats."""
        generator, totals = torch.Generator().manual_seed(0), torch.zeros(2, dtype=torch.float64)
        for part in images.split(TOGETHER):
            part = self.floats(part)
            painting = self.model(part, self.noise(len(part), generator))
            both = torch.stack((bound(painting, part), painting.kl))
            totals += both.double().sum(1).cpu()
        return tuple((totals / len(images)).tolist())

    def noise(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw what ``count`` images take of N(0, 1)."""
        s = self.settings
        return self.floats(torch.randn(s.glimpses, count, s.latent, generator=generator))

    def shown(self) -> dict[str, Tensor]:
        """Return how ``keep`` test images, evenly spaced, and as many dreams are painted.

        - ``canvas``: after each glimpse, shape ``(keep, glimpses, S, S)``, uint8, 0 to 15;
        - ``read_window`` and ``write_window``: as :meth:`Window.numbers`, ``(keep, glimpses, 5)``,
          float16;
        - ``dream_canvas`` and ``dream_window``: the same of images that are made up, one code from
          N(0, 1) each.
        """
        generator, keep = torch.Generator().manual_seed(1), self.settings.keep
        images = self.images["test"][evenly(len(self.images["test"]), keep)]
        painted = self.model(self.floats(images), self.noise(keep, generator), keep=True)
        dreamt = self.model.dream(self.noise(keep, generator))
        return {
            "canvas": _canvases(painted.canvases),
            "read_window": _windows(painted.reads),
            "write_window": _windows(painted.writes),
            "dream_canvas": _canvases(dreamt.canvases),
            "dream_window": _windows(dreamt.writes),
        }


def evenly(count: int, some: int) -> list[int]:
    """Return the numbers of ``some`` of ``count`` things, evenly spaced.

    Example:
        >>> evenly(10, 3)
        [1, 5, 8]
    """
    return [(2 * k + 1) * count // (2 * some) for k in range(some)]


def _canvases(logits: Sequence[Tensor]) -> Tensor:
    shades = torch.stack(tuple(logits), 1).sigmoid() * SHADES
    return shades.round().nan_to_num(0).to(torch.uint8)


def _windows(windows: Sequence[Window]) -> Tensor:
    numbers = torch.stack([each.numbers() for each in windows], 1)
    # float16 ends at 65,504; a window that lies farther off is nowhere.
    return numbers.nan_to_num(0).clamp(-1e4, 1e4).half()
