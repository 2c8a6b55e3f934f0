"""The command line: what is typed, what is run, what is refused, and the command in a record."""

import dataclasses
import functools
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from bench import __main__ as bench
from lnlib import data, experiments
from lnlib.__main__ import asked, main
from lnlib.data import Dataset, load
from lnlib.data import mnist as mnist_data
from lnlib.experiments.sequence import run as sequence
from lnlib.experiments.weights import run as weights
from lnlib.runs import record, schedule
from lnlib.runs.schedule import record_runs
from lnlib.runs.settings import words

SHORT = {  # a run of a tenth of a second
    "mnist": "--data digits --norm batch --batch-size 400 --hidden 8 --step plain",
    "noise": "--data digits --norm batch --batch-size 300 --hidden 8 --step plain",
    "sequence": "--cell rnn --norm layer --batch-size 400 --hidden 8",
    "weights": "--norm layer --optimizer sgd --scale 1 --batch-size 400 --hidden 8",
}


EXPERIMENTS = experiments.names()


def kind(experiment):
    return experiments.find(experiment).settings


def short(experiment, out, *more):
    always = (
        f"replay {experiment} {SHORT[experiment]} --epochs 1 --seeds 0 --device cpu --threads 1"
    )
    return [*always.split(), "--first-epoch-points", "1", "--out", str(out), *more]


