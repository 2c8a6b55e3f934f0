"""The transformer for the settings of a run."""

from __future__ import annotations

import torch

from lnlab.experiments.transformer import Settings
from lnlib.nn.transformer import Transformer


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
