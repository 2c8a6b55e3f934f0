"""An experiment that is no classification, added by its own file alone, from typing to records."""

import datetime
import hashlib
import itertools
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import lnlib
from lnlab import checkpoint, experiments, records, training
from lnlab.cli import invocation, main
from lnlab.training import train

TOYS = Path(__file__).parent / "toys"
NON_DEFAULT = ["--start", "drawn", "--learning-rate", "0.03", "--decay", "0.2", "--no-mirrored"]
NON_DEFAULT += ["--pairs-per-update", "5", "--first-epoch-points", "3", "--data", "far"]
# As `python -m lnlab`, where the toy's file lies among the experiments.
RUNNER = f"""
import sys
from lnlab import experiments
experiments.__path__.append({str(TOYS)!r})
from lnlab.cli import main
"""


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy, found where its file lies."""
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(TOYS)])
    before = torch.get_num_threads()
    yield experiments.find("retrieval")
    sys.modules.pop("lnlab.experiments.retrieval", None)
    vars(experiments).pop("retrieval", None)
    torch.set_num_threads(before)


def by_hand(epochs, seed, *, momentum, data, rate=0.03, decay=0.2, size=5):
    """The toy's run with ODD settings in NumPy: its curves, and the map at each point."""
    generator = torch.Generator().manual_seed(seed)
    W = torch.empty(2, 3, dtype=torch.float64).normal_(generator=generator).numpy().copy()
    v, x, y, result = 0.0, data.notes, data.pictures, []

    def point(epoch, losses):
        d = np.linalg.norm((x @ W.T)[:, None] - y[None], axis=2)
        ranks = [1 + sum(d[i] < d[i, i]) for i in range(len(x))]
        result.append({
            "epoch": epoch, "squared_error": np.mean(losses) if losses else np.nan,
            "recall_1": np.mean([r == 1 for r in ranks]),
            "recall_5": np.mean([r <= 5 for r in ranks]),
            "mean_rank": np.mean(ranks), "map": W.copy(),
        })  # fmt: skip

    point(0.0, [])
    updates, losses = len(x) // size, []
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(x))
        for k in range(updates):
            batch = order[k * size : (k + 1) * size]
            error = x[batch] @ W.T - y[batch]
            losses.append((error**2).sum(1).mean())
            g = 2 * error.T @ x[batch] / size + decay * W
            v = momentum * v + g if epoch + k else g
            W -= rate * v
            if (epoch == 0 and k in (0, 1, 3)) or k == updates - 1:
                point(epoch + (k + 1) / updates, losses)
                losses = []
    return result


def run(out, *more, seeds="1"):
    command = ["replay", "retrieval", *NON_DEFAULT, "--momentum", "0.5", "--epochs", "3", "--seeds"]
    return main([*command, *seeds.split(), "--threads", "1", "--out", str(out), *more])


def the_record(out):
    (path,) = out.glob("retrieval/*.json")
    return path


def without_time(path):
    record = records.read(path)
    del record["curves"]["wall_s"], record["provenance"]
    record["arrays"] = {k: (v.dtype.name, v.tolist()) for k, v in record["arrays"].items()}
    return record


