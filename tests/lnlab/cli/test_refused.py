"""What is refused: at once, in one sentence, by the name of its flag. Records that are damaged."""

import dataclasses
import json
import re
import typing
from pathlib import Path

import pytest
import torch

from lnlab import config, datasets, experiments, records, runner
from lnlab.cli import invocation, main
from lnlab.config import cli_args
from lnlab.experiments.weights import run as weights
from lnlab.runner import record_runs
from tests.lnlab.cli.conftest import SHORT

EXPERIMENTS = experiments.names()


def kind(experiment):
    return experiments.find(experiment).settings


# What is refused, at once and in one sentence.

WRONG_COUNT = ["0", "-1", "1.5", "nan", "inf", "many", "", "1e30", "9" * 5000]
WRONG_POSITIVE = ["0", "-1", "-1e-3", "nan", "inf", "-inf", "small", "", "1e999"]
WRONG_FROM_0 = ["-1", "-1e-30", "nan", "inf", "small", ""]
WRONG = [  # by what a setting's type says of it
    (config.Count, WRONG_COUNT),
    (config.Positive, WRONG_POSITIVE),
    (config.NotNegative, WRONG_FROM_0),
    (config.Fraction, [*WRONG_FROM_0, "2", "1.0000001"]),
    (config.Finite, ["nan", "inf", "-inf", "one", ""]),
    (config.Betas, ["0.9", "0.9 1", "-0.1 0.9", "0.9 nan", "0.9 0.9 0.9", "a b", ""]),
    (config.Widths, WRONG_COUNT),
]
EVERYWHERE = {
    "seeds": ["-1", "1.5", "nan", "one", "", "9" * 30, "1" + "0" * 18, "²", "0 0", "00 0"],
    "device": ["nonsense", "", "cuda:-1", "cuda:x", "meta", "cpu:1", "cuda:99"],
    "threads": ["0", "-1", "1.5", "nan", "all", "", "1000000000"],
    "out": [""],
}


def wrong(annotation):
    """What a setting of this type refuses, as it would be typed."""
    given = typing.get_args(annotation)
    if type(None) in given:
        return wrong(next(one for one in given if one is not type(None)))
    if typing.get_origin(annotation) is typing.Literal:
        return ["LAYER", "nonsense", ""]  # "none" is one of most
    for known, values in WRONG:
        if annotation == known:
            return values
    (least,) = re.findall(r"a whole number from (\d+) to", given[1].description)
    return [str(int(least) - 1), "-2", "1.5", "nan", "inf", "many", "", "1e30"]


def table():
    for experiment in EXPERIMENTS:
        results = dict(EVERYWHERE)
        hints = typing.get_type_hints(kind(experiment), include_extras=True)
        for name in (field.name for field in dataclasses.fields(kind(experiment))):
            annotation = hints[name]
            if annotation is not bool:
                takes_none = {type(None), "none"} & {*typing.get_args(annotation)}
                results[name] = wrong(annotation) + ([] if takes_none else ["none"])
        if experiments.find(experiment).steps:
            results["step"] = ["turbo", ""]
        if experiments.find(experiment).scales:
            results["scale"] = ["cluster", ""]
        for name, values in results.items():
            yield experiment, name, values


