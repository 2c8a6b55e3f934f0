"""What a reader starts: one short run on whatever text there is, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lnlab.datasets import Text
from lnlab.experiments.transformer import Settings
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.run import Run
from lnlab.training import train


def short_run(text: Text, place: str, warm_up: int, *, seed: int = 0, **settings: Any) -> Iterator:
    """Train a small transformer as the recorded runs were, and yield where it stands.

    Args:
        text: To learn.
        place: ``pre``, ``post`` or ``sandwich``.
        warm_up: Updates over which the learning rate rises.
        seed: Draws weights and windows.
        **settings: Other fields of :class:`Settings`; by default 12 blocks from Xavier's
            initialization at rate 1e-3, for 600 updates.

    Yields:
        ``updates``, ``loss`` of the validation text in nats a character, the lines ``unigram`` and
        ``bigram`` of :func:`baselines`, and ``text``, its name.
    """
    chosen = Settings(place=place, warm_up=warm_up, data=text.name, **settings)
    known = baselines(text) | {"text": text.name}
    run = Run(chosen, text, seed=seed)
    points = train(run, epochs=chosen.epochs, first_epoch_points=chosen.first_epoch_points)
    for point in points:
        updates = round(point["epoch"] * chosen.updates_an_epoch)
        yield {"updates": updates, "loss": point["val_nll"], **known}
