from __future__ import annotations

import subprocess
import sys

import pytest

from lnlab import datasets


@pytest.mark.parametrize("name", ["MNIST", "", "idx", None, ["mnist"]], ids=str)
def test_unknown_data_sets_raise_an_error_with_the_choices(name):
    with pytest.raises(
        ValueError, match=r"name must be one of bible_cloze, coco_val2017_layout, .*peare; got"
    ):
        datasets.load(name)


def test_similar_names_are_suggested():
    with pytest.raises(ValueError, match=r"got 'minst'; did you mean 'mnist'\?"):
        datasets.load("minst")


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
