"""The commands: ``python -m lnlab replay``, ``table``, ``claims``, ``data``, ``bench``."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lnlab import config, experiments, messages
from lnlab.arguments import BOOK, OUT, parser
from lnlab.datasets import BUNDLED, fetch
from lnlib import _install

# What the extra [nn] brings, as it is imported.
EXTRA = ("torch", "sklearn", "scipy", "pooch", "requests", "filelock", "tqdm")
# What ends a job: a scheduler's time limits, `kill`, a terminal that is closed.
STOPS = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGHUP")
PIPE_CLOSED = 141  # the exit status, as a shell has it
MOST_THREADS = 1024  # far more end in a crash of the library that starts them


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnlab``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value, a failed download or run, 128 + n after signal n, which is
        130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    args = parser(arguments).parse_args(arguments)
    messages.open_closed_descriptors()
    does = {"replay": _replay, "table": _table, "claims": _claims, "data": _data, "bench": _bench}
    try:
        return does[args.command](args)
    except (ValueError, OSError, RuntimeError) as error:
        why = _as_typed(str(error))
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        why = f"{error.name} is not installed; install it with: {_install.command()}"
    finally:
        messages.finish()
    messages.tell(f"lnlab {args.command}: {why}")
    messages.finish()
    return 1


class Invocation(NamedTuple):
    """What a command line asks for: the runs of an experiment, and how."""

    experiment: str
    settings: list[Any]
    seeds: Sequence[int]
    options: dict[str, Any]  # for record_runs
    threads: int | None
    unused_flags: list[str]  # flags that change none of the runs


def invocation(arguments: list[str]) -> Invocation:
    """Return what ``replay`` would run, and run nothing.

    Args:
        arguments: As for :func:`main`.

    Raises:
        ValueError: If a setting cannot be what it is given.
    """
    (wanted,) = _invocations(parser(arguments).parse_args(arguments))
    return wanted


def _invocations(args: argparse.Namespace) -> Iterator[Invocation]:
    """Yield what a command line asks for: an experiment, or those of the book, a grid each."""
    if args.threads is not None and not (
        isinstance(args.threads, int) and 1 <= args.threads <= MOST_THREADS
    ):
        raise ValueError(
            f"--threads must be a whole number from 1 to {MOST_THREADS}, got {args.threads!r}"
        )
    if not args.out:
        raise ValueError("--out must be a folder, got an empty name; '.' is this folder")
    options = {"out": Path(args.out), "device": args.device, "again": args.again}
    if args.experiment == BOOK:
        on_gpu = _is_gpu(args.device)
        for experiment in map(experiments.find, experiments.names()):
            for runs, seeds in experiment.book(on_gpu=on_gpu):
                threads = args.threads or experiment.threads
                yield Invocation(experiment.name, runs, seeds, options, threads, [])
        return
    experiment = experiments.find(args.experiment)
    named = config.kinds(experiment.settings)
    given = {k: v for k, v in vars(args).items() if k in named}
    seeds = args.seeds
    typed = list(given)
    if experiment.scales:
        given = {**experiment.scales.get(args.scale, {}), **given}
    asked_for = given.keys() | ({"seeds"} if seeds is not None else set())
    on_gpu = bool(experiment.on_gpu.keys() - asked_for) and _is_gpu(args.device)
    if seeds is None:
        seeds = list(
            range({**experiment.defaults, **(experiment.on_gpu if on_gpu else {})}["seeds"])
        )
    config.check_different("--seeds", seeds)
    for axis in experiment.sweep_axes:
        config.check_different(config.flag(axis), given.get(axis, []))
    runs = experiment.settings_of(given, on_gpu=on_gpu)
    unused = [config.flag(k) for k in typed if all(k in run.unused for run in runs)]
    if experiment.steps:
        options["step"] = args.step
    yield Invocation(experiment.name, runs, seeds, options, args.threads, unused)


def _is_gpu(device: str) -> bool:
    from lnlab.training import resolve_device

    return resolve_device(device).type == "cuda"


def _as_typed(sentence: str) -> str:
    """Name a setting as the command line does, where a sentence, of a run say, begins with it."""
    begins = r"(?m)^(  \S+: )?(?:Settings: |Run: |record_runs: |claims: |(?=device |step ))(\w+)"
    return re.sub(begins, lambda found: (found[1] or "") + config.flag(found[2]), sentence)


def _replay(args: argparse.Namespace) -> int:
    wanted = list(_invocations(args))
    for flag in (flag for asked in wanted for flag in asked.unused_flags):
        messages.tell(f"lnlab replay: {flag} has no effect on these runs")
    import torch

    from lnlab.runner import record_runs

    rank = os.environ.get("RANK")
    with _stopped_by_signals():
        try:
            own = torch.get_num_threads()
            for asked in wanted:
                torch.set_num_threads(asked.threads or own)
                experiment = experiments.find(asked.experiment)
                record_runs(experiment, asked.settings, asked.seeds, **asked.options)
        except KeyboardInterrupt as stop:
            if rank is not None:  # torchrun sends one more
                for again in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(again, signal.SIG_IGN)
            if rank in (None, "0"):
                messages.tell(
                    f"\nStopped{stop}. Checkpoints are kept: the same command goes on from there."
                )
            return 128 + getattr(stop, "number", signal.SIGINT)
    if rank in (None, "0"):
        messages.note(_next_steps(args.experiment, args.out))
    return 0


def _next_steps(experiment: str, out: str) -> str:
    """Say where the records are and which commands read them."""
    whole = experiment == BOOK
    runs = [] if out == OUT else config.words("runs", out)
    table = shlex.join(["python", "-m", "lnlab", "table", "NAME" if whole else experiment, *runs])
    claims = shlex.join(["python", "-m", "lnlab", "claims", *runs])
    return (
        f"Records are in {Path(out) if whole else Path(out, experiment)}. To read them:\n"
        f"  {table}\n  {claims}"
    )


class _Stopped(KeyboardInterrupt):
    """A signal that ends a command as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(f" by {signal.Signals(number).name}")
        self.number = number


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let the signals that schedulers send before their time limit act as Ctrl-C does.

    What is ignored, as SIGHUP is under ``nohup``, or handled by the program stays so.
    """

    def stop(number: int, _: object) -> NoReturn:
        raise _Stopped(number)

    changed = {}
    if threading.current_thread() is threading.main_thread():  # no other may
        for name in STOPS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                changed[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, before in changed.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, before)


def _show(text: str) -> None:
    """Print what was asked for, or fail: unlike a message it must arrive.

    Raises:
        OSError: If it cannot be written.
        SystemExit: If its reader has seen enough, as ``head`` does.
    """
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        print(text, flush=True)
    except BrokenPipeError:
        raise SystemExit(PIPE_CLOSED) from None
    except OSError as error:
        raise OSError(f"cannot write to standard output: {error.strerror}") from None


def _records_folder(args: argparse.Namespace, names: Sequence[str], what: str) -> tuple[Path, str]:
    """Return the folder whose records are to be read, and a message that names it.

    Args:
        args: With ``runs``, as it was typed.
        names: The experiments of which at least one must have records there.
        what: What they are records of, for the message.

    Raises:
        ValueError: If the folder that was named has no such records.
        FileNotFoundError: If lnlib was installed without the book's records, and none are here.
    """
    from lnlab import records as record

    def has_records(where: Path) -> bool:
        # Before format 2 records lay in the folder itself.
        patterns = (f"{name}{at}*.json" for name in names for at in ("/", "-"))
        return any(True for pattern in patterns for _ in where.glob(pattern))

    if args.runs is None:
        book = record.folder()
        if has_records(Path(OUT)):
            other = f"; use --runs {book} for the book's" if book.is_dir() else ""
            return Path(OUT), f"showing records of {what} from {OUT}{other}"
        return record.installed(), f"records of {what} in {book}, the book's own"
    where = Path(args.runs)
    if not args.runs:
        why = "an empty name; '.' is this folder"
    elif not where.exists():
        why = "it does not exist"
    elif not where.is_dir():
        why = "it is not a folder"
    elif not has_records(where):
        why = "it has none"
    else:
        return where, ""
    replay = shlex.join(["python", "-m", "lnlab", "replay", names[0] if len(names) == 1 else BOOK])
    raise ValueError(
        f"--runs must be a folder with records of {what}, got {args.runs!r} ({why}); {replay} "
        f"makes records, in {OUT} or where --out says, and without --runs the book's are read"
    )


def _table(args: argparse.Namespace) -> int:
    from lnlab import claims, results_table
    from lnlab import records as record

    where, said = _records_folder(args, [args.experiment], args.experiment)
    records = record.read_all(args.experiment, where)
    if not records:
        raise ValueError(f"{where} has no records of {args.experiment}")
    parts = [results_table.text(experiments.find(args.experiment), records)]
    if decided := claims.about(args.experiment):
        parts.append(f"Claims by these records: {claims.text(claims.evaluate(where, decided))}")
    _show("\n\n".join(parts))
    if said:
        messages.tell(f"lnlab table: {said}")
    return 0


def _claims(args: argparse.Namespace) -> int:
    from lnlab import claims

    where, said = _records_folder(args, experiments.names(), "experiments")
    weighed = claims.evaluate(where)
    if args.json:
        _show(json.dumps(claims.as_json(weighed), indent=1, ensure_ascii=False))
    else:
        _show(claims.text(weighed))
    if said:
        messages.tell(f"lnlab claims: {said}")
    return 0


def _data(args: argparse.Namespace) -> int:
    module = import_module(f"lnlab.datasets.{args.name}")
    fetched = args.name not in BUNDLED
    if args.folder is not None and not fetched:
        raise ValueError(
            f"--folder is where a download lies, and {args.name} come without one; leave it out"
        )
    if args.folder is not None:
        try:
            if not args.folder:
                raise FileNotFoundError(None, "an empty name; '.' is this folder")
            Path(args.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
            raise ValueError(
                f"--folder must be a folder, got {args.folder!r} ({why}); name another"
            ) from error
    loaded = module.load(*([args.folder] if fetched else []))
    if fetched:
        there = [path for path in fetch.folders(args.name, args.folder) if path.is_dir()]
        if there:
            _show(f"{args.name} lies in {there[0]}")
    _show(f"{loaded.name}: {loaded}, SHA-256 {loaded.sha256}")
    return 0


def _bench(args: argparse.Namespace) -> int:
    try:
        from bench.__main__ import main as bench
    except ModuleNotFoundError as error:
        if error.name not in ("bench", "bench.__main__"):
            raise
        raise ValueError(
            "the benchmarks are not part of the installed package; run this from a clone's root"
        ) from error
    return bench(keep=args.keep)
