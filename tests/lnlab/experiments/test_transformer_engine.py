"""The small transformer through the engine: what is refused, resumed, recorded, and its lines."""

import collections
import itertools
import json
import math
import typing

import numpy as np
import pytest

from lnlab import records
from lnlab.experiments.transformer import EXPERIMENT
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.run import Run, Settings
from lnlab.runner import record_runs
from lnlab.training import train
from lnlib.nn import transformer as modules
from tests.cases.transformer import SMALL, words

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def text():
    return words()


# Lines to compare with.


def test_the_lines_are_those_of_counting(text):
    V = len({*text.train, *text.val})
    alone = collections.Counter(text.train)
    pairs = collections.Counter(itertools.pairwise(text.train))
    before = collections.Counter(text.train[:-1])
    unigram = [-math.log((alone[c] + 1) / (len(text.train) + V)) for c in text.val]
    bigram = [-math.log((pairs[b, c] + 1) / (before[b] + V))
              for b, c in itertools.pairwise(text.val)]  # fmt: skip
    found = baselines(text)
    assert found == {"unigram": pytest.approx(np.mean(unigram)),
                     "bigram": pytest.approx(np.mean(bigram))}  # fmt: skip
    assert found["bigram"] < found["unigram"]


# What is refused, and what is said.


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"place": "behind"}, "place must be one of pre, post, sandwich, got 'behind'"),
        ({"width": 10}, "heads must be a divisor of width 10, got 4"),
        ({"warm_up": -1}, "warm_up must be a whole number from 0 to"),
        ({"decay": 0}, "decay must be a whole number from 1 to .*, or none, got 0"),
        ({"ablate": True, "norm": "rms"}, "ablate must be left out where norm is not layer"),
    ],
)
def test_settings_refuse_what_cannot_be_run(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


def test_a_window_longer_than_the_text_is_refused(text):
    count = len(text.val)
    with pytest.raises(ValueError, match=rf"length {count} needs .* gives {count}; choose a sm"):
        Run(Settings(length=count), text)
    Run(Settings(**SMALL | {"length": count - 1}), text)


def test_the_choices_are_those_of_the_model():
    for name, known in (("norm", modules.NORMS), ("place", modules.PLACES),
                        ("initialization", modules.INITIALIZATIONS)):  # fmt: skip
        assert set(typing.get_args(typing.get_type_hints(Settings)[name])) == set(known)


def test_without_a_norm_there_is_one_place():
    found = EXPERIMENT.settings_of({"norm": ("none", "layer"), "warm_up": (0,)})
    assert [(s.place, s.norm) for s in found] == [
        ("pre", "none"), ("pre", "layer"), ("post", "layer"),
    ]  # fmt: skip
    (found,) = EXPERIMENT.settings_of({"norm": ("none",), "place": ("post",), "warm_up": (0,)})
    assert found.place == "post"


def test_no_two_grids_ask_for_one_run():
    names = [EXPERIMENT.stem(one, seed) for grid in (*EXPERIMENT.grids, *EXPERIMENT.planned)
             for one in EXPERIMENT.settings_of(grid.given) for seed in grid.seeds]  # fmt: skip
    assert len(set(names)) == len(names)


# Through the engine.


@pytest.mark.parametrize("place", ["pre", "post", "sandwich"])
def test_characters_are_learnt_beyond_their_pairs(place, text):
    settings = Settings(place=place, depth=2, width=16, heads=2, length=8, batch_size=16,
                        epochs=1, updates_an_epoch=120, learning_rate=0.01, warm_up=10,
                        first_epoch_points=1, windows=16)  # fmt: skip
    first, last = train(Run(settings, text, seed=0), epochs=1, first_epoch_points=1)
    lines = baselines(text)
    assert first["val_nll"] > lines["unigram"] > lines["bigram"] > last["val_nll"]


def recorded(out, chosen):
    (path,) = record_runs(EXPERIMENT, [chosen], [1], out=out, device="cpu")
    kept = records.read(path)
    del kept["curves"]["wall_s"], kept["provenance"]
    kept["arrays"] = {name: value.tolist() for name, value in kept["arrays"].items()}
    return kept


@pytest.mark.parametrize(
    "odd",
    [{"ablate": True}, {"norm": "none", "learning_rate": 1e8}],
    ids=["usual", "exploding"],
)
def test_resumed_after_any_update_it_is_the_unbroken_run_bit_for_bit(
    odd, made_up, tmp_path, monkeypatch, interrupted_at_each_update
):
    chosen = Settings(**SMALL | {"epochs": 3, "warm_up": 6, "decay": 9} | odd)
    whole = recorded(tmp_path / "whole", chosen)
    assert interrupted_at_each_update(lambda: recorded(tmp_path / "broken", chosen)) == whole


def test_a_run_that_explodes_is_recorded_to_its_end(made_up, tmp_path):
    odd = {"norm": "none", "learning_rate": 1e30, "epochs": 3, "first_epoch_points": 1}
    chosen = Settings(**SMALL | odd)
    kept = recorded(tmp_path, chosen)
    curves = kept["curves"]
    assert curves["epoch"] == [0, 1, 2, 3]
    # The first loss is that of the start; what follows is no number, and is not called one.
    assert curves["broken_updates"] == [0, 3, 4, 4]
    assert curves["val_nll"][0] > 0
    assert (
        curves["val_nll"][1:] == curves["batch_nll"][1:] == curves["gradient_2"][1:] == [None] * 3
    )
    (path,) = tmp_path.glob("*/*.json")
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))


def test_the_record_says_what_was_measured_in_which_unit(text, made_up, tmp_path):
    (path,) = record_runs(EXPERIMENT, [Settings(**SMALL)], [0], out=tmp_path, device="cpu")
    kept = records.read(path)
    assert path.name == (
        "transformer-xavier-pre-layer-L2-rate0.02-warm0-width-8-heads-2-length-5-"
        "updates-an-epoch-4-batch-size-3-windows-6-first-epoch-points-2-seed0.json"
    )
    different = len({*text.train, *text.val})
    assert kept["data"]["cases"] == {
        "different": different, "train": len(text.train), "val": len(text.val),
    }  # fmt: skip
    assert kept["units"]["gradient_2"] == "nats per unit of a weight"
    assert kept["units"]["mean_share_0"] == "fraction"
    assert "gradient_0" not in kept["units"]
