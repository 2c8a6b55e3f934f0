"""What is typed, what is run, and the command in a record."""

import functools
import json
import re
import shlex
import types
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from lnlab import config, experiments, records, runner
from lnlab.claims.trained import TASKS
from lnlab.cli import invocation, main
from lnlab.experiments.weights import run as weights

EXPERIMENTS = experiments.names()


def kind(experiment):
    return experiments.find(experiment).settings


# Settings -> command -> settings.

real = functools.partial(st.floats, allow_nan=False, allow_infinity=False)
count = st.integers(1, 10**9)
decay = real(min_value=0, max_value=1, exclude_max=True)
# A value of each sort that there is, and how to draw more.
SORTS = [
    (3, count),
    (0.25, real()),
    ((3, 2), st.lists(count, min_size=1, max_size=4).map(tuple)),
    ((0.25, 0.5), st.tuples(decay, decay)),
    (True, st.booleans()),
    (None, st.none()),
]


def drawn(kind):
    """Any value that a setting may have."""
    sorts = [strategy for value, strategy in SORTS if kind.is_valid(value)]
    strategy = st.sampled_from(kind.choices) | st.none() if kind.choices else st.one_of(sorts)
    return strategy.filter(kind.is_valid)


NAMES = st.text("runs -='\"$\\/.~#\n\té∞", min_size=1, max_size=12)


@st.composite
def runs(draw, experiment):
    """Any settings that can be run: each field as usual or not."""
    fields = config.field_specs(kind(experiment))
    chosen = draw(st.sets(st.sampled_from(sorted(fields))))
    values = {name: draw(drawn(fields[name])) for name in sorted(chosen)}
    while True:
        try:
            return kind(experiment)(**values)
        except ValueError as error:  # they do not go together: one of them is as usual
            name = re.match(r"Settings: (\w+) must", str(error))[1]
            values.pop(name if name in values else max(values))


