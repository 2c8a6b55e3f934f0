"""Runs of every experiment: resumed bit for bit after any interruption, and when they diverge."""

import math
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch

from lnlab import datasets, experiments, records
from lnlab.experiments.skip_thoughts import run as skip
from lnlab.experiments.skip_thoughts import tasks
from lnlab.runner import record_runs
from lnlab.training import Diverged, train
from tests.cases.transformer import SMALL as TRANSFORMER
from tests.cases.transformer import words
from tests.lnlab.experiments import (
    test_attentive_reader,
    test_convnet,
    test_draw,
    test_handwriting,
    test_order_embeddings,
    test_skip_thoughts,
)

TWO = {"epochs": 2, "first_epoch_points": 2}
DIGITS = {"data": "digits", "batch_size": 400}
NETWORK = {**DIGITS, "hidden": (8,)}
TRANSFORMER = TRANSFORMER | {"warm_up": 6, "decay": 9}
READER = test_attentive_reader.SMALL | {"passages": 2}
RUNS = {
    "mnist": {**NETWORK, "norm": "batch"},
    "noise": {**NETWORK, "batch_size": 350, "norm": "batch", "gradient_batches": 2},
    "landscape": {**DIGITS, "hidden": (6, 5), "measured_examples": 20},
    "sequence": {**DIGITS, "hidden": 6, "norm": "layer"},
    "weights": {**NETWORK, "norm": "layer", "optimizer": "adam", "magnitude": "fixed"},
    "convnet": test_convnet.SMALL,
    "draw": test_draw.NON_DEFAULT | {"norm": "none", "gain": 1.0},
    "handwriting": test_handwriting.SMALL | {"keep": 5},
    "order_embeddings": test_order_embeddings.SMALL | {"batch_size": 20},
    "skip_thoughts": test_skip_thoughts.SMALL | {"evaluate_every": 2, "keep": True, "words": 20},
    "transformer": TRANSFORMER | {"ablate": True},
    "attentive_reader": READER | test_attentive_reader.OPTIONS | {"dropout": 0.5},
}
#: The same experiments with settings that are resumed in another way.
OTHERS = [
    ("transformer", TRANSFORMER | {"norm": "none", "learning_rate": 1e8}),  # it diverges
    ("attentive_reader", READER | {"norm": "batch_everywhere"}),
    ("draw", test_draw.NON_DEFAULT),
]


def made_up_data(name, layouts, cloze):
    """The settings of an experiment for these tests, and small data."""
    data = {
        "convnet": test_convnet.images,
        "draw": lambda: test_draw.DATA,
        "handwriting": lambda: test_handwriting.LINES,
        "order_embeddings": lambda: layouts,
        "skip_thoughts": test_skip_thoughts.sentences,
        "transformer": words,
        "attentive_reader": lambda: cloze,
    }.get(name, lambda: datasets.load("digits"))
    return RUNS[name], data()


@pytest.fixture
def start(layouts, cloze):
    """Maps an experiment to its run of three epochs."""

    def run(name, **more):
        of, (settings, data) = experiments.find(name), made_up_data(name, layouts, cloze)
        return of.run_class(of.settings(**settings | TWO | {"epochs": 3} | more), data, seed=1)

    return run


@pytest.mark.parametrize(("name", "settings"), [*RUNS.items(), *OTHERS])
def test_runs_interrupted_after_each_update_equal_uninterrupted_ones_bit_for_bit(
    name, settings, layouts, cloze, tmp_path, monkeypatch, interrupted_at_each_update
):
    of, (_, data) = experiments.find(name), made_up_data(name, layouts, cloze)
    monkeypatch.setitem(vars(of), "load", lambda settings: data)
    monkeypatch.setattr(skip, "NEAREST", 2)
    monkeypatch.setattr(tasks, "FOLDS", 2)
    monkeypatch.setattr(tasks, "CS", (0.1,))
    chosen = of.settings(**settings | TWO)

    def recorded(out):
        (path,) = record_runs(of, [chosen], [1], out=out, device="cpu")
        record = records.read(path)
        arrays = {key: value.tobytes() for key, value in record.pop("arrays", {}).items()}
        assert all(np.diff(record["curves"].pop("wall_s")) >= 0)
        record["curves"].pop("update_ms", None)
        del record["provenance"]
        return record, arrays

    whole = recorded(tmp_path / "whole")
    assert len(whole[0]["curves"]["epoch"]) >= 4
    assert interrupted_at_each_update(lambda: recorded(tmp_path / "broken")) == whole


