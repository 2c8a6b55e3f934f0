"""Several processes, machines or GPUs: the ranks share the runs, and rank 0 writes every record.

::

    torchrun --nproc-per-node 2 -m lnlab replay mnist

    # on each of two machines
    machines="--nnodes 2 --rdzv-backend c10d --rdzv-endpoint first-machine:29400"
    torchrun $machines --nproc-per-node 8 -m lnlab replay mnist

A rank takes the longest run that nobody has taken, trains it and sends its record to rank 0, which
trains as well. A run's checkpoint goes only when its record is on disk. So a rank that is lost
loses no more than the epoch it was in, and at most ten minutes: the next call hands its run out
again, and it goes on from the checkpoint (``torchrun --max-restarts 3`` makes that call by itself).
A run that fails is named at the end; the others are finished first. A rank that has lost rank 0, or
the ``torchrun`` that started it, ends within seconds.

Who has taken what is known to the launch alone, so that nothing of a former one can be in the way.
``--out`` is best a folder that all machines share. Where each has its own, all records are on the
machine of rank 0, and a run that was broken off starts over if another machine gets it. Data that
must be downloaded are downloaded by rank 0 first; on further machines let
``python -m lnlab data mnist`` do it beforehand.
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

HEARTBEAT_S = 1.0  # seconds between two signs of life of a rank, and between two looks of rank 0
GRACE = 5.0  # seconds that a rank without its launcher has to end by itself
HEARTBEAT_TIMEOUT_S = 60.0  # seconds without a sign of life after which a rank is given up
_JOIN = timedelta(minutes=10)
_calls = itertools.count()

Run = tuple[Any, int, Path]  # settings, seed, the record's path
# Told the number of updates since its last call, or with resumed=True of updates done before.
Count = Callable[..., None]
Train = Callable[[Run, Count], Iterator[dict[str, Any]]]  # to the run's record, one


class Alone:
    """One process: it does all the work and writes its records itself.

    Args:
        device: Where it trains.
    """

    rank, size, label = 0, 1, ""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __str__(self) -> str:
        """Name the device."""
        return records.device_name(self.device)

    def agree(self, decide: Callable[[], list[int]], n: int) -> list[int]:
        """Return what ``decide()`` returns, a list of ``n``."""
        return decide()

    def work(
        self, runs: list[Run], train: Train, written: Callable[[Path], None], bar: Progress
    ) -> None:
        """Train all runs in order; arguments and errors as for :meth:`Ranks.work`."""
        texts = {}

        def count(updates: int, *, resumed: bool = False) -> None:
            (bar.skip if resumed else bar.update)(updates)

        for *run, path in runs:
            for kept, why in _tried((*run, path), train, count):
                texts[path.stem] = why
                if why:
                    _tell(path.stem, why)
                if kept:
                    records.write(kept, path)
                    written(path)
        _complain(texts)


def join(device: torch.device) -> Alone | Ranks:
    """Say who this process is among the ranks that a launcher started, or that it is alone.

    Args:
        device: As asked for. ``cuda`` without a number becomes the GPU that ``LOCAL_RANK`` picks.
    """
    needed = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # torchrun sets them
    if not all(os.environ.get(name) for name in needed) or os.environ["WORLD_SIZE"] == "1":
        return Alone(device)
    if "TORCHELASTIC_RUN_ID" in os.environ:  # other launchers may leave their ranks to themselves
        _end_with(os.getppid())
    if device.type == "cuda" and device.index is None:
        local = int(os.environ.get("LOCAL_RANK", 0))
        device = torch.device("cuda", local % torch.cuda.device_count())
    store, rank, size = next(dist.rendezvous("env://", timeout=_JOIN))
    return Ranks(device, dist.PrefixStore(f"lnlib/{next(_calls)}", store), rank, size)


@functools.cache
def _end_with(launcher: int) -> None:
    """End this process soon after the one that started it: a launcher that is killed cannot."""
    threading.Thread(target=_watch, args=(launcher,), daemon=True).start()


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(HEARTBEAT_S)
    messages.stderr().write(
        f"\nrank {os.environ.get('RANK')}: the launcher is gone. Checkpoints are kept: the same "
        "command goes on from there.\n"
    )
    messages.stderr().flush()
    os.kill(os.getpid(), signal.SIGTERM)  # as the launcher would have done
    time.sleep(GRACE)
    os._exit(1)


class Ranks:
    """One of several processes that share the work by way of a store that all of them reach.

    Args:
        device: Where this rank trains.
        store: Of this call alone: it holds how many units are taken, letters to rank 0, and a
            sign of life of each other rank.
        rank: From 0.
        size: How many ranks there are.
        silence: Seconds without a sign of life after which rank 0 gives a rank up.
    """

    def __init__(
        self,
        device: torch.device,
        store: dist.Store,
        rank: int,
        size: int,
        *,
        silence: float = HEARTBEAT_TIMEOUT_S,
    ) -> None:
        self.device, self.store, self.rank, self.size = device, store, rank, size
        self._silence = silence
        # Of rank 0: what it knows of the others, and from a run that ended to why it failed.
        self._others = [_Other(r) for r in range(1, size)] if rank == 0 else []
        self._looked, self._said = 0.0, {}
        # Of the others: updates done now and before, letters sent, those not taken by rank 0 yet.
        self._updates, self._resumed, self._sent, self._waiting = 0, 0, 0, {}
        self._lost: dist.DistError | None = None  # why rank 0 cannot be reached
        self.label = f"rank {rank} of {size}: "
        if rank > 0:
            store.set(f"alive/{rank}", "0 0 0")

    def __str__(self) -> str:
        """Say how many ranks there are, and name this one's device."""
        return f"{self.size} ranks, rank {self.rank} on {records.device_name(self.device)}"

    def agree(self, decide: Callable[[], list[int]], n: int) -> list[int]:
        """Return on every rank what ``decide()`` returns on rank 0, ``n`` whole numbers.

        A process group (nccl where each rank has a GPU of its own, else gloo) carries it and is
        dissolved at once: from here on a rank that is lost must not stop the others.

        Raises:
            SystemExit: On the other ranks, if ``decide`` raises on rank 0, which says why.
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
        text = [0] * (1 + n)  # first whether rank 0 could decide
        try:
            if self.rank == 0:
                text = [1, *decide()]
        finally:
            sent = torch.tensor(text, device=self.device if nccl else "cpu")
            dist.broadcast(sent, 0)
            could, *decided = sent.tolist()
            dist.destroy_process_group()
        if not could:
            raise SystemExit(1)
        return decided

    def work(
        self, runs: list[Run], train: Train, written: Callable[[Path], None], bar: Progress
    ) -> None:
        """Take one run after the other until none is left; on rank 0, write all records.

        Rank 0 returns when every run is recorded, another rank when its own are.

        Args:
            runs: The same on every rank.
            train: Trains a run.
            written: Called with the path of each record of this rank once it is on disk.
            bar: Of the updates of all ranks; rank 0 shows it.

        Raises:
            RuntimeError: On rank 0, at the end, if a run failed or a rank was lost; on another
                rank, if it has lost rank 0.
        """
        self._paths = {path.stem: path for *_, path in runs}

        def look() -> None:
            self._looked = time.monotonic()
            self._collect(bar)
            self._settle(written)

        def count(updates: int, *, resumed: bool = False) -> None:
            if self._lost:  # not when the run is done, which may take hours
                raise self._lost
            if resumed:
                self._resumed += updates
                bar.skip(updates)
            else:
                self._updates += updates
                bar.update(updates)
            if self.rank == 0 and time.monotonic() - self._looked > HEARTBEAT_S:
                look()

        over = threading.Event()
        alive = threading.Thread(target=self._live, args=(over,), daemon=True)
        alive.start()
        try:
            while (taken := self.store.add("taken", 1)) <= len(runs):
                *_, path = run = runs[taken - 1]
                for kept, why in _tried(run, train, count):
                    texts = {"run": path.stem, "record": kept and records.pack(kept), "failed": why}
                    letter = json.dumps(texts, allow_nan=False)
                    if self.rank > 0:
                        self._send(path if kept else None, letter)
                    else:
                        self._open(letter)
                        if kept:
                            written(path)
                look()
            told = None
            while self._waiting or (here := [o.rank for o in self._others if o.here]):
                if self.rank == 0 and here != told:
                    bar.set_description(f"waiting for rank {', '.join(map(str, here))}")
                    told = here
                time.sleep(HEARTBEAT_S / 10)
                look()
            self.store.set(f"alive/{self.rank}", f"{self._updates} {self._resumed} left")
            self.store.set(f"left/{self.rank}", "")
        except dist.DistError as error:
            raise RuntimeError(
                f"rank {self.rank} can no longer reach rank 0, which writes the records; the same "
                f"command goes on from the checkpoints ({error})"
            ) from error
        finally:
            over.set()
            alive.join(5 * HEARTBEAT_S)
        if self.rank == 0:
            lost = f"its rank was lost: no sign of life for {self._silence:.0f} s"
            _complain({name: self._said.get(name, lost) for name in self._paths})

    def _live(self, over: threading.Event) -> None:
        """Give signs of life, each with the updates done so far; a thread's only work."""
        for beat in itertools.count(1):
            try:
                self.store.set(f"alive/{self.rank}", f"{self._updates} {self._resumed} {beat}")
            except dist.DistError as error:
                self._lost = error
                return
            if over.wait(HEARTBEAT_S):
                return

    def _send(self, path: Path | None, letter: str) -> None:
        key = f"letter/{self.rank}/{self._sent}"
        self._sent += 1
        self._waiting[key] = path
        self.store.set(key, letter)

    def _settle(self, written: Callable[[Path], None]) -> None:
        # Rank 0 takes a letter away once what it says is on disk.
        for key in [key for key in self._waiting if not self.store.check([key])]:
            if path := self._waiting.pop(key):
                written(path)

    def _collect(self, bar: Progress) -> None:
        for other in self._others:
            while self.store.check([key := f"letter/{other.rank}/{other.letters}"]):
                self._open(self.store.get(key).decode())
                self.store.delete_key(key)
                other.letters += 1
            left = self.store.check([f"left/{other.rank}"])
            text = self.store.get(f"alive/{other.rank}").decode()
            if text != other.said:
                other.said, other.heard = text, time.monotonic()
            updates, resumed = map(int, text.split()[:2])
            if resumed > other.resumed:
                bar.skip(resumed - other.resumed)
            bar.update(updates - other.updates)
            other.updates, other.resumed = updates, resumed
            other.here = not left and time.monotonic() - other.heard < self._silence

    def _open(self, letter: str) -> None:
        text = json.loads(letter)
        if text["record"]:
            records.write(records.unpack(text["record"]), self._paths[text["run"]])
        if text["failed"]:
            _tell(text["run"], text["failed"])
        self._said[text["run"]] = text["failed"]


@dataclasses.dataclass
class _Other:
    """What rank 0 knows of another rank."""

    rank: int
    letters: int = 0  # opened so far
    updates: int = 0
    resumed: int = 0
    said: str = ""
    heard: float = 0.0  # when it last said something new
    here: bool = True  # neither done nor silent for too long


def _tried(run: Run, train: Train, count: Count) -> Iterator[tuple[Any, str]]:
    """Train a run and yield its record, or ``None`` and why there is none."""
    try:
        for kept in train(run, count):
            records.check(kept, run[2].name)
            yield kept, ""
    except dist.DistError:  # no fault of the run
        raise
    except (ValueError, RuntimeError) as error:
        yield None, str(error)


def _tell(name: str, why: str) -> None:
    """Say above the bar that a run failed: the others may take hours more."""
    messages.tell(f"{name} has failed: {why}")


def _complain(said: dict[str, str]) -> None:
    """Raise one error that names the runs that failed, given why each did, or nothing."""
    wrong = [f"\n  {name}: {why}" for name, why in said.items() if why]
    if wrong:
        raise RuntimeError(
            f"{len(wrong)} of {len(said)} runs have no record yet:{''.join(wrong)}\n"
            "The same command tries them again, from their checkpoints."
        )
