"""What tests in several folders need."""

import numpy as np
import pytest

from lnlib.data.coco_val2017_layout import Layouts

THINGS = ("dog", "cat", "cup", "car", "bed", "kite")


@pytest.fixture(scope="session")
def layouts():
    """Made-up images of one to three things; captions name these, among other words."""
    rng = np.random.default_rng(5)

    def image(number: int) -> dict:
        things = rng.choice(len(THINGS), rng.integers(1, 4), replace=False)
        boxes = [[int(c), *rng.integers(0, 20, 2).tolist(), *rng.integers(20, 60, 2).tolist()]
                 for c in things for _ in range(rng.integers(1, 3))]  # fmt: skip
        said = [
            f"{rng.choice(['A', 'The', 'One'])} " + " and a ".join(
                THINGS[c] for c in rng.permutation(things)[: rng.integers(1, 4)]
            ) + f", seen {rng.choice(['once', 'twice', 'again', 'here', 'there'])}."
            for _ in range(5)
        ]  # fmt: skip
        return {"id": number, "w": 60, "h": 60, "boxes": boxes, "captions": said}

    sizes = {"train": 43, "val": 12, "test": 9}
    images = {split: [image(k) for k in range(size)] for split, size in sizes.items()}
    return Layouts("coco_val2017_layout", THINGS, images, "5" * 64)