def recorded_command(experiment, chosen, seed, *, step, device, threads, out):
    """The command that a record of this run would name."""
    described = experiments.find(experiment)
    run = types.SimpleNamespace(
        experiment=described, settings=chosen, seed=seed, step=step, cases={"train": 3},
        segments=[], conditions={},
    )  # fmt: skip
    made = types.SimpleNamespace(name="digits", sha256="0" * 64)
    points = [{"epoch": 0.0, "wall_s": 1.0}]
    before = torch.get_num_threads, records.device_name, records._commit
    try:
        torch.get_num_threads = lambda: threads
        records.device_name, records._commit = str, lambda: "abc"
        record = runner._record(run, made, points, torch.device(device), out)
    finally:
        torch.get_num_threads, records.device_name, records._commit = before
    records.check(record)
    return json.loads(json.dumps(record))["provenance"]["command"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@tries(deadline=None, max_examples=25)
@given(drawn=st.data())
def test_the_recorded_command_asks_for_the_run_and_nothing_else(experiment, drawn):
    chosen = drawn.draw(runs(experiment))
    seed = drawn.draw(st.integers(0, 10**18 - 1))
    how = {
        "step": drawn.draw(st.sampled_from(["plain", "compiled"])),
        "device": drawn.draw(st.sampled_from(["cpu", "cuda", "cuda:1"])),
        "threads": drawn.draw(st.integers(1, 1024)),
        "out": Path(drawn.draw(NAMES)),
    }
    start, *typed = shlex.split(recorded_command(experiment, chosen, seed, **how))
    assert [start, *typed[:2]] == ["python", "-m", "lnlab"]
    read = invocation(typed[2:])
    assert read.experiment == experiment
    assert read.settings == [chosen]
    assert read.settings[0].as_dict() == chosen.as_dict()
    assert read.seeds == [seed]
    assert read.threads == how.pop("threads")
    if not experiments.find(experiment).steps:
        del how["step"]
    alone = {"jobs": 1, "engine": "loky", "scheduler": None}
    assert read.options == how | alone | {"again": False}


@pytest.mark.parametrize("experiment", [n for n in EXPERIMENTS if experiments.find(n).grids])
def test_every_record_of_the_book_has_the_name_and_the_command_of_its_settings(experiment):
    paths = sorted(records.folder().glob(f"{experiment}/*.json"))
    described = experiments.find(experiment)
    assert paths
    for path in paths:
        record = json.loads(path.read_text())
        chosen = kind(experiment)(**record["settings"])
        assert chosen.as_dict() == record["settings"]
        assert described.stem(chosen, record["seed"]) == path.stem
        new = invocation(described.command(chosen, record["seed"], "plain")[3:])
        old = invocation(shlex.split(record["provenance"]["command"])[3:])
        assert old.options.get("step", "auto") in ("auto", *described.steps)
        assert new.settings == old.settings == [chosen]
        assert new.seeds == old.seeds == [record["seed"]]


@pytest.mark.parametrize("experiment", TASKS)
def test_the_command_of_a_claim_records_the_runs_that_it_is_about(experiment):
    claimed = invocation(shlex.split(experiments.find(experiment).main_command)[3:]).settings
    runs = [{"settings": chosen.as_dict(), "seed": 0} for chosen in claimed]
    assert [changed for changed, _ in TASKS[experiment].run_groups(runs)] == [{}]


def test_two_settings_never_share_a_record():
    near = [weights.Settings(scale=1.0), weights.Settings(scale=1.0 + 2**-40)]
    assert len({weights.EXPERIMENT.stem(chosen, 0) for chosen in near}) == 2


# What is run.


def test_a_gpu_runs_the_whole_of_figure_6(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    result = invocation(["replay", "mnist"])
    assert {s.epochs for s in result.settings} == {60}
    assert result.seeds == list(range(10))
    for typed, epochs, seeds in [
        ("--epochs 2 --seeds 7", 2, [7]),
        ("--epochs 2", 2, list(range(10))),
        ("--seeds 7", 60, [7]),
        ("--device cpu", 20, [0, 1, 2]),
        ("--device cpu --seeds 7", 20, [7]),
    ]:
        result = invocation(["replay", "mnist", *typed.split()])
        assert ({s.epochs for s in result.settings}, result.seeds) == ({epochs}, seeds)


def test_several_values_are_several_runs():
    typed = "replay mnist --norm batch layer --batch-size 1 8 --learning-rate 0.1 1e-2 --epochs 1"
    result = invocation([*typed.split(), "--momentum", "0.3"]).settings
    # One case has no variance: batch norm of it is left out where there are other norms.
    assert [(s.learning_rate, s.batch_size, s.norm) for s in result] == [
        (rate, size, norm)
        for rate in (0.1, 0.01)
        for size, norm in ((1, "layer"), (8, "batch"), (8, "layer"))
    ]
    assert {s.momentum for s in result} == {0.3}
    typed = "replay weights --optimizer adam sgd --scale 2 3 --norm layer"
    result = invocation(typed.split()).settings
    assert [(s.optimizer, s.scale) for s in result] == [
        ("adam", 2.0), ("adam", 3.0), ("sgd", 2.0), ("sgd", 3.0),
    ]  # fmt: skip


def test_a_run_is_repeated_with_again_alone(tmp_path, capsys, short):
    command = short("weights", tmp_path)
    assert main(command) == 0
    (path,) = tmp_path.glob("*/*.json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"mark": 1}))
    assert main(command) == 0
    assert "1 of 1 runs are recorded already" in capsys.readouterr().out
    assert "mark" in json.loads(path.read_text())
    assert main([*command, "--again"]) == 0
    again = json.loads(path.read_text())
    assert "mark" not in again
    del record["curves"]["wall_s"], again["curves"]["wall_s"]
    assert again["curves"] == record["curves"]


@pytest.mark.parametrize(
    ("experiment", "non_default"),
    [("mnist", "--momentum 0.3 --eps 0.1"), ("sequence", "--gain -1e-2 --clip none")],
)
def test_the_command_of_a_record_makes_the_record(tmp_path, experiment, non_default, short):
    assert main(short(experiment, tmp_path / "with 'space", *non_default.split())) == 0
    (path,) = tmp_path.glob("*/*/*.json")
    first = json.loads(path.read_text())
    path.unlink()
    assert main(shlex.split(first["provenance"]["command"])[3:]) == 0
    second = json.loads(path.read_text())
    assert second["provenance"]["command"] == first["provenance"]["command"]
    for record in (first, second):
        del record["curves"]["wall_s"], record["provenance"]
    assert first == second


# The paper's scale.


def test_the_papers_scale_gives_its_sizes_where_no_flag_does():
    (layer,) = invocation(
        ["replay", "order_embeddings", "--scale", "paper", "--norm", "layer", "--hidden", "7"]
    ).settings
    assert (layer.hidden, layer.word_size, layer.batch_size) == (7, 300, 128)
    assert layer.learning_rate == 1e-3
    assert invocation(["replay", "order_embeddings", "--scale", "laptop"]) == invocation(
        ["replay", "order_embeddings"]
    )
