"""Runs in several processes, of this machine or of a Dask cluster, by joblib.

::

    python -m lnlab replay mnist --jobs 2

    # on a cluster: one scheduler, and on each machine as many workers as runs at a time
    dask scheduler
    dask worker tcp://first-machine:8786 --nworkers 2 --nthreads 1
    python -m lnlab replay mnist --engine dask --scheduler tcp://first-machine:8786

A process takes the next run when it has finished one, trains it, and writes its record. ``--out``
must be a folder that all machines share. On a machine with several GPUs, each process of ``--jobs``
takes one of them; a worker of a cluster takes the first that it sees, so start each with its own
``CUDA_VISIBLE_DEVICES``. If a worker of a cluster is lost, another continues its run from the
checkpoint. If a process of ``--jobs`` is lost, the command ends, and continues when it is repeated.
"""

import contextlib
import multiprocessing
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import joblib
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError

Engine = Literal["loky", "dask"]
CONNECT_S = 10  # seconds to wait for a scheduler


def run_all(
    function: Callable[..., Any],
    calls: Sequence[tuple],
    *,
    jobs: int = 1,
    engine: Engine = "loky",
    scheduler: str | None = None,
) -> Iterator[Any]:
    """Call a function in other processes; yield each result as soon as it is there.

    Args:
        function: A function of a module, which every process can import.
        calls: The arguments of each call, in the order in which the calls begin.
        jobs: Number of processes on this machine.
        engine: ``loky`` for processes of this machine, ``dask`` for the workers of a cluster.
        scheduler: Address of the cluster's scheduler.

    Raises:
        RuntimeError: If a process was lost, for example because the machine ran out of memory.
        ValueError: If there is no cluster, or its workers run several tasks at a time.
    """
    parallel = {"return_as": "generator_unordered", "batch_size": 1, "pre_dispatch": "all"}
    with _dask(scheduler) if engine == "dask" else joblib.parallel_config("loky", n_jobs=jobs):
        results = joblib.Parallel(**parallel)(joblib.delayed(function)(*call) for call in calls)
        try:
            yield from results
        except TerminatedWorkerError as error:
            raise RuntimeError(
                "a process was lost, for example because the memory is full; the same command "
                "resumes from the checkpoints"
            ) from error


@contextlib.contextmanager
def _dask(scheduler: str | None) -> Iterator[None]:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ValueError(
            "--engine dask needs Dask; install it with: pip install distributed"
        ) from error
    if not scheduler:
        raise ValueError(
            "--engine dask needs --scheduler, the address that `dask scheduler` prints, such as "
            "tcp://first-machine:8786"
        )
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--scheduler must be the address of a running Dask scheduler, got {scheduler!r} "
            f"({error})"
        ) from error
    with client:
        several = [address for address, threads in client.nthreads().items() if threads > 1]
        if several:
            raise ValueError(
                f"the worker {several[0]} runs several tasks in one process, which would share "
                "random numbers; start workers with: dask worker ADDRESS --nthreads 1"
            )
        with joblib.parallel_config("dask", client=client):
            yield


def process_number() -> int | None:
    """Return the number, from 1, of a process that :func:`run_all` has started on this machine."""
    found = re.fullmatch(r"LokyProcess-(\d+)", multiprocessing.current_process().name)
    return int(found[1]) if found else None


def device_of_process(device: torch.device) -> torch.device:
    """Return the device on which this process trains: with several GPUs, one for each process.

    Args:
        device: The requested device. ``cuda`` without a number becomes one of the GPUs by the
            number of the process, if :func:`run_all` has started it on this machine.
    """
    number = process_number()
    if device.type == "cuda" and device.index is None and number:
        return torch.device("cuda", (number - 1) % torch.cuda.device_count())
    return device
