"""One run of the small transformer: what it reads, how fast it learns, what is measured in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lnlab import run
from lnlab.datasets import Text
from lnlab.experiments._weights import pack
from lnlab.experiments.transformer import ABLATIONS, EXPERIMENT, Settings
from lnlab.experiments.transformer.ablation import ablated, deviations
from lnlab.experiments.transformer.model import model
from lnlib.nn.transformer import Transformer

PROBES = 16  # windows of the training text on which gradients and stream are measured


class Run(run.Run):
    """One run: some settings, one seed. Feed it to ``train``.

    The seed draws the weights, the same for all norms and places, and the windows of each epoch,
    which depend on nothing else but ``batch_size``, ``length`` and ``updates_an_epoch``.

    Args:
        settings: What is chosen.
        data: A text.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If the text is too short for ``length``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT
    allow_divergence = True

    def __init__(
        self,
        settings: Settings,
        data: Text,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        codes = np.frombuffer((data.train + data.val).encode("utf-32-le"), "<u4").astype(np.int64)
        characters, numbers = np.unique(codes, return_inverse=True)
        self.characters = characters.astype(np.int32)  # code points, in their order
        text = torch.from_numpy(numbers).to(device)
        self.train, self.val = text[: len(data.train)], text[len(data.train) :]
        self.probes = self.even_windows(self.train, PROBES)
        self.windows = self.even_windows(self.val, settings.windows)
        self.model = model(settings, len(characters), seed=seed).to(device)
        self.optimizer = self.adam()
        self.broken = torch.zeros((), dtype=torch.long, device=device)

    @classmethod
    def updates(cls, settings: Settings, data: Text) -> int:
        """Return the number of updates in an epoch, which is a setting.

        Raises:
            ValueError: If the text is too short for ``length``.
        """
        least = min(len(data.train), len(data.val))
        if settings.length >= least:
            raise ValueError(
                f"Run: length {settings.length} needs a text with more characters, {data.name} "
                f"gives {least}; choose a smaller length"
            )
        return settings.updates_an_epoch

    @property
    def cases(self) -> dict[str, int]:
        """How many characters there are, and how many different ones."""
        counts = {"different": self.characters, "train": self.train, "val": self.val}
        return {name: len(part) for name, part in counts.items()}

    def even_windows(self, text: Tensor, count: int) -> Tensor:
        """Return evenly spaced windows of a text and the character after each, ``(N, T + 1)``."""
        starts = np.linspace(0, len(text) - self.settings.length - 1, count).astype(int)
        return self._windows(text, starts)

    def _windows(self, text: Tensor, starts: np.ndarray) -> Tensor:
        places = starts[:, None] + np.arange(self.settings.length + 1)
        return text[torch.from_numpy(places).to(text.device)]

    def batches(self, epoch: int) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of the update, from 0, and windows ``(B, T + 1)``."""
        s, rng = self.settings, np.random.default_rng([self.seed, epoch])
        for k in range(s.updates_an_epoch):
            starts = rng.integers(len(self.train) - s.length, size=s.batch_size)
            yield epoch * s.updates_an_epoch + k, self._windows(self.train, starts)

    def rate(self, update: int) -> float:
        """Return the learning rate of an update, the first of which is 0."""
        s = self.settings
        rise = min(1, (update + 1) / s.warm_up) if s.warm_up else 1
        fall = (1 + math.cos(math.pi * min(1, update / s.decay))) / 2 if s.decay else 1
        return s.learning_rate * rise * fall

    def update(self, batch: tuple[int, Tensor]) -> Tensor:
        """Take one step of Adam at the rate of this update."""
        self.optimizer.param_groups[0]["lr"] = self.rate(batch[0])
        loss = super().update(batch)
        self.broken += ~loss.isfinite()
        return loss

    def loss(self, batch: tuple[int, Tensor]) -> Tensor:
        """Return the mean loss of all characters of the windows."""
        return nll(self.model, batch[1])

    def state(self) -> dict[str, Tensor]:
        """Return the number of broken updates since the last measurement."""
        return {"broken": self.broken}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore it."""
        self.broken.copy_(state["broken"]) if state else self.broken.zero_()

    def measure(self) -> dict[str, Any]:
        """Measure the loss, and what goes through the blocks.

        - ``val_nll``: mean loss of a character of the validation windows;
        - ``broken_updates``: since the last point, those whose loss was no finite number;
        - ``gradient_l``: of a probe's loss, in the last matrix of block l;
        - ``deviation_l``: of a character's features behind block l, root mean square over the
          characters of a probe; 0 is before the first block;
        - ``mean_share_l``: share of their squares that is their mean's;
        - with ``ablate``, ``nll_…``: as ``val_nll``, of the model with its norms changed, and the
          weights as :func:`lnlab.experiments._weights.pack` has them.
        """
        results = {"val_nll": self.val_nll(self.model), "broken_updates": float(self.broken)}
        self.broken.zero_()
        results |= self.probe()
        if self.settings.ablate:
            frozen = deviations(self.model, self.even_windows(self.train, 4 * PROBES)[:, :-1])
            for name in ABLATIONS:
                results[f"nll_{name}"] = self.val_nll(ablated(self.model, name, frozen))
            results |= pack(self.model)
            results |= {"norm_deviations": frozen, "characters": self.characters}
        return results

    def val_nll(self, model: Transformer) -> float:
        """Return the mean loss of a character of the validation windows, in nats."""
        parts = self.windows.split(16)  # what lies in the cache is soon read again
        return sum(float(nll(model, part)) * len(part) for part in parts) / len(self.windows)

    @torch.inference_mode(False)
    @torch.enable_grad()
    def probe(self) -> dict[str, float]:
        """Return how long each block's gradient is, and deviation and mean of the stream."""
        stream = list(self.model.stream(self.probes[:, :-1]))
        logits = self.model.output(self.model.last_norm(stream[-1]))
        loss = F.cross_entropy(logits.flatten(0, 1), self.probes[:, 1:].flatten())
        last = [block.contract.weight for block in self.model.blocks]
        results = {}
        for k, gradient in enumerate(torch.autograd.grad(loss, last), 1):
            results[f"gradient_{k}"] = float(gradient.norm())
        for k, x in enumerate(x.detach() for x in stream):
            var, mean = torch.var_mean(x, -1, correction=0)
            results[f"deviation_{k}"] = float(var.mean().sqrt())
            results[f"mean_share_{k}"] = float((mean.square() / x.square().mean(-1)).mean())
        return results


def nll(model: Transformer, windows: Tensor) -> Tensor:
    """Return the mean loss of each next character of windows ``(B, T + 1)``, in nats."""
    logits = model(windows[:, :-1])
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
