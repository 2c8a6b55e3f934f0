"""Invalid commands fail at once, in one sentence that names the flag; damaged records."""

import re

import pytest
import torch

from lnlab import datasets, records
from lnlab.cli import invocation, main
from lnlab.experiments import weight_growth as weights
from lnlab.runner import record_runs

WRONG_COUNT = ["0", "-1", "1.5", "nan", "inf", "many", "", "1e30", "9" * 5000, "none"]
WRONG_FROM_0 = ["-1", "-1e-30", "nan", "inf", "small", "", "none"]
WRONG = {  # a setting of each type, and the flags of every run
    "mnist --batch-size": WRONG_COUNT,
    "mnist --learning-rate": ["0", "-1", "nan", "inf", "-inf", "small", "", "1e999", "none"],
    "mnist --norm batch --eps": WRONG_FROM_0,
    "mnist --norm batch --momentum": [*WRONG_FROM_0, "2", "1.0000001"],
    "mnist --norm": ["LAYER", "nonsense", ""],
    "mnist --adam-betas": ["0.9", "0.9 1", "-0.1 0.9", "0.9 nan", "0.9 0.9 0.9", "a b", ""],
    "sequence --gain": ["nan", "inf", "-inf", "one", ""],
    "mnist --seeds": ["-1", "1.5", "nan", "", "9" * 30, "1" + "0" * 18, "²", "0 0", "00 0"],
    "mnist --device": ["nonsense", "", "cuda:-1", "cuda:x", "meta", "cpu:1", "cuda:99"],
    "mnist --threads": ["0", "-1", "1.5", "nan", "all", "", "1000000000"],
    "mnist --out": [""],
    "mnist --step": ["turbo", ""],
    "order_embeddings --scale": ["cluster", ""],
}


@pytest.mark.parametrize(("command", "values"), WRONG.items(), ids=WRONG)
def test_invalid_values_raise_an_error_that_names_the_flag(
    command, values, tmp_path, monkeypatch, refused
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    monkeypatch.chdir(tmp_path)
    for value in values:
        text = refused(["replay", *command.split(), *(value.split() or [value])])
        assert command.split()[-1] in text
        assert len(text) < 10_000 if len(value) > 1000 else len(text) < 400
        assert re.search(r"must|must differ|expected|at most|was requested|invalid choice", text)
        assert re.search(r"got |invalid choice: |PyTorch sees", text), text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sequence --norm none --gain 0.1", "--gain must be omitted where norm is none"),
        ("mnist --learning-rate 1e-3 0.001", "--learning-rate must differ, got 0.001 twice"),
        ("mnist --device cuda", "--device 'cuda' was requested, but PyTorch sees no GPU"),
        ("mnist --epochs", "argument --epochs: expected one argument; see python -m lnlab replay"),
        ("weights --step plain", "unrecognized arguments: --step plain; see python -m lnlab"),
        ("mnist --momentm 3", "--momentm 3 (did you mean --momentum?); see python -m lnlab rep"),
        ("", "the following arguments are required: experiment"),
    ],
)
def test_incompatible_flags_raise_an_error(command, message, monkeypatch, tmp_path, refused):
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
        ("noise --norm none --statistics-examples 9", ["--statistics-examples"]),
        ("weights --optimizer sgd --adam-eps 1e-3 --scale 2", ["--adam-eps"]),
        ("weights --adam-betas 0.5 0.9 --adam-eps 1e-3", []),
        ("sequence --norm none --eps 1e-3", ["--eps"]),
        ("attentive_reader --norm none --eps 1e-3 --momentum 0.2", ["--eps", "--momentum"]),
        ("transformer --norm tanh --eps 1e-3", ["--eps"]),
        ("transformer --norm tanh --qk-norm rms --eps 1e-3", []),
        ("transformer --norm none --place post --no-last-norm", ["--place", "--last-norm"]),
        ("transformer --place post --no-last-norm", ["--last-norm"]),
        ("transformer --place post pre --no-last-norm", []),
    ],
)
def test_settings_without_effect_are_reported(command, idle):
    read = invocation(["replay", *command.split(), "--epochs", "1", "--seeds", "0"])
    assert read.unused_flags == idle


def test_warnings_do_not_stop_the_run(tmp_path, capsys, short):
    assert main(short("mnist", tmp_path, "--norm", "layer", "--momentum", "0.2")) == 0
    text = capsys.readouterr().err
    assert text.startswith("lnlab replay: --momentum has no effect on these runs\n")


@pytest.mark.parametrize("place", ["out", "out/below", "link", "x" * 300])
def test_unwritable_folders_raise_an_error_before_training(
    place, tmp_path, monkeypatch, short, refused
):
    (tmp_path / "out").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "away")
    monkeypatch.setattr(datasets, "load", lambda name: pytest.fail("data were asked for"))
    text = refused(short("mnist", tmp_path / place))
    assert re.search(r"--out must be a folder where \S+ can be written, got .*; choose an", text)
    assert list(tmp_path.rglob("*.part")) == []


def test_damaged_records_do_not_stop_other_runs(tmp_path, capsys, short):
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
    # Also reported before the other run begins.
    assert text.index(str(first)) < text.index("seed 1")
    assert main([*both, "--again"]) == 0
    assert records.read(first)["seed"] == 0


def test_diverged_runs_are_reported_at_once_and_do_not_stop_others(tmp_path, capsys, short):
    typed = ["--norm", "none", "--learning-rate", "1e30", "1e-3", "--seeds", "0", "1"]
    for times in ("first", "repeated"):
        assert main([*short("mnist", tmp_path), *typed]) == 1
        text = capsys.readouterr()
        assert ("4 runs on CPU" if times == "first" else "2 runs on CPU") in text.out
        messages = text.err[text.err.index("lnlab replay: ") :].splitlines()
        assert re.match(r"lnlab replay: 2 of \d runs have no record yet:", messages[0])
        for seed, line in enumerate(messages[1:3]):
            assert re.match(
                rf"  mnist-\S*1e\+30\S*-seed{seed}: .*; try a smaller learning rate", line
            )
        assert messages[3:] == ["Run the same command to resume them from their checkpoints."]
        recorded = {path.stem for path in tmp_path.glob("*/*.json")}
        assert len(recorded) == 2
        assert "-seed0 has failed: " in text.err[: text.err.index("seed 1:")], "at once"
        assert not any("1e+30" in name for name in recorded)


@pytest.mark.parametrize(
    ("settings", "seeds", "message"),
    [
        ([{}], [0, "1"], "seeds must be whole numbers from 0 .* got '1'"),
        ([{}], [3, 3], "seeds must differ, got 3 twice"),
        ([{}, {}], [0], "settings must differ, got Settings"),
        ([{}, {"epochs": 3}], [0], "records must differ, got 'weights-layer-sgd-x1-seed0.json' tw"),
        ([{}, {"data": "mnist"}], [0], "settings must share one data set, got digits, mnist"),
    ],
)
def test_incompatible_runs_raise_an_error(settings, seeds, message, tmp_path):
    chosen = [weights.Settings(**s) for s in settings]
    with pytest.raises(ValueError, match=message):
        record_runs(weights.EXPERIMENT, chosen, seeds, out=tmp_path, device="cpu")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("replya mnist", "replay"),
        ("replay minst", "mnist"),
        ("replay Order-Embeddings", "order_embeddings"),
        ("replay mnist --norm layr", "layer"),
        ("replay sequence --cell GRU", "gru"),
    ],
)
def test_similar_words_are_suggested(typed, meant, refused):
    assert f"; did you mean '{meant}'?" in refused([*typed.split()])
