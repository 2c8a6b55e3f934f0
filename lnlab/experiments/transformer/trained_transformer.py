"""A trained transformer on a reader's text, with norms that can be switched and inspected.

The book's page computes the same in JavaScript.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lnlab.experiments.transformer.ablation import norms, switched
from lnlab.experiments.transformer.weights import restore
from lnlib.nn.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class TrainedTransformer:
    """A trained transformer that is applied to a text, in float64.

    Args:
        model: A trained model with layer norms.
        characters: Characters in the order of the model's tokens.
        deviations: Constant standard deviation of each frozen norm.
        switches: State of each norm, in order of application: ``on``, ``rms``, ``frozen`` or
            ``off``, as in :func:`lnlab.experiments.transformer.ablation.switched`.

    Example:
        >>> from lnlab import records
        >>> reader = TrainedTransformer.of(records.read_all("transformer", ablate=True)[0])
        >>> round(reader.loss("To be, or not to be"), 2)
        1.47
        >>> reader.switch("rms", "rms", "rms", "rms", "rms").write("To be, or not", 10)
        ' the shall'
    """

    model: Transformer
    characters: str
    deviations: Tensor
    switches: tuple[str, ...]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> TrainedTransformer:
        """Restore the model of a record with its weights.

        Args:
            record: A record of a run with ``ablate``, as :func:`lnlab.records.read` returns it.

        Raises:
            ValueError: If the record has no weights.
        """
        model, characters = restore(record)
        deviations = torch.as_tensor(record["arrays"]["norm_deviations"][-1]).double()
        return cls(model.double(), characters, deviations, ("on",) * len(deviations))

    def switch(self, *switches: str) -> TrainedTransformer:
        """Return this model with its norms switched, one value for each."""
        changed = dataclasses.replace(self, switches=switches)
        _ = changed.network  # raises if a switch is not valid
        return changed

    @functools.cached_property
    def network(self) -> Transformer:
        """A copy of the model with its norms switched."""
        return switched(self.model, self.switches, self.deviations)

    def tokens(self, text: str) -> Tensor:
        """Return a text as tokens of the model, ``(T,)``.

        Raises:
            ValueError: If it is empty, too long, or has a character that the model does not know.
        """
        if not 1 <= len(text) <= self.model.length:
            raise ValueError(
                f"Transformer: text must have 1 to {self.model.length} characters, got {len(text)}"
                "; use the last part of the text"
            )
        if unknown := sorted(set(text) - set(self.characters)):
            raise ValueError(
                f"Transformer: text must consist of the {len(self.characters)} characters that the "
                f"model knows, got {' '.join(map(repr, unknown))}; leave them out"
            )
        return torch.tensor([self.characters.index(c) for c in text])

    @torch.no_grad()
    def logits(self, text: str) -> Tensor:
        """Return the logits of the next character after each character, ``(T, characters)``."""
        return self.network(self.tokens(text)[None])[0]

    def surprise(self, text: str) -> Tensor:
        """Return −log2 p of each character except the first, in bits, ``(T - 1,)``.

        Here p is the probability of the character given those before it.
        """
        log_p = self.logits(text)[:-1].log_softmax(-1)
        return -log_p.gather(1, self.tokens(text)[1:, None])[:, 0] / math.log(2)

    def loss(self, text: str) -> float:
        """Return the mean loss of all characters except the first, in nats.

        Raises:
            ValueError: If there is only one character.
        """
        if len(text) < 2:
            raise ValueError(f"loss: text must have two characters or more, got {text!r}")
        return float(F.cross_entropy(self.logits(text)[:-1], self.tokens(text)[1:]))

    def entropy(self, text: str) -> float:
        """Return the mean entropy of the predicted next character over the text, in nats."""
        log_p = self.logits(text).log_softmax(-1)
        return float(-(log_p.exp() * log_p).sum(-1).mean())

    def next_characters(self, text: str, count: int = 5) -> dict[str, float]:
        """Return the most probable next characters with their probabilities, in order."""
        p, indices = self.logits(text)[-1].softmax(-1).topk(count)
        return {self.characters[k]: float(v) for k, v in zip(indices.tolist(), p, strict=True)}

    def norm(self, index: int) -> nn.Module:
        """Return a trained layer norm by its index in the order of application."""
        return self.model.get_submodule(list(norms(self.model))[index])

    @torch.no_grad()
    def inside(self, text: str) -> list[tuple[Tensor, Tensor]]:
        """Return the residual stream before and after each norm, ``(T, width)``, in order."""
        streams: list[tuple[Tensor, Tensor]] = []

        def note(module: nn.Module, inputs: tuple[Tensor], y: Tensor) -> None:
            streams.append((inputs[0][0].clone(), y[0].clone()))

        hooks = [
            self.network.get_submodule(name).register_forward_hook(note)
            for name in norms(self.model)
        ]
        self.network(self.tokens(text)[None])
        for hook in hooks:
            hook.remove()
        return streams

    @torch.no_grad()
    def write(self, text: str, count: int, *, temperature: float = 0, seed: int = 0) -> str:
        """Return the continuation of a text, the same as on the page.

        Args:
            text: The text to continue.
            count: Number of characters to generate.
            temperature: Divisor of the logits; at 0, the most probable character is chosen.
            seed: Seed of the samples.
        """
        tokens, network, length = self.tokens(text).tolist(), self.network, self.model.length
        for left, _ in zip(uniform(seed), range(count), strict=False):
            logits = network(torch.tensor([tokens[-length:]]))[0, -1]
            if temperature:
                over = (logits / temperature).softmax(-1).cumsum(-1) > left
                tokens.append(int(over.int().argmax()))
            else:
                tokens.append(int(logits.argmax()))
        return "".join(self.characters[k] for k in tokens[len(text) :])


def uniform(seed: int) -> Iterator[float]:
    """Yield pseudorandom numbers from 0 to 1, the same as those of the page (mulberry32)."""

    def times(a: int, b: int) -> int:
        return a * b & 0xFFFFFFFF

    while True:
        seed = seed + 0x6D2B79F5 & 0xFFFFFFFF
        t = times(seed ^ seed >> 15, seed | 1)
        t ^= t + times(t ^ t >> 7, t | 61) & 0xFFFFFFFF
        yield (t ^ t >> 14) / 2**32
