"""Invalid settings, and settings that do not fit the data, raise an error before training."""

import numpy as np
import pytest

from lnlab import experiments
from lnlab.datasets.handwriting_lines import Line, Lines
from tests.lnlab.experiments.test_resume import made_up_data

GAIN = ({"norm": "none", "gain": 0.5}, "gain must be omitted where norm is none, .*, got 0.5")
#: Checks by the settings of each experiment; ``test_experiment`` tests the checks by types.
SETTINGS = {
    "draw": [GAIN],
    "order_embeddings": [GAIN],
    "attentive_reader": [
        GAIN,
        ({"input_scale": 2}, "input_scale must be omitted where start is usual, .*, got 2.0"),
        ({"start": "orthogonal_tied", "word_scale": 1}, "word_scale must be omitted .*, got 1.0"),
        ({"dropout": 1}, "dropout must be below 1, got 1.0"),
        ({"norm": "batch", "batch_size": 1}, "batch_size must be at least 2 for batch norm, .* 1"),
        ({"passages": 2, "max_length": 9}, "passages must be 1 where max_length is given, got 2"),
    ],
    "convnet": [
        ({"channels": (4, 4)}, "channels must be three numbers"),
        ({"crop": 11}, "crop must be below 11"),
        ({"norm": "group", "channels": (4, 6, 8)}, "channels must be multiples of 4"),
    ],
    "handwriting": [
        GAIN,
        ({"input_scale": 2}, "input_scale must be omitted where start is usual, .*, got 2.0"),
    ],
    "mnist": [
        ({"norm": "batch", "batch_size": 1}, "batch_size must be at least 2 where norm is batch, ")
    ],
    "noise": [({"batch_size": 1}, "batch_size must be at least 2 where norm is batch, got 1")],
    "sequence": [
        ({"cell": "gru", "form": "carried"}, "form must be one of paper for gru, got 'carried'"),
        GAIN,
        ({"norm": "none", "form": "draw"}, "form must be omitted where norm is none, .* 'draw'"),
    ],
    "skip_thoughts": [GAIN, ({"words": 2}, "words must be at least 3")],
    "transformer": [
        ({"width": 10}, "heads must be a divisor of width 10, got 4"),
        ({"ablate": True, "norm": "rms"}, "ablate must be omitted where norm is not layer"),
    ],
}
#: Settings that need more data than ``test_resume`` has.
DATA = {
    "attentive_reader": [({"batch_size": 44}, "batch_size 44 needs as many .* questions, .* 43;")],
    "draw": [
        ({"batch_size": 15}, "batch_size 15 needs as many images of train, .* 14; choose"),
        ({"images": 10}, "images 10 needs as many images of val and test, .* 9; choose"),
        ({"keep": 12}, "keep 12 needs as many images of test, .* 11; choose"),
    ],
    "mnist": [({"batch_size": 5000}, "batch_size 5000 needs as many training examples")],
    "order_embeddings": [
        ({"batch_size": 44}, "batch_size 44 needs as many training images, .* 43; ch"),
        ({"batch_size": 4, "keep": 10}, "keep 10 needs as many test images, .* 9; choose a"),
    ],
    "skip_thoughts": [
        ({"batch_size": 500}, "batch_size 500 needs as many training sentences"),
        ({"words": 9, "keep": True}, "keep needs more than 5 short .* has 0 with 9 words"),
    ],
    "transformer": [({"length": 300}, "length 300 needs .* has .*; choose a sm")],
}


def each(table):
    return [(name, *case) for name, cases in table.items() for case in cases]


@pytest.mark.parametrize(("name", "wrong", "message"), each(SETTINGS), ids=str)
def test_invalid_settings_raise_an_error(name, wrong, message):
    with pytest.raises(ValueError, match=message):
        experiments.find(name).settings(**wrong)


@pytest.mark.parametrize(("name", "wrong", "message"), each(DATA), ids=str)
def test_settings_that_need_more_data_raise_an_error(name, wrong, message, layouts, cloze):
    settings, data = made_up_data(name, layouts, cloze)
    of = experiments.find(name)
    with pytest.raises(ValueError, match=message):
        of.run_class(of.settings(**settings | wrong), data)


def test_lines_of_one_point_raise_an_error():
    dots = tuple(Line("a", np.zeros((1, 3), np.float32), "x") for _ in range(3))
    lines = Lines("omniglot_lines", {"train": dots, "val_new": dots}, 1.0, "0" * 64)
    of = experiments.find("handwriting")
    with pytest.raises(ValueError, match="omniglot_lines must have training lines of at least two"):
        of.run_class(of.settings(), lines)
