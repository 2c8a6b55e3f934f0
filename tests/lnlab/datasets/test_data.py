import subprocess
import sys

import pytest

from lnlab import datasets


@pytest.mark.parametrize("name", ["MNIST", "", "idx", None, ["mnist"]], ids=str)
def test_unknown_data_sets_raise_an_error_with_the_choices(name):
    with pytest.raises(ValueError, match=r"name must be one of bible_cloze, coco_val2017_layout"):
        datasets.load(name)


PUBLISHED = {
    "coco_val2017_layout":
        "3,952 train + 500 val + 500 test images with 5 captions each and 36,781 boxes",
    "mnist_binarized": "50,000 train + 10,000 val + 10,000 test images of 28 x 28 bits",
    "sentence_tasks":
        "sentences: 10,662 of MR, 3,730 of CR, 10,000 of SUBJ; 3,000 pairs of captions",
    "gutenberg_prose": "130,379 sentences in 1,073 chapters of 24 books",
    "omniglot_lines":
        "2,000 train + 160 val_seen + 160 val_new + 160 test_new lines of 1,588,643 points",
    "tiny_shakespeare": "1,003,854 training and 111,540 validation characters, 65 different",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs_data(name)) for name in PUBLISHED]
)
def test_data_sets_have_the_published_sizes(name):
    assert str(datasets.load(name)) == PUBLISHED[name]


def test_importing_the_data_sets_is_lightweight():
    program = (
        "import sys, lnlab.datasets; from importlib import import_module;"
        "[import_module(f'lnlab.datasets.{name}') for name in lnlab.datasets.NAMES];"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()

    assert "numpy" in loaded
    assert not {"sklearn", "pooch", "requests", "urllib3", "filelock", "tqdm", "torch"} & {*loaded}
