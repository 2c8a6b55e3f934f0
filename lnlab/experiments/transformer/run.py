"""Training of the small transformer: windows of text, learning rate schedule, measurements."""

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
from lnlib.nn.transformer import Transformer

EVAL_BATCH_SIZE = 16  # validation windows per part, so that activations fit into the cache
PROBES = 16  # training windows on which gradients and the residual stream are measured


def model(settings: Settings, characters: int, *, seed: int = 0) -> Transformer:
    """Build the transformer; for a given seed and depth, the weights do not depend on the norms.

    Args:
        settings: The settings.
        characters: Number of different characters.
        seed: Seed of the initial weights.
    """
    # The layers of torch.nn do not accept a generator.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(
            characters,
            depth=settings.depth,
            width=settings.width,
            heads=settings.heads,
            length=settings.length,
            norm=settings.norm,
            placement=settings.place,
            last_norm=None if settings.last_norm else False,
            qk_norm=settings.qk_norm,
            initialization=settings.initialization,
            residual_scaling=settings.residual_scaling,
            eps=settings.eps,
        )


class TransformerRun(run.Run):
    """Training of the small transformer, with one seed.

    The seed determines the initial weights, the same for all norms and placements, and the windows
    of each epoch, which otherwise depend only on ``batch_size``, ``length`` and
    ``updates_per_epoch``.

    Args: as :class:`lnlab.run.Run`.

    Raises:
        ValueError: If the text is too short for ``length``, or ``seed`` is negative.
    """

    experiment = EXPERIMENT
    allow_divergence = True

    def setup(self, data: Text) -> None:
        """Encode the text, and build the model and its optimizer."""
        codes = np.frombuffer((data.train + data.val).encode("utf-32-le"), "<u4").astype(np.int64)
        characters, numbers = np.unique(codes, return_inverse=True)
        self.characters = characters.astype(np.int32)  # sorted code points
        text = torch.from_numpy(numbers).to(self.device)
        self.train, self.val = text[: len(data.train)], text[len(data.train) :]
        self.probes = self.even_windows(self.train, PROBES)
        self.windows = self.even_windows(self.val, self.settings.windows)
        self.model = model(self.settings, len(characters), seed=self.seed).to(self.device)
        self.optimizer = self.adam()
        self.broken = torch.zeros((), dtype=torch.long, device=self.device)

    @classmethod
    def updates(cls, settings: Settings, data: Text) -> int:
        """Return the number of updates per epoch, which is a setting.

        Raises:
            ValueError: If the text is too short for ``length``.
        """
        shortest = min(len(data.train), len(data.val))
        if settings.length >= shortest:
            raise ValueError(
                f"Run: length {settings.length} needs a longer text, but {data.name} "
                f"has {shortest} characters; choose a smaller length"
            )
        return settings.updates_per_epoch

    @property
    def cases(self) -> dict[str, int]:
        """Number of characters of each split, and of different characters."""
        counts = {"different": self.characters, "train": self.train, "val": self.val}
        return {name: len(part) for name, part in counts.items()}

    def even_windows(self, text: Tensor, count: int) -> Tensor:
        """Return evenly spaced windows of a text with the next character, ``(N, T + 1)``."""
        starts = np.linspace(0, len(text) - self.settings.length - 1, count).astype(int)
        return self._windows(text, starts)

    def _windows(self, text: Tensor, starts: np.ndarray) -> Tensor:
        indices = starts[:, None] + np.arange(self.settings.length + 1)
        return text[torch.from_numpy(indices).to(text.device)]

    def batches(self, epoch: int) -> Iterator[tuple[int, Tensor]]:
        """Yield the update's number from 0, and windows ``(B, T + 1)``."""
        s, rng = self.settings, np.random.default_rng([self.seed, epoch])
        for k in range(s.updates_per_epoch):
            starts = rng.integers(len(self.train) - s.length, size=s.batch_size)
            yield epoch * s.updates_per_epoch + k, self._windows(self.train, starts)

    def rate(self, update: int) -> float:
        """Return the learning rate of an update, which is numbered from 0."""
        s = self.settings
        warm_up_factor = min(1, (update + 1) / s.warm_up) if s.warm_up else 1
        decay_factor = (1 + math.cos(math.pi * min(1, update / s.decay))) / 2 if s.decay else 1
        return s.learning_rate * warm_up_factor * decay_factor

    def update(self, batch: tuple[int, Tensor]) -> Tensor:
        """Take one step of Adam with the learning rate of this update."""
        self.optimizer.param_groups[0]["lr"] = self.rate(batch[0])
        loss = super().update(batch)
        self.broken += ~loss.isfinite()
        return loss

    def loss(self, batch: tuple[int, Tensor]) -> Tensor:
        """Return the mean loss per character of the windows, in nats."""
        return nll(self.model, batch[1])

    def state(self) -> dict[str, Tensor]:
        """Return the number of updates with a non-finite loss since the last measurement."""
        return {"broken": self.broken}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that :meth:`state` returned."""
        self.broken.copy_(state["broken"]) if state else self.broken.zero_()

    def measure(self) -> dict[str, Any]:
        """Measure the loss, gradients and the residual stream.

        - ``val_nll``: mean loss per character of the validation windows;
        - ``broken_updates``: number of updates with a non-finite loss since the last point;
        - ``gradient_l``: norm of the gradient of the last matrix of block l, on the probes;
        - ``deviation_l``: std of the features after block l, root mean square over the characters
          of the probes; l = 0 is before the first block;
        - ``mean_share_l``: fraction of the mean square of the features that is due to their mean;
        - with ``ablate``, ``nll_…``: ``val_nll`` of the model with its norms changed, and the
          weights from :func:`lnlab.experiments._weights.pack`.
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
        """Return the mean loss per character of the validation windows, in nats."""
        parts = self.windows.split(EVAL_BATCH_SIZE)
        return sum(float(nll(model, part)) * len(part) for part in parts) / len(self.windows)

    @torch.inference_mode(False)
    @torch.enable_grad()
    def probe(self) -> dict[str, float]:
        """Return the gradient norm of each block, and std and mean of the residual stream."""
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
    """Return the mean loss of the next characters of windows ``(B, T + 1)``, in nats."""
    logits = model(windows[:, :-1])
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
