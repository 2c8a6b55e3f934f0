"""A short run that a reader starts, on any text."""

from collections.abc import Iterator
from typing import Any

from lnlab.datasets import Text
from lnlab.experiments.transformer import Settings
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.run import TransformerRun
from lnlab.training import train


def short_run(text: Text, place: str, warm_up: int, *, seed: int = 0, **settings: Any) -> Iterator:
    """Train a small transformer with the settings of the recorded runs, and yield its progress.

    Args:
        text: Text to train on.
        place: ``pre``, ``post`` or ``sandwich``.
        warm_up: Number of updates over which the learning rate increases.
        seed: Seed of the initial weights and of the windows.
        **settings: Other fields of :class:`Settings`; by default 12 blocks with Xavier
            initialization and learning rate 1e-3, for 600 updates.

    Yields:
        ``updates``, ``loss`` of the validation text in nats per character, ``unigram`` and
        ``bigram`` of :func:`baselines`, and ``text``, its name.
    """
    chosen = Settings(place=place, warm_up=warm_up, data=text.name, **settings)
    known = baselines(text) | {"text": text.name}
    run = TransformerRun(chosen, text, seed=seed)
    points = train(run, epochs=chosen.epochs, first_epoch_points=chosen.first_epoch_points)
    for point in points:
        updates = round(point["epoch"] * chosen.updates_per_epoch)
        yield {"updates": updates, "loss": point["val_nll"], **known}