@pytest.mark.parametrize(("experiment", "name", "values"), list(table()))
def test_a_wrong_value_is_refused_by_the_name_of_its_flag(
    experiment, name, values, tmp_path, monkeypatch, refused
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    monkeypatch.chdir(tmp_path)
    flag = cli_args(name, 0)[0]
    norm = ["--norm", "batch"] if experiment in ("mnist", "noise", "weights") else []
    for value in values:
        given = value.split() or [value]
        text = refused(["replay", experiment, *norm, flag, *given])
        assert flag in text
        assert len(text) < 10_000 if len(value) > 1000 else len(text) < 400
        assert re.search(r"must|must differ|expected|at most|was asked for|invalid choice", text)
        assert re.search(r"got |invalid choice: |PyTorch sees", text), text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sequence --norm none --gain 0.1", "--gain must be omitted where norm is none"),
        ("sequence --norm none --form draw", "--form must be omitted where norm is none"),
        ("sequence --cell gru --norm layer --form draw", "--form must be one of paper for gru"),
        (
            "mnist --norm batch --batch-size 1",
            "--batch-size must be at least 2 where norm is batch",
        ),
        ("mnist --norm layer layer", "--norm must differ, got 'layer' twice; give it once"),
        ("mnist --learning-rate 1e-3 0.001", "--learning-rate must differ, got 0.001 twice"),
        ("sequence --gain 1 1.0", "--gain must differ, got 1.0 twice; give it once"),
        ("weights --scale 2 2", "--scale must differ, got 2 twice; give it once"),
        ("transformer --norm rms --ablate", "--ablate must be omitted where norm is not layer"),
        ("transformer --width 6", "--heads must be a divisor of width 6, got 4"),
        ("mnist --device cuda", "--device 'cuda' was asked for, but PyTorch sees no GPU"),
        ("mnist --epochs", "argument --epochs: expected one argument; see python -m lnlab replay"),
        ("weights --step plain", "unrecognized arguments: --step plain; see python -m lnlab"),
        (
            "mnist --nonsense 3",
            "unrecognized arguments: --nonsense 3; see python -m lnlab replay",
        ),
        ("mnist --momentm 3", "--momentm 3 (did you mean --momentum?); see python -m lnlab rep"),
        ("mnist --learning_rates=3", "learning_rates=3 (did you mean --learning-rate?); see"),
        ("pong", "invalid choice: 'pong' (choose from"),
        ("", "the following arguments are required: experiment"),
    ],
)
def test_what_does_not_fit_together_is_refused(command, message, monkeypatch, tmp_path, refused):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    monkeypatch.chdir(tmp_path)
    assert message in refused(["replay", *command.split()])
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
        ("order_embeddings --norm none --eps 1e-3", ["--eps"]),
        ("attentive_reader --norm none --eps 1e-3 --momentum 0.2", ["--eps", "--momentum"]),
        ("attentive_reader --norm none batch --eps 1e-3 --momentum 0.2", []),
        ("transformer --norm tanh --eps 1e-3", ["--eps"]),
        ("transformer --norm tanh --qk-norm rms --eps 1e-3", []),
        ("transformer --norm none --place post --no-last-norm", ["--place", "--last-norm"]),
        ("transformer --place post --no-last-norm", ["--last-norm"]),
        ("transformer --place post pre --no-last-norm", []),
    ],
)
def test_a_setting_that_changes_none_of_the_runs_is_told(command, idle):
    assert (
        invocation(["replay", *command.split(), "--epochs", "1", "--seeds", "0"]).unused_flags
        == idle
    )


def test_what_is_told_does_not_stop_the_run(tmp_path, capsys, short):
    assert main(short("mnist", tmp_path, "--norm", "layer", "--momentum", "0.2")) == 0
    text = capsys.readouterr().err
    assert text.startswith("lnlab replay: --momentum has no effect on these runs\n")
    assert len(list(tmp_path.glob("*/*.json"))) == 1


@pytest.mark.parametrize("experiment", sorted(SHORT.keys() - {"transformer"}))
def test_a_batch_larger_than_the_data_is_refused_before_other_runs_train(
    experiment, tmp_path, capsys, short
):
    sizes = ["400", "5000"] if experiment == "mnist" else ["5000"]
    assert main([*short(experiment, tmp_path), "--batch-size", *sizes]) == 1
    text = capsys.readouterr().err
    available = (r"training (cases, digits gives 1437|images, coco_val2017_layout gives 43|"
             r"questions, bible_cloze gives 43); choose a")  # fmt: skip
    assert re.search(rf"--batch-size 5000 needs as many {available}", text)
    assert list(tmp_path.glob("*/*.json")) == []


def test_a_window_longer_than_the_text_is_refused(tmp_path, capsys, short):
    assert main(short("transformer", tmp_path, "--length", "9000000")) == 1
    text = capsys.readouterr().err
    assert "lnlab replay: --length 9000000 needs a text with more characters" in text


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
    return tmp_path / "out", "it is not a folder"


