"""The plan of what is still to be recorded: what counts as recorded, and what comes first."""

import json
import os
import shutil
import signal

import joblib
import pytest

from lnlab import experiments, records, runner
from lnlab.experiment import Grid
from tools import plan


@pytest.fixture
def planned(monkeypatch):
    """One planned grid, of runs that the book happens to have."""
    weights = experiments.find("weights")
    book = weights.grids[0]
    monkeypatch.setattr(plan, "PRIORITY", ("weights",))
    monkeypatch.setattr(experiments, "names", lambda: ("weights",))
    object.__setattr__(weights, "planned", (Grid(book.seeds[:1], book.overrides),))
    yield list(plan.planned())
    object.__setattr__(weights, "planned", ())


def test_runs_are_missing_until_a_complete_record_exists(planned, tmp_path):
    (of,) = planned
    assert of.missing([records.folder()]) == []
    runs = of.missing([tmp_path])
    assert len(runs) == len(of.settings)
    stem = of.experiment.stem(*runs[0])
    (tmp_path / "weights").mkdir()
    for path in (records.folder() / "weights").glob(f"{stem}.*"):
        shutil.copy(path, tmp_path / "weights")
    assert of.missing([tmp_path]) == runs[1:]
    path = tmp_path / "weights" / f"{stem}.json"
    whole = path.read_text()
    for other in ({"epochs": 999}, {"learning_rate": 0.123}):
        record = json.loads(whole)
        path.write_text(json.dumps(record | {"settings": record["settings"] | other}))
        assert of.missing([tmp_path]) == runs
    path.write_text(whole[:-5])
    assert of.missing([tmp_path]) == runs


def test_missing_runs_are_recorded_seed_by_seed(planned, monkeypatch, tmp_path):
    calls = []

    def note(experiment, settings, seeds, *, out, device):
        calls.append((experiment.name, settings, seeds, out, device))

    monkeypatch.setattr(runner, "record_runs", note)
    weights = planned[0].experiment
    book = planned[0].grid
    object.__setattr__(
        weights, "planned", (Grid((0,), book.overrides), Grid((70, 80), book.overrides))
    )
    plan.main(["--record", "--out", str(tmp_path)])
    assert calls == [
        ("weights", [one], [seed], tmp_path, "cpu")
        for seed in (70, 80)  # 0 is there
        for one in planned[0].settings
    ]


def test_failed_runs_are_reported_and_do_not_stop_others(planned, monkeypatch, tmp_path):
    done = []

    def fail_first(experiment, settings, seeds, **_):
        if settings == planned[0].settings[:1]:
            raise RuntimeError("the first run diverged")
        done.append(settings)

    monkeypatch.setattr(runner, "record_runs", fail_first)
    weights = planned[0].experiment
    object.__setattr__(weights, "planned", (Grid((70,), planned[0].grid.overrides),))
    failed = pytest.raises(SystemExit, match="the first run diverged")
    with joblib.parallel_config("threading"), failed:
        plan.main(["--record", "--out", str(tmp_path), "--jobs", "2"])
    assert len(done) == len(planned[0].settings) - 1


def test_signals_stop_the_recording_like_ctrl_c(planned, monkeypatch, tmp_path):
    def stop(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the run went on")

    monkeypatch.setattr(runner, "record_runs", stop)
    weights = planned[0].experiment
    object.__setattr__(weights, "planned", (Grid((70,), planned[0].grid.overrides),))
    with pytest.raises(SystemExit, match="Stopped by SIGTERM"):
        plan.main(["--record", "--out", str(tmp_path)])