# Those of the other experiments are compared with weights drawn by hand.
@pytest.mark.parametrize("name", ["attentive_reader", "convnet", "handwriting", "landscape"])
def test_initial_weights_depend_on_the_seed_and_not_on_the_norm(name, layouts, cloze):
    of, (settings, data) = experiments.find(name), made_up_data(name, layouts, cloze)

    def weights(norm, seed=0):
        model = of.run_class(of.settings(**settings | {"norm": norm}), data, seed=seed).model
        return [p.detach() for _, p in sorted(model.named_parameters()) if p.dim() > 1]

    none = weights("none")
    assert not any(map(torch.equal, none, weights("none", seed=1)))
    for norm in get_args(get_type_hints(of.settings)["norm"]):
        assert all(map(torch.equal, none, weights(norm))), norm


@pytest.mark.parametrize("name", ["attentive_reader", "handwriting"])
def test_a_tuned_initialization_has_orthogonal_and_scaled_weights(name, layouts, cloze):
    of, (settings, data) = experiments.find(name), made_up_data(name, layouts, cloze)
    plain, tuned = (
        of.run_class(of.settings(**settings | {"norm": "none", "start": start}), data)
        for start in ("usual", "chosen")
    )
    for name, weights in tuned.model.named_parameters():
        if "weight_hh" in name:
            for gate in weights.chunk(4):
                torch.testing.assert_close(gate @ gate.T, torch.eye(len(gate)))
        elif "weight_ih" in name:  # the same distribution, if not the same numbers
            ratio = (weights.std() / plain.model.get_parameter(name).std()).item()
            assert ratio == pytest.approx(tuned.settings.input_scale, rel=0.2)


@pytest.mark.parametrize("name", RUNS)
def test_diverged_runs_are_measured_to_the_end_or_raise_an_error(name, start):
    skip = {"evaluate_every": None, "keep": False} if name == "skip_thoughts" else {}
    run = start(name, **skip)
    with torch.no_grad():
        for p in run.model.parameters():
            p.fill_(math.nan)
    if name not in ("draw", "handwriting", "landscape", "transformer"):
        with pytest.raises(Diverged, match="try a smaller learning rate"):
            list(train(run, epochs=2, first_epoch_points=1))
        return
    *_, last = train(run, epochs=2, first_epoch_points=1)
    assert last["epoch"] == 2
    assert math.isnan(last[run.experiment.loss[0]])


def test_checkpoints_within_an_epoch_are_saved_at_time_intervals(start, tmp_path, monkeypatch):
    now, saved = [0.0], []
    monkeypatch.setattr("lnlab.training.time.monotonic", lambda: now[0])
    run = start("mnist", batch_size=40, first_epoch_points=1)
    update = run.update

    def slow(batch):
        now[0] += 250  # seconds
        return update(batch)

    monkeypatch.setattr(run, "update", slow)
    monkeypatch.setattr(
        "lnlab.checkpoint.save", lambda path, run, at: saved.append((at.epochs, at.updates))
    )
    list(train(run, epochs=2, first_epoch_points=1, checkpoint=tmp_path / "run.pt"))
    assert run.updates_per_epoch == 35
    within = list(range(3, 35, 3))
    assert saved == [*((0, k) for k in within), (1, 0), *((1, k) for k in within), (2, 0)]
