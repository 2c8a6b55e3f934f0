"""A small transformer, records of trained ones, and a text with some structure to learn."""

import numpy as np

from lnlab.datasets import Text

SMALL = {"depth": 2, "width": 8, "heads": 2, "length": 5, "updates_per_epoch": 4, "epochs": 1,
         "batch_size": 3, "learning_rate": 0.02, "windows": 6, "first_epoch_points": 2}  # fmt: skip
RECORDED = {
    "initialization": "xavier", "place": "pre", "norm": "layer", "depth": 12,
    "learning_rate": 1e-3, "warm_up": 0, "last_norm": True, "qk_norm": "none",
    "updates_per_epoch": 100, "ablate": False,
}  # fmt: skip


def trained(*losses, **settings):
    """Return records of trained transformers, one seed for each final loss."""
    return [{"settings": RECORDED | settings, "seed": seed,
             "curves": {"epoch": [0, 6], "val_nll": [4.5, loss]}}
            for seed, loss in enumerate(losses)]  # fmt: skip


def words() -> Text:
    """Words in random order, so that a character gives information about the next one."""
    text = np.random.default_rng(3).choice(["ab", "bée", "cade ", "da\n"], 300)
    return Text.split("tiny_shakespeare", "".join(text))