def test_it_is_run_recorded_and_read_as_it_describes_itself(tmp_path, capsys, toy):
    assert run(tmp_path) == 0
    text = capsys.readouterr()
    assert "1 run on CPU" in text.out
    assert "mean rank" in text.err
    assert "places" in text.err
    assert "drawn, momentum 0.5, seed 1" in text.err
    path = the_record(tmp_path)
    assert path.name == (
        "retrieval-far-drawn-m0.5-learning-rate-0.03-decay-0.2-mirrored-False-"
        "pairs-per-update-5-first-epoch-points-3-seed1.json"
    )
    (record,) = records.read_all("retrieval", tmp_path, momentum=0.5)
    assert records.read_all("retrieval", tmp_path, momentum=0.0) == []
    chosen = toy.settings(**record["settings"])
    data = toy.load(chosen)
    expected = by_hand(3, 1, momentum=0.5, data=data)
    for name in expected[0].keys() - {"map"}:
        result = np.array(record["curves"][name], float)
        np.testing.assert_allclose(result, [p[name] for p in expected], rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(record["arrays"]["map"], [p["map"] for p in expected], rtol=1e-5)
    assert record["arrays"]["map"].dtype == np.float32
    assert set(record["curves"]["best_at_recall"]) == {None}
    digest = hashlib.sha256(data.notes.tobytes() + data.pictures.tobytes()).hexdigest()
    cases = {"notes": 24, "pictures": 24}
    assert record["data"] == {"name": "far", "sha256": digest, "cases": cases}
    assert record["units"] == {
        "epoch": "epochs", "squared_error": "m^2", "wall_s": "s", "recall_1": "fraction",
        "recall_5": "fraction", "mean_rank": "places", "best_at_recall": "epochs", "map": "m",
    }  # fmt: skip
    assert record["paper"] == {"section": "none", "task": "a test's"}
    assert not list(tmp_path.glob("**/*.pt"))


def test_the_record_says_when_and_on_what_it_was_made_and_how_long_that_took(
    tmp_path, toy, monkeypatch
):
    """Every look at the clock takes 100 s, so that no two points have one time."""
    clock = itertools.count(0, 100)
    monkeypatch.setattr(training.time, "perf_counter", lambda: float(next(clock)))
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    assert run(tmp_path) == 0
    record = records.read(the_record(tmp_path))
    seconds, made = record["curves"]["wall_s"], record["provenance"]
    assert len(set(seconds)) == len(seconds) == len(record["curves"]["epoch"])
    assert made["wall_s"] == seconds[-1] == max(seconds)
    assert (
        before
        <= datetime.datetime.fromisoformat(made["date"])
        <= datetime.datetime.now(datetime.UTC)
    )
    now = {
        "lnlib": lnlib.__version__, "python": platform.python_version(), "threads": 1,
        "torch": torch.__version__, "numpy": np.__version__,
    }  # fmt: skip
    assert {name: made[name] for name in now} == now
    assert made["device"].startswith("CPU: ")
    assert (record["format"], record["experiment"], record["seed"]) == (2, "retrieval", 1)
    assert record["curves"]["x"] == "epoch"
    assert "segments" not in made


def test_its_recorded_command_makes_the_record_again(tmp_path):
    assert run(tmp_path) == 0
    path = the_record(tmp_path)
    first = without_time(path)
    command = shlex.split(records.read(path)["provenance"]["command"])
    for file in (path, path.with_suffix(".npz")):
        file.unlink()
    assert main(command[3:]) == 0
    assert without_time(path) == first


def test_what_is_not_given_is_as_it_says(toy):
    result = invocation(["replay", "retrieval"])
    assert [(s.momentum, s.epochs, s.data) for s in result.settings] == [
        (0.0, 2, "near"), (0.5, 2, "near"),
    ]  # fmt: skip
    assert list(result.seeds) == [0, 1]
    assert "step" not in result.options
    assert [(len(runs), list(seeds)) for runs, seeds in toy.book()] == [(1, [0, 1])]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--start ones", "--start must be one of zeros, drawn, got 'ones'"),
        ("--momentum 0.5 1.5", "--momentum must be a number from 0 to 1, got 1.5"),
        ("--momentum 0.5 0.50", "--momentum must differ, got 0.5 twice"),
        ("--decay 0", "--decay must be a positive number, or none, got 0"),
        ("--pairs-per-update 2.5", "--pairs-per-update must be a whole number from 1 to"),
        ("--pairs-per-update 25", "--pairs-per-update must be at most 24, got 25; choose fewer"),
        ("--step plain", "unrecognized arguments: --step plain"),
        ("--mirrored 1", "unrecognized arguments: 1"),
    ],
)
def test_what_cannot_be_is_refused_by_the_type_of_the_setting(typed, message, tmp_path, capsys):
    try:
        status = main(["replay", "retrieval", *typed.split(), "--out", str(tmp_path)])
    except SystemExit as end:
        status = end.code
    assert status in (1, 2)
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*.json"))