def refused(arguments, capsys):
    """Run what is to be refused; return the one sentence that it says."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr()
    assert status == (2 if "; see python -m lnlib" in said.err else 1)
    assert said.out == ""
    assert re.fullmatch(r"lnlib[ :][^\n]+\n", said.err), said.err
    return said.err


# Settings -> command -> settings.

real = functools.partial(st.floats, allow_nan=False, allow_infinity=False)
count = st.integers(1, 10**9)
positive = real(min_value=0, exclude_min=True)
not_negative = real(min_value=0)
decay = real(min_value=0, max_value=1, exclude_max=True)
LAYERS = {
    "norm": st.sampled_from(["none", "batch", "layer", "weight"]),
    "batch_size": st.integers(2, 10**9),
    "epochs": count,
    "data": st.sampled_from(["mnist", "digits"]),
    "hidden": st.lists(count, min_size=1, max_size=4).map(tuple),
    "train_cases": count,
    "learning_rate": positive,
    "adam_betas": st.tuples(decay, decay),
    "adam_eps": not_negative,
    "eps": not_negative,
    "variance": st.sampled_from(["paper", "biased", "unbiased"]),
    "momentum": real(min_value=0, max_value=1),
    "initialization": st.sampled_from(["uniform", "he"]),
    "measured_cases": count,
    "first_epoch_points": count,
}
THREE = {"norm": st.sampled_from(["none", "batch", "layer"])}
ANY = {
    "mnist": LAYERS,
    "noise": LAYERS
    | THREE
    | {"gradient_batches": st.integers(2, 10**9), "statistics_cases": count},
    "weights": LAYERS | THREE | {"optimizer": st.sampled_from(["sgd", "adam"]), "scale": positive},
    "sequence": {
        "cell": st.sampled_from(sequence.CELLS),
        "norm": st.sampled_from(["none", "layer"]),
        "step": st.sampled_from(["row", "pixel"]),
        "data": st.sampled_from(["digits", "mnist"]),
        "hidden": count,
        "learning_rate": st.none() | positive,
        "gain": real(),
        "form": st.sampled_from(["paper", "carried", "per_gate", "draw", "parts"]),
        "recurrent_init": st.sampled_from(["uniform", "orthogonal"]),
        "bias_init": st.sampled_from(["zeros", "uniform"]),
        "clip": st.none() | positive,
        "held_out": st.booleans(),
    }
    | {
        name: LAYERS[name]
        for name in LAYERS.keys() - {"norm", "data", "hidden", "learning_rate"}
        if name not in ("variance", "momentum", "initialization")
    },
}


NAMES = st.text("runs -='\"$\\/.~#\n\té∞", min_size=1, max_size=12)


@st.composite
def runs(draw, experiment):
    """Any settings that can be run: each field as usual or not."""
    fields = [field.name for field in dataclasses.fields(kind(experiment))]
    chosen = draw(st.sets(st.sampled_from(fields)))
    values = {name: draw(ANY[experiment][name]) for name in fields if name in chosen}
    if experiment == "sequence":
        if values.get("norm") == "none":
            values = {k: v for k, v in values.items() if k not in ("gain", "form")}
        elif values.get("form", "paper") not in sequence.FORMS[values.get("cell", "lstm")]:
            del values["form"]
    return kind(experiment)(**values)


def recorded_command(experiment, chosen, seed, *, step, device, threads, out):
    """The command that a record of this run would name."""
    described = experiments.find(experiment)
    run = types.SimpleNamespace(
        experiment=described, settings=chosen, seed=seed, step=step, cases={"train": 3}
    )
    made = types.SimpleNamespace(name="digits", sha256="0" * 64)
    points = [{"epoch": 0.0, "wall_s": 1.0}]
    before = torch.get_num_threads, record.device_name, record._commit
    try:
        torch.get_num_threads = lambda: threads
        record.device_name, record._commit = str, lambda: "abc"
        kept = schedule._record(run, made, points, torch.device(device), out)
    finally:
        torch.get_num_threads, record.device_name, record._commit = before
    record.check(kept)
    return json.loads(json.dumps(kept))["provenance"]["command"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_any_settings_can_be_drawn(experiment):
    fields = {field.name for field in dataclasses.fields(kind(experiment))}
    assert set(ANY[experiment]) == fields


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@tries(deadline=None, max_examples=60)
@given(drawn=st.data())
def test_the_recorded_command_asks_for_the_run_and_nothing_else(experiment, drawn):
    chosen = drawn.draw(runs(experiment))
    seed = drawn.draw(st.integers(0, 10**18 - 1))
    how = {
        "step": drawn.draw(st.sampled_from(["plain", "manual", "compiled", "graph"])),
        "device": drawn.draw(st.sampled_from(["cpu", "cuda", "cuda:1"])),
        "threads": drawn.draw(st.integers(1, 1024)),
        "out": Path(drawn.draw(NAMES)),
    }
    start, *typed = shlex.split(recorded_command(experiment, chosen, seed, **how))
    assert [start, *typed[:2]] == ["python", "-m", "lnlib"]
    read = asked(typed[2:])
    assert read.experiment == experiment
    assert read.settings == [chosen]
    assert read.settings[0].as_dict() == chosen.as_dict()
    assert read.seeds == [seed]
    assert read.threads == how.pop("threads")
    if experiment not in ("mnist", "noise"):
        del how["step"]
    assert read.options == how | {"again": False}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_command_of_the_usual_settings_asks_for_them(experiment):
    chosen, how = kind(experiment)(), {"step": "plain", "device": "cpu", "threads": 1}
    command = recorded_command(experiment, chosen, 0, out=Path("runs"), **how)
    assert asked(shlex.split(command)[3:]).settings == [chosen]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_record_of_the_book_has_the_name_and_the_command_of_its_settings(experiment):
    paths = sorted(record.folder().glob(f"{experiment}/*.json"))
    described = experiments.find(experiment)
    assert paths
    for path in paths:
        kept = json.loads(path.read_text())
        chosen = kind(experiment)(**kept["settings"])
        assert chosen.as_dict() == kept["settings"]
        assert described.stem(chosen, kept["seed"]) == path.stem
        new = asked(described.command(chosen, kept["seed"], "manual")[3:])
        old = asked(shlex.split(kept["provenance"]["command"])[3:])
        assert new.settings == old.settings == [chosen]
        assert new.seeds == old.seeds == [kept["seed"]]


def test_two_settings_never_share_a_record():
    near = [weights.Settings(scale=1.0), weights.Settings(scale=1.0 + 2**-40)]
    assert len({weights.EXPERIMENT.stem(chosen, 0) for chosen in near}) == 2


# What is run.


def test_what_is_not_given_is_the_books_runs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = asked(["replay", "mnist"])
    assert [(s.batch_size, s.norm, s.epochs) for s in found.settings] == [
        (size, norm, 20) for size in (4, 128) for norm in ("layer", "batch", "none")
    ]
    assert (found.seeds, found.threads) == ([0, 1, 2], None)
    assert found.options == {
        "out": Path("runs"), "device": "auto", "again": False, "step": "auto",
    }  # fmt: skip
    assert asked(["replay", "mnist", "--data", "digits"]).settings[0].hidden == (200, 200)
    assert [s.norm for s in asked(["replay", "noise"]).settings] == ["batch", "layer", "none"]
    found = asked(["replay", "sequence"])
    assert [(s.cell, s.norm) for s in found.settings] == [
        (cell, norm) for cell in sequence.CELLS for norm in ("none", "layer")
    ]
    assert found.seeds == [0, 1, 2, 3, 4]
    found = asked(["replay", "weights"]).settings
    assert [(s.optimizer, s.scale) for s in found[::3]] == [
        ("sgd", 1.0), ("sgd", 0.25), ("sgd", 4.0), ("sgd", 16.0), ("adam", 1.0),
    ]  # fmt: skip
    assert len(found) == 15


def test_a_gpu_runs_the_whole_of_figure_6(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    found = asked(["replay", "mnist"])
    assert {s.epochs for s in found.settings} == {60}
    assert found.seeds == list(range(10))
    for typed, epochs, seeds in [
        ("--epochs 2 --seeds 7", 2, [7]),
        ("--epochs 2", 2, list(range(10))),
        ("--seeds 7", 60, [7]),
        ("--device cpu", 20, [0, 1, 2]),
        ("--device cpu --seeds 7", 20, [7]),
    ]:
        found = asked(["replay", "mnist", *typed.split()])
        assert ({s.epochs for s in found.settings}, found.seeds) == ({epochs}, seeds)


def test_several_values_are_several_runs():
    typed = "replay mnist --norm batch layer --batch-size 1 8 --learning-rate 0.1 1e-2 --epochs 1"
    found = asked([*typed.split(), "--momentum", "0.3"]).settings
    # One case has no variance: batch norm of it is left out where there are other norms.
    assert [(s.learning_rate, s.batch_size, s.norm) for s in found] == [
        (rate, size, norm)
        for rate in (0.1, 0.01)
        for size, norm in ((1, "layer"), (8, "batch"), (8, "layer"))
    ]
    assert {s.momentum for s in found} == {0.3}
    typed = "replay weights --optimizer adam sgd --scale 2 3 --norm layer"
    found = asked(typed.split()).settings
    assert [(s.optimizer, s.scale) for s in found] == [
        ("adam", 2.0), ("adam", 3.0), ("sgd", 2.0), ("sgd", 3.0),
    ]  # fmt: skip


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_run_is_repeated_with_again_alone(tmp_path, capsys, experiment):
    command = short(experiment, tmp_path)
    assert main(command) == 0
    (path,) = tmp_path.glob("*/*.json")
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"mark": 1}))
    assert main(command) == 0
    assert "1 of 1 runs are recorded already" in capsys.readouterr().out
    assert "mark" in json.loads(path.read_text())
    assert main([*command, "--again"]) == 0
    again = json.loads(path.read_text())
    assert "mark" not in again
    del kept["curves"]["wall_s"], again["curves"]["wall_s"]
    assert again["curves"] == kept["curves"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_command_of_a_record_makes_the_record(tmp_path, experiment):
    odd = {"mnist": "--momentum 0.3 --eps 0.1", "noise": "--gradient-batches 2 --variance biased",
           "sequence": "--gain -1e-2 --clip none", "weights": "--learning-rate 0.3"}  # fmt: skip
    before = torch.get_num_threads()
    try:
        assert main(short(experiment, tmp_path / "with 'space", *odd[experiment].split())) == 0
        (path,) = tmp_path.glob("*/*/*.json")
        first = json.loads(path.read_text())
        path.unlink()
        assert main(shlex.split(first["provenance"]["command"])[3:]) == 0
    finally:
        torch.set_num_threads(before)
    second = json.loads(path.read_text())
    assert second["provenance"]["command"] == first["provenance"]["command"]
    for kept in (first, second):
        del kept["curves"]["wall_s"], kept["provenance"]
    assert first == second


# What is refused, at once and in one sentence.

WRONG_COUNT = ["0", "-1", "1.5", "nan", "inf", "many", "", "1e30", "9" * 5000]
WRONG_POSITIVE = ["0", "-1", "-1e-3", "nan", "inf", "-inf", "small", "", "1e999"]
WRONG_FROM_0 = ["-1", "-1e-30", "nan", "inf", "small", ""]
WRONG = {
    "norm": ["group", "", "LAYER"],
    "cell": ["qrnn", ""],
    "step": ["column", ""],
    "form": ["batch", ""],
    "variance": ["n-1", ""],
    "initialization": ["zeros", ""],
    "recurrent_init": ["he", ""],
    "bias_init": ["ones", ""],
    "optimizer": ["lbfgs", ""],
    "data": ["letters", ""],
    "batch_size": WRONG_COUNT,
    "epochs": WRONG_COUNT,
    "train_cases": WRONG_COUNT,
    "measured_cases": WRONG_COUNT,
    "first_epoch_points": WRONG_COUNT,
    "statistics_cases": WRONG_COUNT,
    "gradient_batches": [*WRONG_COUNT, "1"],
    "hidden": [*WRONG_COUNT],
    "learning_rate": WRONG_POSITIVE,
    "scale": [*WRONG_POSITIVE, "none"],
    "clip": WRONG_POSITIVE,
    "gain": ["nan", "inf", "-inf", "one", "", "none"],
    "adam_eps": WRONG_FROM_0,
    "eps": WRONG_FROM_0,
    "momentum": [*WRONG_FROM_0, "2", "1.0000001", "none"],
    "adam_betas": ["0.9", "0.9 1", "-0.1 0.9", "0.9 nan", "0.9 0.9 0.9", "a b", ""],
}
EVERYWHERE = {
    "seeds": ["-1", "1.5", "nan", "one", "", "9" * 30, "1" + "0" * 18, "²", "0 0", "00 0"],
    "device": ["nonsense", "", "cuda:-1", "cuda:x", "meta", "cpu:1", "cuda:99"],
    "threads": ["0", "-1", "1.5", "nan", "all", "", "1000000000"],
    "out": [""],
}
STEPS = ["turbo", ""]


def table():
    for experiment in EXPERIMENTS:
        names = [field.name for field in dataclasses.fields(kind(experiment))]
        wrong = {name: WRONG[name] for name in names if name != "held_out"} | EVERYWHERE
        if experiment in ("mnist", "noise"):
            wrong["step"] = STEPS
        if experiment == "sequence":
            wrong["hidden"] = WRONG_COUNT
        for name, values in wrong.items():
            yield experiment, name, values


@pytest.mark.parametrize(("experiment", "name", "values"), list(table()))
def test_a_wrong_value_is_refused_by_the_name_of_its_flag(
    experiment, name, values, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(data, "load", lambda name: pytest.fail("data were asked for"))
    monkeypatch.chdir(tmp_path)
    flag = words(name, 0)[0]
    norm = ["--norm", "batch"] if experiment in ("mnist", "noise", "weights") else []
    for value in values:
        given = value.split() or [value]
        said = refused(["replay", experiment, *norm, flag, *given], capsys)
        assert flag in said
        assert len(said) < 10_000 if len(value) > 1000 else len(said) < 400
        assert re.search(r"must|must differ|expected|at most|was asked for|invalid choice", said)
        assert re.search(r"got |invalid choice: |PyTorch sees", said), said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sequence --norm none --gain 0.1", "--gain must be left out where norm is none"),
        ("sequence --norm none --form draw", "--form must be left out where norm is none"),
        ("sequence --cell gru --norm layer --form draw", "--form must be one of paper for gru"),
        (
            "mnist --norm batch --batch-size 1",
            "--batch-size must be at least 2 where norm is batch",
        ),
        ("mnist --norm layer layer", "--norm must differ, got 'layer' twice; give it once"),
        ("mnist --learning-rate 1e-3 0.001", "--learning-rate must differ, got 0.001 twice"),
        ("sequence --gain 1 1.0", "--gain must differ, got 1.0 twice; give it once"),
        ("weights --scale 2 2", "--scale must differ, got 2 twice; give it once"),
        ("mnist --step graph --device cpu", "--step 'graph' needs a CUDA device, got cpu"),
        ("noise --step graph --device cpu", "--step 'graph' needs a CUDA device, got cpu"),
        ("mnist --device cuda", "--device 'cuda' was asked for, but PyTorch sees no GPU"),
        ("mnist --epochs", "argument --epochs: expected one argument; see python -m lnlib replay"),
        ("weights --step plain", "unrecognized arguments: --step plain; see python -m lnlib"),
        ("mnist --nonsense", "unrecognized arguments: --nonsense"),
        ("draw", "invalid choice: 'draw' (choose from"),
        ("", "the following arguments are required: experiment"),
    ],
)
def test_what_does_not_fit_together_is_refused(command, said, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(data, "load", lambda name: pytest.fail("data were asked for"))
    monkeypatch.chdir(tmp_path)
    assert said in refused(["replay", *command.split()], capsys)
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize(
    ("command", "idle"),
    [
        ("mnist --norm layer --momentum 0.2", ["--momentum"]),
        ("mnist --norm layer batch --momentum 0.2", []),
        ("mnist --norm none weight --eps 1e-3", ["--eps"]),
        ("mnist --norm none layer --eps 1e-3", []),
        ("mnist --norm none --variance biased", ["--variance"]),
        ("noise --norm none --statistics-cases 9", ["--statistics-cases"]),
        ("noise --norm none layer --statistics-cases 9", []),
        ("weights --optimizer sgd --adam-eps 1e-3 --scale 2", ["--adam-eps"]),
        ("weights --adam-betas 0.5 0.9 --adam-eps 1e-3", []),
        ("sequence --norm none --eps 1e-3", ["--eps"]),
    ],
)
def test_a_setting_that_changes_none_of_the_runs_is_told(command, idle):
    assert asked(["replay", *command.split(), "--epochs", "1", "--seeds", "0"]).idle == idle


def test_what_is_told_does_not_stop_the_run(tmp_path, capsys):
    assert main(short("mnist", tmp_path, "--norm", "layer", "--momentum", "0.2")) == 0
    said = capsys.readouterr().err
    assert said.startswith("lnlib replay: --momentum has no effect on these runs\n")
    assert len(list(tmp_path.glob("*/*.json"))) == 1


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_batch_larger_than_the_data_is_refused_before_other_runs_train(
    experiment, tmp_path, capsys
):
    sizes = ["400", "5000"] if experiment == "mnist" else ["5000"]
    assert main([*short(experiment, tmp_path), "--batch-size", *sizes]) == 1
    said = capsys.readouterr().err
    assert "--batch-size 5000 needs as many training cases, digits gives 1437; choose a" in said
    assert list(tmp_path.glob("*/*.json")) == []


def impossible(kind, tmp_path):
    """A place where no record can be written."""
    if kind == "a file":
        (tmp_path / "out").write_text("mine")
        return tmp_path / "out", "Not a directory"
    elif kind == "below a file":
        (tmp_path / "file").write_text("mine")
        return tmp_path / "file" / "out", r"Not a directory"
    elif kind == "a link to nothing":
        (tmp_path / "out").symlink_to(tmp_path / "gone" / "away")
    elif kind == "no folder of checkpoints":
        (tmp_path / "out" / "mnist").mkdir(parents=True)
        (tmp_path / "out" / "mnist" / ".checkpoints").write_text("mine")
    elif kind == "a name too long":
        return tmp_path / ("x" * 300), "File name too long"
    elif kind == "not allowed":
        return Path("/proc/no"), "No such file or directory|Permission denied"
    return tmp_path / "out", "it is no folder"


KINDS = ["a file", "below a file", "a link to nothing", "no folder of checkpoints",
         "a name too long", "not allowed"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_trained(
    kind, tmp_path, capsys, monkeypatch
):
    if kind == "not allowed" and not Path("/proc/self").exists():
        pytest.skip("needs Linux")
    out, why = impossible(kind, tmp_path)
    monkeypatch.setattr(data, "load", lambda name: pytest.fail("data were asked for"))
    said = refused(short("mnist", out), capsys)
    assert re.search(rf"--out must be a folder where \S+ can be written, got .*\(({why})\)", said)
    assert "choose another" in said
    assert list(tmp_path.rglob("*.part")) == []


def test_a_record_whose_name_is_too_long_is_refused_before_it_is_trained(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(data, "load", lambda name: pytest.fail("data were asked for"))
    deep = ["--hidden", *["1000"] * 60]
    said = refused(short("mnist", tmp_path, *deep), capsys)
    assert "File name too long" in said


def test_recorded_runs_are_found_in_a_folder_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    command = short("mnist", tmp_path)
    assert main(command) == 0
    monkeypatch.setattr(record, "check_writable", lambda path: pytest.fail("nothing is written"))
    assert main(command) == 0
    assert "1 of 1 runs are recorded already" in capsys.readouterr().out


# A damaged record.


def test_a_damaged_record_keeps_its_own_run_alone_waiting(tmp_path, capsys):
    both = [*short("weights", tmp_path), "--seeds", "0", "1"]
    assert main(both) == 0
    first, second = sorted(tmp_path.glob("*/*.json"))
    first.write_text('{"format": 1, "exp')
    second.unlink()
    capsys.readouterr()
    assert main(both) == 1
    said = capsys.readouterr().err
    assert second.exists()
    assert first.read_text() == '{"format": 1, "exp'
    last = said.splitlines()[-1]
    assert last.startswith(f"lnlib replay: {first}: not a JSON file that can be read")
    assert last.endswith("record the run again with --again, or delete the file")
    # Said before the other run begins, too.
    assert said.index(str(first)) < said.index("seed 1")
    assert main([*both, "--again"]) == 0
    assert record.read(first)["seed"] == 0


def test_a_record_of_another_seed_is_no_record_of_the_run(tmp_path, capsys):
    assert main(short("weights", tmp_path)) == 0
    (path,) = tmp_path.glob("*/*.json")
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'))
    assert main(short("weights", tmp_path)) == 1
    assert "recorded with other settings ({'seed': '7, asked 0'})" in capsys.readouterr().err


def test_a_measured_value_that_is_not_finite_leaves_no_record(tmp_path, capsys):
    # One update of this size: the loss before it was finite, what is measured after it is not.
    command = short("weights", tmp_path, "--norm", "none", "--learning-rate", "1e30")
    assert main([*command, "--batch-size", "1437"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"after 1 epochs .*train_nll is (inf|nan).*a smaller learning rate", said)
    assert list(tmp_path.glob("*/*.json")) == []


def test_the_time_left_is_that_of_as_many_epochs(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (path,) = record.folder().glob("weights/weights-layer-sgd-x1-seed0.json")
    monkeypatch.setattr(record, "folder", lambda: tmp_path)
    kept = json.loads(path.read_text())
    assert kept["settings"]["epochs"] == 20
    kept["provenance"]["wall_s"] = 100.0
    (tmp_path / path.name).write_text(json.dumps(kept))
    runs = [(weights.Settings(epochs=epochs), 5, path) for epochs in (10, 60)]
    # 20 epochs took 100 s, so 10 take 50 s and 60 take 300 s.
    assert "they take 0:05:50 (h:mm:ss)" in schedule._without_gpu(weights.EXPERIMENT, runs)
    (tmp_path / path.name).write_text("{")
    assert "the bar says within a minute" in schedule._without_gpu(weights.EXPERIMENT, runs)


# Python callers.


@pytest.mark.parametrize(
    ("settings", "seeds", "said"),
    [
        ([{}], [0, -1], "seeds must be whole numbers from 0 to 2\\*\\*63 - 1, got -1"),
        ([{}], [2**63], "seeds must be whole numbers from 0"),
        ([{}], [0, "1"], "seeds must be whole numbers from 0 .* got '1'"),
        ([{}], [3, 3], "seeds must differ, got 3 twice"),
        ([{}, {}], [0], "settings must differ, got Settings"),
        (
            [{}, {"epochs": 3}],
            [0],
            "records must differ, got 'weights-layer-sgd-x1-seed0.json' twice",
        ),
        ([{}, {"data": "mnist"}], [0], "settings must share one data set, got digits, mnist"),
    ],
)
def test_runs_that_cannot_be_asked_for_together_are_refused(settings, seeds, said, tmp_path):
    chosen = [weights.Settings(**s) for s in settings]
    with pytest.raises(ValueError, match=said):
        record_runs(weights.EXPERIMENT, chosen, seeds, out=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


# The other commands.


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["data", "digits", "--folder", "x"], "--folder is where MNIST lies, and digits come with"),
        (["data", "mnist", "--folder", ""], "--folder must be a folder, got '' (an empty name"),
        (["data", "mnist", "--folder", "FILE"], "(it is no folder); name another"),
        (["data", "mnist", "--folder", "FILE/below"], "(Not a directory); name another"),
        (["data", "mnist", "--folder", "LINK"], "(it is no folder); name another"),
        (["data", "mnist", "--folder", "x" * 300], "(File name too long); name another"),
        (["data", "letters"], "argument name: invalid choice: 'letters' (choose from"),
        (["data"], "the following arguments are required: name; see python -m lnlib data --help"),
        (["bench", "norm"], "unrecognized arguments: norm"),
        (["bench", "--keep", "1"], "unrecognized arguments: 1"),
        (["train"], "invalid choice: 'train' (choose from"),
        ([], "the following arguments are required: command; see python -m lnlib --help"),
    ],
)
def test_other_commands_refuse_what_they_cannot_do(command, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mnist_data, "fetch", lambda folder: pytest.fail("MNIST was asked for"))
    Path("FILE").write_text("mine")
    Path("LINK").symlink_to("gone")
    assert said in refused(command, capsys)
    assert Path("FILE").read_text() == "mine"


def test_a_download_that_fails_is_said_in_one_sentence(capsys, monkeypatch):
    def fetch(folder):
        raise OSError("no mirror of MNIST delivers")

    monkeypatch.setattr(mnist_data, "fetch", fetch)
    assert refused(["data", "mnist"], capsys) == "lnlib data: no mirror of MNIST delivers\n"


@pytest.mark.parametrize("folder", [None, "new/below", "there"])
def test_data_says_what_there_is_and_where(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    x = np.zeros((3, 2), np.float32)
    made = Dataset("mnist", x, np.zeros(3, np.int64), x[:1], np.zeros(1, np.int64), "5" * 64)
    asked_for = []
    monkeypatch.setattr(mnist_data, "fetch", lambda f: asked_for.append(f) or f or "the cache")
    monkeypatch.setattr(mnist_data, "load", lambda f: asked_for.append(f) or made)
    assert main(["data", "mnist", *(["--folder", folder] if folder else [])]) == 0
    assert asked_for == [folder, folder]
    assert capsys.readouterr().out == (
        f"MNIST lies in {folder or 'the cache'}\n"
        f"mnist: 3 training and 1 test cases of 2 features, SHA-256 {'5' * 64}\n"
    )
    assert folder is None or Path(folder).is_dir()


def test_data_digits_says_its_size(capsys):
    assert main(["data", "digits"]) == 0
    said = capsys.readouterr().out
    digits = load("digits")
    assert said.startswith("digits: 1,437 training and 360 test cases of 64 features, SHA-256 ")
    assert said.endswith(f"{digits.sha256}\n")


@pytest.mark.parametrize("keep", [False, True])
def test_bench_measures_and_keeps_what_it_is_told_to(monkeypatch, keep):
    told = []
    monkeypatch.setattr(bench, "main", lambda **options: told.append(options) or 7)
    assert main(["bench", *["--keep"] * keep]) == 7
    assert told == [{"keep": keep}]


def test_bench_needs_a_clone_and_names_no_other_reason(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "bench.__main__", None)
    said = refused(["bench"], capsys)
    assert said.endswith("not part of the installed package; run this from a clone's root\n")
    broken = types.ModuleType("bench.__main__")
    broken.__getattr__ = lambda name: importlib.import_module("no_such_module")
    monkeypatch.setitem(sys.modules, "bench.__main__", broken)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        main(["bench"])


# Ctrl-C, alone and as a rank of several.


@pytest.fixture
def interrupted(monkeypatch):
    """Return what the signals are set to, in order, in a command that is stopped by Ctrl-C."""
    handled = []

    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(schedule, "record_runs", stop)
    monkeypatch.setattr(signal, "signal", lambda *pair: handled.append(pair))
    monkeypatch.delenv("RANK", raising=False)
    return handled


END, STOP = signal.SIGTERM, signal.SIGINT


@pytest.mark.parametrize("rank", [None, "0", "1"])
def test_ctrl_c_ends_with_130_and_one_rank_says_what_is_kept(
    interrupted, rank, monkeypatch, capsys
):
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    assert main(["replay", "weights", "--device", "cpu"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert ("Whole epochs are kept: the same command goes on from there" in said.err) == (
        rank != "1"
    )
    # A rank is ended with SIGTERM, and by then is not to be stopped on its way out.
    ignored = [(STOP, signal.SIG_IGN), (END, signal.SIG_IGN)]
    assert interrupted == ([(END, signal.default_int_handler), *ignored] if rank else [])


@pytest.mark.parametrize(
    "arguments",
    [[], ["data"], ["bench"], ["replay"], *(["replay", name] for name in [*EXPERIMENTS, "book"])],
    ids=" ".join,
)
def test_help_needs_no_torch(arguments):
    code = f"import sys; from lnlib.__main__ import main\ntry: main({[*arguments, '--help']})\n"
    code += "except SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "usage: python -m lnlib" in done.stdout
    heavy = {"torch", "sklearn", "scipy", "jsonschema", "tqdm", "plotly", "pooch", "requests"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_help_of_an_experiment_tells_of_every_setting(experiment, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["replay", experiment, "--help"])
    said = capsys.readouterr().out
    for field in dataclasses.fields(kind(experiment)):
        flag = words(field.name, True)[0]
        assert re.search(rf"^  {flag}\b.*(\n {{24}}|  )\S", said, re.M), flag
    assert not re.search(r"\(default:\s+(None)?\)", said)


def test_the_help_says_what_is_run_if_nothing_is_given(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["replay", "mnist", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "(one of none, batch, layer, weight; default: layer batch none)" in said
    assert "Weight of the newest batch in batch norm's running averages. (default: 0.1)" in said
    assert "(default: 60 on a GPU and 20 on a CPU)" in said
    assert "(default: 0 to 9 on a GPU, 0 to 2 on a CPU)" in said


def test_the_process_ends_with_the_status_of_the_command(tmp_path):
    command = [sys.executable, "-m", "lnlib", "replay", "mnist", "--momentum", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 1
    assert done.stderr == "lnlib replay: --momentum must be a number from 0 to 1, got 2\n"
