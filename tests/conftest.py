"""Hooks and fixtures of several folders of tests."""

import itertools
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

from lnlab import datasets
from lnlab.datasets.bible_cloze import Cloze, Question
from lnlab.datasets.coco_val2017_layout import Layouts

settings.register_profile("any machine", deadline=None)  # independent of its speed
settings.load_profile("any machine")

_cases = Counter()  # number of cases so far, of each test marked one_in


def pytest_itemcollected(item):
    """Mark all but every k-th case of a test with ``one_in(k)`` as slow."""
    mark = item.get_closest_marker("one_in")
    if mark and not item.get_closest_marker("slow"):
        name = item.nodeid.partition("[")[0]
        if _cases[name] % mark.args[0]:
            item.add_marker("slow")
        _cases[name] += 1


@pytest.hookimpl(trylast=True)  # after pytest has grouped tests by fixtures
def pytest_collection_modifyitems(items):
    """Run tests that need the built book last, because `make test` builds it in the meantime.

    Tests of one browser run together, and the second part starts with the browser with which the
    first part ended.
    """

    def order(item):
        named = getattr(getattr(item, "callspec", None), "params", {}).get("browser", "chromium")
        late = "built_book" in getattr(item, "fixturenames", ())
        return late, (named == "chromium") == late, named

    items.sort(key=order)


@pytest.fixture(autouse=True)
def _torch_state():
    """Restore PyTorch's number of threads and default dtype after each test."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@pytest.fixture(scope="session")
def digits():
    return datasets.load("digits")


THINGS = ("dog", "cat", "cup", "car", "bed", "kite")


@pytest.fixture(scope="session")
def layouts():
    """Synthetic images with one to three objects, which the captions mention among other words."""
    rng = np.random.default_rng(5)

    def image(number: int) -> dict:
        things = rng.choice(len(THINGS), rng.integers(1, 4), replace=False)
        boxes = [[int(c), *rng.integers(0, 20, 2).tolist(), *rng.integers(20, 60, 2).tolist()]
                 for c in things for _ in range(rng.integers(1, 3))]  # fmt: skip
        texts = [
            f"{rng.choice(['A', 'The', 'One'])} " + " and a ".join(
                THINGS[c] for c in rng.permutation(things)[: rng.integers(1, 4)]
            ) + f", seen {rng.choice(['once', 'twice', 'again', 'here', 'there'])}."
            for _ in range(5)
        ]  # fmt: skip
        return {"id": number, "w": 60, "h": 60, "boxes": boxes, "captions": texts}

    sizes = {"train": 43, "val": 12, "test": 9}
    images = {split: [image(k) for k in range(size)] for split, size in sizes.items()}
    return Layouts("coco_val2017_layout", THINGS, images, "5" * 64)


@pytest.fixture(scope="session")
def cloze():
    """Synthetic questions with one name left out of the query."""
    rng = np.random.default_rng(8)
    deeds = ("saw", "met", "fed", "led", "hid")

    def question(number: int) -> Question:
        who = [f"@e{k}" for k in rng.choice(12, rng.integers(3, 6), replace=False)]
        events = [(a, str(rng.choice(deeds)), b) for a, b in itertools.pairwise(who)]
        words = [w for a, deed, b in events for w in ("then", a, deed, b, ".")]
        a, deed, b = events[rng.integers(len(events))]
        query = [*rng.choice(["and", "so", "odd"], rng.integers(1, 3)), "@blank", deed, b]
        return Question(tuple(words), tuple(map(str, query)), a, f"made up 1:{number}")

    sizes = {"train": 43, "val": 12, "test": 9}
    questions = {split: [question(k) for k in range(size)] for split, size in sizes.items()}
    return Cloze("bible_cloze", questions, "6" * 64)