def test_killed_at_any_epoch_it_goes_on_to_the_same_record(tmp_path, toy, monkeypatch):
    assert run(tmp_path / "whole") == 0
    whole = without_time(the_record(tmp_path / "whole"))
    save, saved = checkpoint.save, []

    def killed(*args):
        save(*args)
        saved.append(args[0].name)
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    for epoch in (1, 2, 3):
        assert run(tmp_path / "broken") == 130
        assert len(saved) == epoch
    # All is trained and nothing recorded: the points and arrays come from the checkpoint.
    assert run(tmp_path / "broken") == 0
    assert len(saved) == 3
    assert without_time(the_record(tmp_path / "broken")) == whole
    assert not list(tmp_path.glob("broken/**/*.pt"))


@pytest.mark.slow
def test_a_process_that_is_killed_loses_no_epoch(tmp_path):
    script = tmp_path / "runner.py"
    # Each epoch takes a moment longer, so that the signal comes before the end.
    script.write_text(
        "import time\nfrom lnlab import checkpoint\nsave = checkpoint.save\n"
        "def slow(*args):\n    save(*args)\n    time.sleep(1)\n"
        f"checkpoint.save = slow\n{RUNNER}\nraise SystemExit(main(sys.argv[1:]))\n"
    )
    typed = [*NON_DEFAULT, "--momentum", "0.5", "--epochs", "60", "--seeds", "1", "--threads", "1"]
    out = tmp_path / "out"
    command = [sys.executable, str(script), "replay", "retrieval", *typed, "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not list(out.glob("retrieval/.checkpoints/*.pt")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert not list(out.glob("retrieval/*.json"))
    long = ["replay", "retrieval", *typed]
    for where in (out, tmp_path / "whole"):
        assert main([*long, "--out", str(where)]) == 0
    assert without_time(the_record(out)) == without_time(the_record(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s["optimizer"][0].update(momentum_buffer=torch.zeros(3)), "'optimizer' does"),
        (lambda s: s["points"][1].update(map=torch.zeros(2)), "'points' does not fit"),
        (lambda s: s["points"][1].pop("squared_error"), "'points' does not fit"),
    ],
    ids=["momentum", "array", "loss"],
)
def test_a_checkpoint_of_another_form_is_refused(tmp_path, toy, change, says):
    chosen = toy.settings(momentum=0.5)
    file = tmp_path / "run.pt"
    list(train(toy.run_class(chosen, toy.load(chosen)), epochs=1, checkpoint=file))
    state = checkpoint.read(file)
    change(state)
    torch.save(state, tmp_path / "raw")
    file.write_bytes(checkpoint.with_checksum((tmp_path / "raw").read_bytes()))
    with pytest.raises(checkpoint.BadCheckpoint, match=says):
        checkpoint.load(file, toy.run_class(chosen, toy.load(chosen)), 9)


def test_what_it_does_not_speak_of_is_not_measured_in_silence(toy, monkeypatch):
    measure = toy.run_class.measure
    monkeypatch.setattr(toy.run_class, "measure", lambda self: measure(self) | {"luck": 1.0})
    chosen = toy.settings()
    with pytest.raises(TypeError, match=r"retrieval: what is measured must be among .* got luck"):
        next(train(toy.run_class(chosen, toy.load(chosen)), epochs=1))


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_an_array_that_is_not_finite_stops_the_run(toy, monkeypatch, value, tmp_path, capsys):
    measure = toy.run_class.measure

    def broken(self):
        result = measure(self)
        if self.model.weight.abs().sum() > 0:
            result["map"] = result["map"].clone()
            result["map"][1, 2] = value
        return result

    monkeypatch.setattr(toy.run_class, "measure", broken)
    assert main(["replay", "retrieval", "--seeds", "0", "--out", str(tmp_path)]) == 1
    assert f"map is {value}; a smaller learning rate" in capsys.readouterr().err
    assert not list(tmp_path.glob("*/*.json"))


def test_seeds_share_what_a_record_names(tmp_path):
    assert run(tmp_path, seeds="0 1") == 0
    result = records.read_all("retrieval", tmp_path)
    assert [r["seed"] for r in result] == [0, 1]
    assert not np.array_equal(*(r["arrays"]["map"][0] for r in result))
    assert result[0]["settings"] == result[1]["settings"]
    stored = [json.loads(p.read_text())["arrays"] for p in tmp_path.glob("retrieval/*.json")]
    assert all(t["map"]["shape"] == [6, 2, 3] for t in stored)
