"""Commands, the runs that they request, and the commands in records."""

import json
import shlex

import pytest

from lnlab import config, experiments, records
from lnlab.arguments import FORMER_NAMES
from lnlab.claims.trained import TASKS
from lnlab.cli import invocation, main

EXPERIMENTS = experiments.names()


def kind(experiment):
    return experiments.find(experiment).settings


# Settings -> command -> settings, with numbers that are difficult to format and values of all
# types.
UNUSUAL = [
    ("mnist", {"hidden": (3, 10**9), "adam_betas": (0.0, 1 / 3), "eps": 5e-324, "momentum": 0.25}),
    ("sequence", {"cell": "gru", "gain": -1e-300, "clip": None, "held_out": True}),
    ("weights", {"norm": "batch", "scale": 1 + 2**-40, "magnitude": "fixed"}),
    (
        "attentive_reader",
        {"norm": "none", "start": "chosen", "bilinear": True, "max_length": 10**9},
    ),
]


@pytest.mark.parametrize(("experiment", "given"), [*((n, {}) for n in EXPERIMENTS), *UNUSUAL])
def test_the_command_of_a_run_requests_exactly_this_run(experiment, given):
    chosen, described = kind(experiment)(**given), experiments.find(experiment)
    read = invocation(described.command(chosen, 10**17, "compiled")[3:])
    assert (read.experiment, read.settings, read.seeds) == (experiment, [chosen], [10**17])
    assert read.settings[0].as_dict() == chosen.as_dict()
    assert read.options.get("step") == ("compiled" if described.steps else None)


@pytest.mark.parametrize("experiment", [n for n in EXPERIMENTS if experiments.find(n).grids])
def test_every_record_has_the_name_and_command_of_its_settings(experiment):
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
def test_commands_of_claims_record_their_runs(experiment):
    claimed = invocation(shlex.split(experiments.find(experiment).main_command)[3:]).settings
    runs = [{"settings": chosen.as_dict(), "seed": 0} for chosen in claimed]
    assert [changed for changed, _ in TASKS[experiment].run_groups(runs)] == [{}]


def test_several_values_are_several_runs():
    typed = "replay mnist --norm batch layer --batch-size 1 8 --learning-rate 0.1 1e-2 --epochs 1"
    result = invocation([*typed.split(), "--momentum", "0.3"]).settings
    # One example has no variance: batch norm is left out if there are other norms.
    assert [(s.learning_rate, s.batch_size, s.norm) for s in result] == [
        (rate, size, norm)
        for rate in (0.1, 0.01)
        for size, norm in ((1, "layer"), (8, "batch"), (8, "layer"))
    ]
    assert {s.momentum for s in result} == {0.3}
    typed = "replay weights --optimizer adam sgd --scale 2 3 --norm layer"
    result = invocation(typed.split()).settings
    pairs = [("adam", 2), ("adam", 3), ("sgd", 2), ("sgd", 3)]
    assert [(s.optimizer, s.scale) for s in result] == pairs


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_former_names_of_settings_are_accepted_but_not_listed(experiment, capsys):
    with pytest.raises(SystemExit):
        main(["replay", experiment, "--help"])
    text = capsys.readouterr().out
    for name in FORMER_NAMES.keys() & config.field_specs(kind(experiment)).keys():
        former = config.flag(FORMER_NAMES[name])
        current = invocation(["replay", experiment, config.flag(name), "7"])
        assert {getattr(chosen, name) for chosen in current.settings} == {7}
        for words in ([former, "7"], [f"{former}=7"]):
            assert invocation(["replay", experiment, *words]) == current
        assert f"{former} " not in text


def test_abbreviated_flags_are_those_in_the_help():
    current = invocation(["replay", "draw", "--updates-per-epoch", "7"])
    for flag in ("--updates", "--updates-a"):  # the second is that of the former name alone
        assert invocation(["replay", "draw", flag, "7"]) == current


@pytest.mark.parametrize(
    ("experiment", "non_default"),
    [("mnist", "--momentum 0.3 --eps 0.1"), ("sequence", "--gain -1e-2 --clip none")],
)
def test_the_command_of_a_record_reproduces_it(tmp_path, experiment, non_default, short):
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


def test_the_paper_scale_sets_values_of_omitted_flags():
    scaled = ["replay", "order_embeddings", "--norm", "layer", "--hidden", "7", "--scale"]
    (layer,) = invocation([*scaled, "paper"]).settings
    assert (layer.hidden, layer.word_size, layer.batch_size) == (7, 300, 128)
    assert invocation([*scaled, "laptop"]) == invocation(scaled[:-1])
