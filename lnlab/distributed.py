"""Distribute runs over processes, GPUs and machines; rank 0 writes all records.

::

    torchrun --nproc-per-node 2 -m lnlab replay mnist

    # on each of two machines
    machines="--nnodes 2 --rdzv-backend c10d --rdzv-endpoint first-machine:29400"
    torchrun $machines --nproc-per-node 8 -m lnlab replay mnist

Each rank repeatedly takes the longest run that is left, trains it and sends the record to rank 0,
which trains as well. A checkpoint is removed only when the record is on disk. When a rank is lost,
at most ten minutes or one epoch of its training is lost: the next call resumes its run from the
checkpoint (``torchrun --max-restarts 3`` makes this call). Runs that fail are reported at the end,
after the others. A rank that can no longer reach rank 0, or whose ``torchrun`` has ended, ends
within seconds.

The assignment of runs to ranks is part of the launch only and is not stored. ``--out`` should be a
folder that all machines share. Otherwise all records are on the machine of rank 0, and an
interrupted run starts over if another machine takes it. Rank 0 downloads data before the other
ranks load them; on further machines, run ``python -m lnlab data mnist`` first.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from lnlab import messages, records
from lnlab.progress import Progress

HEARTBEAT_S = 1.0  # seconds between two heartbeats of a rank, and between two checks by rank 0
GRACE_S = 5.0  # seconds that a rank has to end after its launcher has ended
HEARTBEAT_TIMEOUT_S = 60.0  # seconds without a heartbeat after which a rank counts as lost
_RENDEZVOUS_TIMEOUT = timedelta(minutes=10)
_calls = itertools.count()

Run = tuple[Any, int, Path]  # settings, seed, the record's path
# Called with the number of new updates, or with resumed=True for updates before a resume.
Count = Callable[..., None]
Train = Callable[[Run, Count], Iterator[dict[str, Any]]]  # yields the record of the run


class SingleProcess:
    """Runner for a single process, which trains all runs and writes their records.

    Args:
        device: Device to train on.
    """

    rank, size, label = 0, 1, ""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __str__(self) -> str:
        """Return the name of the device."""
        return records.device_name(self.device)

    def agree(self, decide: Callable[[], list[int]], n: int) -> list[int]:
        """Return ``decide()``, a list of ``n`` integers."""
        return decide()

    def work(
        self, runs: list[Run], train: Train, on_written: Callable[[Path], None], bar: Progress
    ) -> None:
        """Train all runs in order; arguments and errors as for :meth:`DistributedRunner.work`."""
        failures = {}

        def count(updates: int, *, resumed: bool = False) -> None:
            (bar.skip if resumed else bar.update)(updates)

        for run in runs:
            *_, path = run
            for record, reason in _try_train(run, train, count):
                failures[path.stem] = reason
                if reason:
                    _report_failure(path.stem, reason)
                if record:
                    records.write(record, path)
                    on_written(path)
        _raise_failures(failures)


def join(device: torch.device) -> SingleProcess | DistributedRunner:
    """Return the runner for this process, one of several ranks or the only process.

    Args:
        device: The requested device. ``cuda`` without a number becomes that of ``LOCAL_RANK``.
    """
    variables = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun
    if not all(os.environ.get(name) for name in variables) or os.environ["WORLD_SIZE"] == "1":
        return SingleProcess(device)
    if "TORCHELASTIC_RUN_ID" in os.environ:  # other launchers may end before their ranks
        _exit_with_launcher(os.getppid())
    if device.type == "cuda" and device.index is None:
        local = int(os.environ.get("LOCAL_RANK", 0))
        device = torch.device("cuda", local % torch.cuda.device_count())
    store, rank, size = next(dist.rendezvous("env://", timeout=_RENDEZVOUS_TIMEOUT))
    return DistributedRunner(device, dist.PrefixStore(f"lnlib/{next(_calls)}", store), rank, size)


@functools.cache
def _exit_with_launcher(launcher: int) -> None:
    """End this process soon after its launcher has ended, even if the launcher was killed."""
    threading.Thread(target=_wait_for_launcher, args=(launcher,), daemon=True).start()


def _wait_for_launcher(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(HEARTBEAT_S)
    messages.stderr().write(
        f"\nrank {os.environ.get('RANK')}: the launcher is gone. Checkpoints are kept: the same "
        "command goes on from there.\n"
    )
    messages.stderr().flush()
    os.kill(os.getpid(), signal.SIGTERM)  # which the launcher would have sent
    time.sleep(GRACE_S)
    os._exit(1)


class DistributedRunner:
    """Runner for one of several ranks, which communicate through a ``torch.distributed`` store.

    Args:
        device: Device of this rank.
        store: A store for this call only. It has the number of runs that are taken, messages to
            rank 0, and a heartbeat of each other rank.
        rank: Rank of this process, from 0.
        size: Number of ranks.
        heartbeat_timeout: Seconds without a heartbeat after which rank 0 counts a rank as lost.
    """

    def __init__(
        self,
        device: torch.device,
        store: dist.Store,
        rank: int,
        size: int,
        *,
        heartbeat_timeout: float = HEARTBEAT_TIMEOUT_S,
    ) -> None:
        self.device, self.store, self.rank, self.size = device, store, rank, size
        self._heartbeat_timeout = heartbeat_timeout
        # On rank 0: the state of the other ranks, and why each run that ended has failed.
        self._peers = [_Peer(r) for r in range(1, size)] if rank == 0 else []
        self._last_check, self._failures = 0.0, {}
        # New and resumed updates of this rank; messages sent, and those rank 0 has not processed.
        self._updates, self._resumed, self._num_sent, self._unacknowledged = 0, 0, 0, {}
        self._connection_error: dist.DistError | None = None  # set when rank 0 cannot be reached
        self.label = f"rank {rank} of {size}: "
        if rank > 0:
            store.set(f"alive/{rank}", "0 0 0")

    def __str__(self) -> str:
        """Return the number of ranks and the device of this one."""
        return f"{self.size} ranks, rank {self.rank} on {records.device_name(self.device)}"

    def agree(self, decide: Callable[[], list[int]], n: int) -> list[int]:
        """Broadcast ``decide()``, ``n`` integers, from rank 0 to all ranks.

        This uses a process group (NCCL if each rank has its own GPU, else Gloo), which is destroyed
        afterwards, so that the loss of a rank does not stop the others.

        Raises:
            SystemExit: On the other ranks, if ``decide`` raises on rank 0.
        """
        own = ""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
            own = str(torch.cuda.get_device_properties(self.device).uuid)
        self.store.set(f"gpu/{self.rank}", own)
        gpus = [self.store.get(f"gpu/{rank}") for rank in range(self.size)]
        nccl = all(gpus) and len(set(gpus)) == self.size
        dist.init_process_group(
            "nccl" if nccl else "gloo",
            store=dist.PrefixStore("group", self.store),
            rank=self.rank,
            world_size=self.size,
        )
        values = [0] * (1 + n)  # the first is 1 if decide() did not raise
        try:
            if self.rank == 0:
                values = [1, *decide()]
        finally:
            tensor = torch.tensor(values, device=self.device if nccl else "cpu")
            dist.broadcast(tensor, 0)
            success, *decided = tensor.tolist()
            dist.destroy_process_group()
        if not success:
            raise SystemExit(1)
        return decided

    def work(
        self, runs: list[Run], train: Train, on_written: Callable[[Path], None], bar: Progress
    ) -> None:
        """Train runs until none is left; rank 0 also writes all records.

        Rank 0 returns when every run is recorded, another rank when its own runs are.

        Args:
            runs: All runs, the same on every rank.
            train: Trains a run and yields its record.
            on_written: Called with the path of each record of this rank once it is on disk.
            bar: Progress bar of the updates of all ranks, shown by rank 0.

        Raises:
            RuntimeError: On rank 0, at the end, if a run failed or a rank was lost; on another
                rank, if it can no longer reach rank 0.
        """
        self._paths = {path.stem: path for *_, path in runs}

        def communicate() -> None:
            self._last_check = time.monotonic()
            self._collect(bar)
            self._handle_acknowledgments(on_written)

        def count(updates: int, *, resumed: bool = False) -> None:
            if self._connection_error:  # checked here, because a run may take hours
                raise self._connection_error
            if resumed:
                self._resumed += updates
                bar.skip(updates)
            else:
                self._updates += updates
                bar.update(updates)
            if self.rank == 0 and time.monotonic() - self._last_check > HEARTBEAT_S:
                communicate()

        stopped = threading.Event()
        heartbeats = threading.Thread(target=self._send_heartbeats, args=(stopped,), daemon=True)
        heartbeats.start()
        try:
            while (number := self.store.add("taken", 1)) <= len(runs):
                *_, path = run = runs[number - 1]
                for record, reason in _try_train(run, train, count):
                    packed = record and records.pack(record)
                    content = {"run": path.stem, "record": packed, "failed": reason}
                    message = json.dumps(content, allow_nan=False)
                    if self.rank > 0:
                        self._send(path if record else None, message)
                    else:
                        self._handle_message(message)
                        if record:
                            on_written(path)
                communicate()
            shown = None
            while self._unacknowledged or (active := [p.rank for p in self._peers if p.is_active]):
                if self.rank == 0 and active != shown:
                    bar.set_description(f"waiting for rank {', '.join(map(str, active))}")
                    shown = active
                time.sleep(HEARTBEAT_S / 10)
                communicate()
            self.store.set(f"alive/{self.rank}", f"{self._updates} {self._resumed} left")
            self.store.set(f"left/{self.rank}", "")
        except dist.DistError as error:
            raise RuntimeError(
                f"rank {self.rank} can no longer reach rank 0, which writes the records; the same "
                f"command goes on from the checkpoints ({error})"
            ) from error
        finally:
            stopped.set()
            heartbeats.join(5 * HEARTBEAT_S)
        if self.rank == 0:
            lost = f"its rank was lost: no heartbeat for {self._heartbeat_timeout:.0f} s"
            _raise_failures({name: self._failures.get(name, lost) for name in self._paths})

    def _send_heartbeats(self, stopped: threading.Event) -> None:
        """Send heartbeats with the number of updates so far, in a thread."""
        for beat in itertools.count(1):
            try:
                self.store.set(f"alive/{self.rank}", f"{self._updates} {self._resumed} {beat}")
            except dist.DistError as error:
                self._connection_error = error
                return
            if stopped.wait(HEARTBEAT_S):
                return

    def _send(self, path: Path | None, message: str) -> None:
        key = f"message/{self.rank}/{self._num_sent}"
        self._num_sent += 1
        self._unacknowledged[key] = path
        self.store.set(key, message)

    def _handle_acknowledgments(self, on_written: Callable[[Path], None]) -> None:
        # Rank 0 deletes a message once the record is on disk.
        for key in [key for key in self._unacknowledged if not self.store.check([key])]:
            if path := self._unacknowledged.pop(key):
                on_written(path)

    def _collect(self, bar: Progress) -> None:
        for peer in self._peers:
            while self.store.check([key := f"message/{peer.rank}/{peer.num_received}"]):
                self._handle_message(self.store.get(key).decode())
                self.store.delete_key(key)
                peer.num_received += 1
            left = self.store.check([f"left/{peer.rank}"])
            text = self.store.get(f"alive/{peer.rank}").decode()
            if text != peer.last_heartbeat:
                peer.last_heartbeat, peer.heartbeat_time = text, time.monotonic()
            updates, resumed = map(int, text.split()[:2])
            if resumed > peer.resumed:
                bar.skip(resumed - peer.resumed)
            bar.update(updates - peer.updates)
            peer.updates, peer.resumed = updates, resumed
            peer.is_active = (
                not left and time.monotonic() - peer.heartbeat_time < self._heartbeat_timeout
            )

    def _handle_message(self, message: str) -> None:
        content = json.loads(message)
        if content["record"]:
            records.write(records.unpack(content["record"]), self._paths[content["run"]])
        if content["failed"]:
            _report_failure(content["run"], content["failed"])
        self._failures[content["run"]] = content["failed"]


@dataclasses.dataclass
class _Peer:
    """State of another rank, on rank 0."""

    rank: int
    num_received: int = 0  # messages
    updates: int = 0
    resumed: int = 0
    last_heartbeat: str = ""
    heartbeat_time: float = 0.0  # of the last heartbeat that differed from the one before
    is_active: bool = True  # neither done nor lost


def _try_train(run: Run, train: Train, count: Count) -> Iterator[tuple[Any, str]]:
    """Train a run and yield its record, or ``None`` and the reason of its failure."""
    try:
        for record in train(run, count):
            records.check(record, run[2].name)
            yield record, ""
    except dist.DistError:  # not a failure of the run
        raise
    except (ValueError, RuntimeError) as error:
        yield None, str(error)


def _report_failure(name: str, reason: str) -> None:
    """Report a failed run at once, above the progress bar; the others may take hours."""
    messages.warn(f"{name} has failed: {reason}")


def _raise_failures(failures: dict[str, str]) -> None:
    """Raise one error that names all failed runs, if there are any.

    Args:
        failures: Maps each run to the reason of its failure, or to an empty string.
    """
    failed = [f"\n  {name}: {reason}" for name, reason in failures.items() if reason]
    if failed:
        raise RuntimeError(
            f"{len(failed)} of {len(failures)} runs have no record yet:{''.join(failed)}\n"
            "The same command tries them again, from their checkpoints."
        )
