"""The small transformer with the training loop: errors, resuming, records, and baselines."""

import collections
import itertools
import json
import math

import numpy as np
import pytest

from lnlab.experiments.transformer import EXPERIMENT
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.run import Settings
from lnlab.runner import record_runs
from tests.cases.points import read_without_time
from tests.cases.transformer import SMALL, words


@pytest.fixture(scope="module")
def text():
    return words()


# Baselines.


def test_unigram_and_bigram_entropies_equal_plain_counts(text):
    V = len({*text.train, *text.val})
    alone = collections.Counter(text.train)
    pairs = collections.Counter(itertools.pairwise(text.train))
    before = collections.Counter(text.train[:-1])
    unigram = [-math.log((alone[c] + 1) / (len(text.train) + V)) for c in text.val]
    bigram = [-math.log((pairs[b, c] + 1) / (before[b] + V))
              for b, c in itertools.pairwise(text.val)]  # fmt: skip
    result = baselines(text)
    assert result == {"unigram": pytest.approx(np.mean(unigram)),
                     "bigram": pytest.approx(np.mean(bigram))}  # fmt: skip
    assert result["bigram"] < result["unigram"]


# Errors and messages.


def test_without_a_norm_there_is_one_placement():
    result = EXPERIMENT.settings_of({"norm": ("none", "layer"), "warm_up": (0,)})
    assert [(s.place, s.norm) for s in result] == [
        ("pre", "none"), ("pre", "layer"), ("post", "layer"),
    ]  # fmt: skip
    (result,) = EXPERIMENT.settings_of({"norm": ("none",), "place": ("post",), "warm_up": (0,)})
    assert result.place == "post"


# With the training loop.


def recorded(out, chosen):
    (path,) = record_runs(EXPERIMENT, [chosen], [1], out=out, device="cpu")
    record = read_without_time(path)
    record["arrays"] = {name: value.tolist() for name, value in record["arrays"].items()}
    return record


def test_diverged_runs_are_recorded_to_the_end(made_up, tmp_path):
    diverging = {"norm": "none", "learning_rate": 1e30, "epochs": 3, "first_epoch_points": 1}
    chosen = Settings(**SMALL | diverging)
    record = recorded(tmp_path, chosen)
    curves = record["curves"]
    assert curves["epoch"] == [0, 1, 2, 3]
    # The first loss is the initial one; the following ones are not finite, and are recorded as
    # such.
    assert curves["broken_updates"] == [0, 3, 4, 4]
    assert curves["val_nll"][0] > 0
    assert (
        curves["val_nll"][1:] == curves["batch_nll"][1:] == curves["gradient_2"][1:] == [None] * 3
    )
    (path,) = tmp_path.glob("*/*.json")
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
