"""Runs in several processes of this machine, and on a Dask cluster that loses a worker."""

import contextlib
import os
import re
import signal
import threading
import time

import pytest
import torch

from lnlab import checkpoint, parallel, records
from lnlab.cli import main
from lnlab.experiments.mnist import run as mnist
from lnlab.runner import record_runs
from tests.cases.points import read_without_time

NORMS = ("layer", "batch", "none")
CHOSEN = {"data": "digits", "batch_size": 16}
PATIENCE = 240  # seconds; a limit against hanging


def record(out, *, norms=NORMS, epochs=2, **options):
    chosen = [mnist.Settings(norm=norm, epochs=epochs, **CHOSEN) for norm in norms]
    options = {"device": "cpu", "step": "plain"} | options
    return record_runs(mnist.EXPERIMENT, chosen, [0], out=out, **options)


def by_name(paths):
    return {path.name: read_without_time(path) for path in paths}


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_two_processes_record_the_same_as_one_and_report_failures(tmp_path, capfd):
    alone = record(tmp_path / "alone")
    chosen = [mnist.Settings(norm=norm, epochs=2, **CHOSEN) for norm in NORMS]
    chosen.append(mnist.Settings(norm="none", epochs=2, learning_rate=1e30, **CHOSEN))  # diverges
    options = {"out": tmp_path, "device": "cpu", "step": "plain"}
    with pytest.raises(RuntimeError) as failed:
        record_runs(mnist.EXPERIMENT, chosen, [0], jobs=2, **options)
    together = list(tmp_path.glob("mnist/*.json"))
    assert by_name(together) == by_name(alone)
    assert re.search(r"1 of 4 runs have no record yet:\n  mnist-\S*1e\+30\S*: ", str(failed.value))
    text, bar = capfd.readouterr()
    assert "4 runs on CPU" in text
    assert ", 2 at a time; " in text
    assert "100%" in bar
    assert [path.suffix for path in tmp_path.glob("mnist/.checkpoints/*")] in ([], [".pt"])


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers, each a process of this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as local:
        yield local


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # from Dask, when a worker is killed
def test_another_worker_continues_the_run_of_one_that_is_killed(tmp_path, cluster):
    epochs = 60
    alone = by_name(record(tmp_path / "alone", norms=("layer",), epochs=epochs))
    out = tmp_path / "cluster"
    dask = {"engine": "dask", "scheduler": cluster.scheduler_address}
    recording = threading.Thread(
        target=record, args=(out,), kwargs={"norms": ("layer",), "epochs": epochs, **dask}
    )
    recording.start()
    deadline = time.monotonic() + PATIENCE
    state = owner = None
    while not (state and owner):
        assert time.monotonic() < deadline
        time.sleep(0.02)
        for saved in out.glob("mnist/.checkpoints/*.pt"):
            with contextlib.suppress(FileNotFoundError):  # it has just begun or ended
                owner = re.search(r"process (\d+)", saved.with_suffix(".owner").read_text())
                os.kill(int(owner[1]), signal.SIGKILL)
                state = checkpoint.read(saved)
    recording.join(PATIENCE)
    assert not recording.is_alive()
    (path,) = out.glob("mnist/*.json")
    assert by_name([path]) == alone
    times = [point["wall_s"] for point in state["points"]]  # unique to this run
    assert 1 < len(times) < epochs
    assert records.read(path)["curves"]["wall_s"][: len(times)] == pytest.approx(times, rel=1e-4)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--engine", "dask"], "--engine dask needs --scheduler, the address that"),
        (["--scheduler", "tcp://127.0.0.1:1"], "add --engine dask"),
        (["--engine", "dask", "--scheduler", "nowhere"], "must be the address of a running Dask"),
    ],
)
def test_unreachable_clusters_raise_an_error_before_training(
    tmp_path, capsys, monkeypatch, flags, says
):
    pytest.importorskip("distributed")
    monkeypatch.setattr(parallel, "CONNECT_S", 1)
    weights = ["replay", "weights", "--norm", "layer", "--seeds", "0", "--epochs", "1"]
    assert main([*weights, "--out", str(tmp_path), *flags]) == 1
    assert says in capsys.readouterr().err


def test_each_process_uses_its_own_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    process = type("Process", (), {"name": "MainProcess"})
    monkeypatch.setattr(parallel.multiprocessing, "current_process", lambda: process)
    cuda = torch.device("cuda")
    assert parallel.device_of_process(cuda) == cuda
    for number, gpu in ((1, 0), (2, 1), (3, 0)):
        process.name = f"LokyProcess-{number}"
        assert parallel.device_of_process(cuda) == torch.device("cuda", gpu)
        assert parallel.device_of_process(torch.device("cuda", 1)) == torch.device("cuda", 1)
        assert parallel.device_of_process(torch.device("cpu")) == torch.device("cpu")
