"""The other commands, Ctrl-C, and help."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pooch
import pytest

from lnlab import claims, experiments, runner
from lnlab.cli import EXTRA, main
from lnlab.config import cli_args
from lnlab.datasets import Dataset
from lnlab.datasets import mnist as mnist_data
from lnlib import _install

EXPERIMENTS = experiments.names()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["data", "digits", "--folder", "x"], "the folder of a download, and digits is not"),
        (["data", "mnist", "--folder", ""], "--folder must be a folder, got '' (an empty name"),
        (["data", "mnist", "--folder", "FILE"], "(it is not a folder); choose another"),
        (["data", "letters"], "argument name: invalid choice: 'letters' (choose from"),
        (["bench", "norm"], "unrecognized arguments: norm"),
        ([], "the following arguments are required: command; see python -m lnlab --help"),
    ],
)
def test_other_commands_reject_invalid_arguments(command, message, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mnist_data, "load", lambda folder: pytest.fail("MNIST was requested"))
    Path("FILE").write_text("mine")
    assert message in refused(command)
    assert Path("FILE").read_text() == "mine"


@pytest.mark.parametrize("folder", [None, "new/below", "there"])
def test_data_prints_the_location_of_data_sets(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    x = np.zeros((3, 2), np.float32)
    made = Dataset("mnist", x, np.zeros(3, np.int64), x[:1], np.zeros(1, np.int64), "5" * 64)
    asked_for = []
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    (tmp_path / "lnlib" / "mnist").mkdir(parents=True)
    monkeypatch.setattr(mnist_data, "load", lambda f: asked_for.append(f) or made)
    assert main(["data", "mnist", *(["--folder", folder] if folder else [])]) == 0
    assert asked_for == [folder]
    assert capsys.readouterr().out == (
        f"mnist is in {tmp_path / (folder or 'lnlib/mnist')}\n"
        f"mnist: 3 training and 1 test cases of 2 features, SHA-256 {'5' * 64}\n"
    )
    assert folder is None or Path(folder).is_dir()


@pytest.mark.parametrize("experiment", ["draw", "weights"])
def test_tables_end_with_the_claims_about_their_records(experiment, capsys):
    assert main(["table", experiment]) == 0
    printed, weighed = capsys.readouterr().out, claims.evaluate(None, claims.about(experiment))
    assert {one.claim.experiments for one in weighed} == {(experiment,)}
    assert printed.rstrip().endswith(claims.text(weighed))


@pytest.mark.parametrize(
    ("missing", "command"), [("torch", ["replay", "weights"]), ("pooch", ["data", "mnist"])]
)
def test_missing_packages_give_an_install_command(missing, command, monkeypatch, refused):
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    cure = f"install it with: {_install.command('lnlab')}"
    assert refused(command) == f"lnlab {command[0]}: {missing} is not installed; {cure}\n"


def test_the_checked_packages_are_the_dependencies_of_lnlab():
    root = Path(__file__).parents[3]
    lnlib, lnlab = (tomllib.loads((folder / "pyproject.toml").read_text())["project"]
                    for folder in (root, root / "lnlab"))  # fmt: skip
    listed = {*lnlab["dependencies"], *lnlib["optional-dependencies"]["nn"]} - {"lnlib[nn]"}
    names = {re.match(r"[\w-]+", needed)[0] for needed in listed}
    assert sorted(EXTRA) == sorted({"scikit-learn": "sklearn"}.get(n, n) for n in names)


# Ctrl-C and the signals of schedulers, alone and as a rank of several.

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU]
SIGNALS += [signal.SIGHUP]


@pytest.fixture
def handlers():
    """All signals with default handlers, which are restored afterwards."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signals_end_a_command_with_their_status(handlers, number, monkeypatch, capsys):
    monkeypatch.setattr(runner, "record_runs", lambda *_, **__: os.kill(os.getpid(), number))
    before = handlers()
    assert main(["replay", "weights", "--device", "cpu"]) == 128 + number
    text = capsys.readouterr()
    assert text.out == ""
    assert "Checkpoints are kept: run the same command to resume" in text.err
    if number != signal.SIGINT:
        assert f"Stopped by {number.name}." in text.err
    assert handlers() == before


def test_torchrun_is_rejected(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["replay", "weights", "--device", "cpu"]) == 1
    assert "without torchrun; --jobs N" in capsys.readouterr().err


def test_help_needs_no_torch():
    replays = (["replay", name] for name in [*EXPERIMENTS, "book"])
    commands = [[], ["table"], ["data"], ["bench"], ["replay"], *replays]
    code = "import sys; from lnlab.cli import main\n"
    code += f"for words in {commands}:\n  try: main([*words, '--help'])\n"
    code += "  except SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: python -m lnlab") == len(commands)
    heavy = {"torch", "sklearn", "scipy", "jsonschema", "tqdm", "plotly", "pooch", "requests"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_help_of_an_experiment_lists_every_setting(experiment, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["replay", experiment, "--help"])
    text = capsys.readouterr().out
    for field in dataclasses.fields(experiments.find(experiment).settings):
        flag = cli_args(field.name, True)[0]
        assert re.search(rf"^  {flag}\b.*(\n {{24}}|  )\S", text, re.M), flag
    assert not re.search(r"\(default:\s+(None)?\)", text)
    seeds = re.search(r"one run per seed\s+\(default:\s+([^)]+)\)", text)[1]
    cpu = f"0 to {experiments.find(experiment).defaults['seeds'] - 1}"
    both = f"0 to 9 on a GPU, {cpu} on a CPU"
    assert " ".join(seeds.split()) == (both if experiment == "mnist" else cpu)
