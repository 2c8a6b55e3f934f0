"""A small transformer's settings, and a text of which it can learn something."""

import numpy as np

from lnlab.datasets import Text

SMALL = {"depth": 2, "width": 8, "heads": 2, "length": 5, "updates_an_epoch": 4, "epochs": 1,
         "batch_size": 3, "learning_rate": 0.02, "windows": 6, "first_epoch_points": 2}  # fmt: skip


def words() -> Text:
    """Words in a random order, so that a character tells something of the next."""
    text = np.random.default_rng(3).choice(["ab", "bée", "cade ", "da\n"], 300)
    return Text.split("tiny_shakespeare", "".join(text))