KINDS = ["a file", "below a file", "a link to nothing", "no folder of checkpoints",
         "a name too long", "not allowed"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_trained(
    kind, tmp_path, monkeypatch, short, refused
):
    if kind == "not allowed" and not Path("/proc/self").exists():
        pytest.skip("needs Linux")
    out, why = impossible(kind, tmp_path)
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    text = refused(short("mnist", out))
    assert re.search(rf"--out must be a folder where \S+ can be written, got .*\(({why})\)", text)
    assert "choose another" in text
    assert list(tmp_path.rglob("*.part")) == []


def test_a_record_whose_name_is_too_long_is_refused_before_it_is_trained(
    tmp_path, monkeypatch, short, refused
):
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    deep = ["--hidden", *["1000"] * 60]
    text = refused(short("mnist", tmp_path, *deep))
    assert "File name too long" in text


def test_recorded_runs_are_found_in_a_folder_that_cannot_be_written(
    tmp_path, monkeypatch, capsys, short
):
    command = short("mnist", tmp_path)
    assert main(command) == 0
    monkeypatch.setattr(records, "check_writable", lambda path: pytest.fail("nothing is written"))
    assert main(command) == 0
    assert "1 of 1 runs are recorded already" in capsys.readouterr().out


# A damaged record.


def test_a_damaged_record_keeps_its_own_run_alone_waiting(tmp_path, capsys, short):
    both = [*short("weights", tmp_path), "--seeds", "0", "1"]
    assert main(both) == 0
    first, second = sorted(tmp_path.glob("*/*.json"))
    first.write_text('{"format": 1, "exp')
    second.unlink()
    capsys.readouterr()
    assert main(both) == 1
    text = capsys.readouterr().err
    assert second.exists()
    assert first.read_text() == '{"format": 1, "exp'
    last = text.splitlines()[-1]
    assert last.startswith(f"lnlab replay: {first}: not a JSON file that can be read")
    assert last.endswith("record the run again with --again, or delete the file")
    # Said before the other run begins, too.
    assert text.index(str(first)) < text.index("seed 1")
    assert main([*both, "--again"]) == 0
    assert records.read(first)["seed"] == 0


def test_a_record_of_another_seed_is_no_record_of_the_run(tmp_path, capsys, short):
    assert main(short("weights", tmp_path)) == 0
    (path,) = tmp_path.glob("*/*.json")
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 7'))
    assert main(short("weights", tmp_path)) == 1
    assert "recorded with other settings ({'seed': '7, requested 0'})" in capsys.readouterr().err


def test_a_measured_value_that_is_not_finite_leaves_no_record(tmp_path, capsys, short):
    # One update of this size: the loss before it was finite, what is measured after it is not.
    command = short("weights", tmp_path, "--norm", "none", "--learning-rate", "1e30")
    assert main([*command, "--batch-size", "1437"]) == 1
    text = capsys.readouterr().err.splitlines()[-2]
    assert re.search(
        r"seed0: after 1 epochs .*train_nll is (inf|nan).*a smaller learning rate", text
    )
    assert list(tmp_path.glob("*/*.json")) == []


def test_a_run_that_diverges_keeps_no_other_waiting_and_is_named_at_once_and_at_the_end(
    tmp_path, capsys, short
):
    typed = ["--norm", "none", "--learning-rate", "1e30", "1e-3", "--seeds", "0", "1"]
    for times in ("first", "repeated"):
        assert main([*short("mnist", tmp_path), *typed]) == 1
        text = capsys.readouterr()
        assert ("4 runs on CPU" if times == "first" else "2 runs on CPU") in text.out
        messages = text.err[text.err.index("lnlab replay: ") :].splitlines()
        assert re.match(r"lnlab replay: 2 of \d runs have no record yet:", messages[0])
        for seed, line in enumerate(messages[1:3]):
            assert re.match(rf"  mnist-\S*1e\+30\S*-seed{seed}: .*; a smaller learning rate", line)
        assert messages[3:] == ["The same command tries them again, from their checkpoints."]
        recorded = {path.stem for path in tmp_path.glob("*/*.json")}
        assert len(recorded) == 2
        assert "-seed0 has failed: " in text.err[: text.err.index("seed 1:")], "at once"
        assert not any("1e+30" in name for name in recorded)


def test_a_setting_that_fails_a_run_is_named_as_it_is_typed(monkeypatch, capsys):
    why = "1 of 2 runs have no record yet:\n  mnist-seed0: Run: keep_all 3 is too much\nAgain."

    def fails(*_, **__):
        raise RuntimeError(why)

    monkeypatch.setattr(runner, "record_runs", fails)
    assert main(["replay", "weights", "--device", "cpu"]) == 1
    assert "\n  mnist-seed0: --keep-all 3 is too much\n" in capsys.readouterr().err


def test_the_time_left_is_that_of_as_many_epochs(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (path,) = records.folder().glob("weights/weights-layer-sgd-x1-seed0.json")
    monkeypatch.setattr(records, "folder", lambda: tmp_path)
    record = json.loads(path.read_text())
    assert record["settings"]["epochs"] == 20
    record["provenance"]["wall_s"] = 100.0
    (tmp_path / path.name).write_text(json.dumps(record))
    runs = [(weights.Settings(epochs=epochs), 5, path) for epochs in (10, 60)]
    # 20 epochs took 100 s, so 10 take 50 s and 60 take 300 s.
    assert "they take 0:05:50 (h:mm:ss)" in runner._cpu_estimate(weights.EXPERIMENT, runs)
    (tmp_path / path.name).write_text("{")
    assert "the bar says within a minute" in runner._cpu_estimate(weights.EXPERIMENT, runs)


# Python callers.


@pytest.mark.parametrize(
    ("settings", "seeds", "message"),
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
def test_runs_that_cannot_be_asked_for_together_are_refused(settings, seeds, message, tmp_path):
    chosen = [weights.Settings(**s) for s in settings]
    with pytest.raises(ValueError, match=message):
        record_runs(weights.EXPERIMENT, chosen, seeds, out=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []
