"""The commands of ``python -m lnlab``: ``replay``, ``table``, ``claims``, ``data``, ``bench``."""

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

# Import names of the packages that lnlab needs.
EXTRA = ("torch", "sklearn", "scipy", "pooch", "requests", "filelock", "tqdm", "joblib")
# Signals that end a job: time limits of schedulers, `kill`, a terminal that is closed.
STOP_SIGNALS = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGHUP")
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, as a shell reports it
MAX_THREADS = 1024  # OpenMP crashes if it is to start far more


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: The words after ``python -m lnlab``; ``sys.argv[1:]`` if ``None``.

    Returns:
        0 on success, 1 for an invalid value, a failed download or a failed run, 128 + n after
        signal n, so 130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    args = parser(arguments).parse_args(arguments)
    messages.open_closed_descriptors()
    commands = {
        "replay": _replay,
        "table": _table,
        "claims": _claims,
        "data": _data,
        "bench": _bench,
    }
    try:
        return commands[args.command](args)
    except (ValueError, OSError, RuntimeError) as error:
        reason = _settings_as_flags(str(error))
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        reason = f"{error.name} is not installed; install it with: {_install.command('lnlab')}"
    finally:
        messages.finish()
    messages.warn(f"lnlab {args.command}: {reason}")
    messages.finish()
    return 1


class Invocation(NamedTuple):
    """The runs of one experiment that a command line requests, with the options to run them."""

    experiment: str
    settings: list[Any]
    seeds: Sequence[int]
    options: dict[str, Any]  # keyword arguments of record_runs
    threads: int | None
    unused_flags: list[str]  # flags that change none of the runs


def invocation(arguments: list[str]) -> Invocation:
    """Return what ``replay`` would run, without running it.

    Args:
        arguments: As for :func:`main`.

    Raises:
        ValueError: If a setting has an invalid value.
    """
    (result,) = _invocations(parser(arguments).parse_args(arguments))
    return result


def _invocations(args: argparse.Namespace) -> Iterator[Invocation]:
    """Yield the runs of the experiment that was named, or those of each grid of the book."""
    if args.threads is not None and not (
        isinstance(args.threads, int) and 1 <= args.threads <= MAX_THREADS
    ):
        raise ValueError(
            f"--threads must be a whole number from 1 to {MAX_THREADS}, got {args.threads!r}"
        )
    if not args.out:
        raise ValueError("--out must be a folder, got an empty name; use '.' for this folder")
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:  # each of torchrun's processes would run all
        raise ValueError("start replay without torchrun; --jobs N trains N runs at a time")
    if args.scheduler and args.engine != "dask":
        raise ValueError("--scheduler is the address of a Dask cluster; add --engine dask")
    options = {"out": Path(args.out), "device": args.device, "again": args.again}
    options |= {"jobs": args.jobs, "engine": args.engine, "scheduler": args.scheduler}
    if args.experiment == BOOK:
        on_gpu = _is_gpu(args.device)
        for experiment in map(experiments.find, experiments.names()):
            for runs, seeds in experiment.book(on_gpu=on_gpu):
                threads = args.threads or experiment.threads
                yield Invocation(experiment.name, runs, seeds, options, threads, [])
        return
    experiment = experiments.find(args.experiment)
    fields = config.field_specs(experiment.settings)
    specified_values = {k: v for k, v in vars(args).items() if k in fields}
    if "paper" in specified_values.get("scale", ()):
        raise ValueError(
            f"--scale must be a positive number, got 'paper'; in {experiment.name} it is a "
            "setting, and there are no paper sizes, because the paper does not have this experiment"
        )
    seeds = args.seeds
    typed = list(specified_values)
    if experiment.scales:
        specified_values = {**experiment.scales.get(args.scale, {}), **specified_values}
    specified = specified_values.keys() | ({"seeds"} if seeds is not None else set())
    on_gpu = bool(experiment.on_gpu.keys() - specified) and _is_gpu(args.device)
    if seeds is None:
        seeds = list(
            range({**experiment.defaults, **(experiment.on_gpu if on_gpu else {})}["seeds"])
        )
    config.check_different("--seeds", seeds)
    for axis in experiment.sweep_axes:
        config.check_different(config.flag(axis), specified_values.get(axis, []))
    runs = experiment.settings_of(specified_values, on_gpu=on_gpu)
    unused = [config.flag(k) for k in typed if all(k in run.unused for run in runs)]
    if experiment.steps:
        options["step"] = args.step
    yield Invocation(experiment.name, runs, seeds, options, args.threads, unused)


def _is_gpu(device: str) -> bool:
    from lnlab.training import resolve_device

    return resolve_device(device).type == "cuda"


def _settings_as_flags(message: str) -> str:
    """Replace the setting that an error message begins with by its flag."""
    start = r"(?m)^(  \S+: )?(?:Settings: |Run: |record_runs: |claims: |(?=device |step ))(\w+)"
    return re.sub(start, lambda match: (match[1] or "") + config.flag(match[2]), message)


def _replay(args: argparse.Namespace) -> int:
    invocations = list(_invocations(args))
    for flag in (flag for invocation in invocations for flag in invocation.unused_flags):
        messages.warn(f"lnlab replay: {flag} has no effect on these runs")
    import torch

    from lnlab.runner import record_runs

    with stopped_by_signals():
        try:
            default_threads = torch.get_num_threads()
            for name, settings, seeds, options, threads, _ in invocations:
                torch.set_num_threads(threads or default_threads)
                record_runs(experiments.find(name), settings, seeds, **options)
        except KeyboardInterrupt as stop:
            messages.warn(f"\nStopped{stop}. Checkpoints are kept: run the same command to resume.")
            return 128 + getattr(stop, "number", signal.SIGINT)
    messages.info(_next_steps(args.experiment, args.out))
    return 0


def _next_steps(experiment: str, out: str) -> str:
    """Return a message with the folder of the records and the commands that read them."""
    is_book = experiment == BOOK
    runs = [] if out == OUT else config.cli_args("runs", out)
    table = shlex.join(["python", "-m", "lnlab", "table", "NAME" if is_book else experiment, *runs])
    claims = shlex.join(["python", "-m", "lnlab", "claims", *runs])
    return (
        f"Records are in {Path(out) if is_book else Path(out, experiment)}. To read them:\n"
        f"  {table}\n  {claims}"
    )


class _Stopped(KeyboardInterrupt):
    """Raised by a signal that ends a command as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(f" by {signal.Signals(number).name}")
        self.number = number


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Treat the signals that schedulers send before their time limit like Ctrl-C.

    Signals that are ignored, as SIGHUP is under ``nohup``, or have another handler are unchanged.
    """

    def stop(number: int, _: object) -> NoReturn:
        raise _Stopped(number)

    replaced = {}
    if threading.current_thread() is threading.main_thread():  # only it may set handlers
        for name in STOP_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                replaced[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, handler)


def _show(text: str) -> None:
    """Print the output of a command; unlike a message, it must not be lost.

    Raises:
        OSError: If it cannot be written.
        SystemExit: If the reader of the pipe has ended, as ``head`` does.
    """
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        print(text, flush=True)
    except BrokenPipeError:
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except OSError as error:
        raise OSError(f"cannot write to standard output: {error.strerror}") from None


def _records_folder(args: argparse.Namespace, names: Sequence[str], what: str) -> tuple[Path, str]:
    """Return the folder whose records are to be read, and a message that names it.

    Args:
        args: The parsed arguments, whose ``runs`` is the folder or ``None``.
        names: Experiments, at least one of which must have records in the folder.
        what: A name for these records, used in messages.

    Raises:
        ValueError: If ``--runs`` has no such records.
        FileNotFoundError: If ``--runs`` is not given, there are no records in the default folder,
            and lnlib was installed without the book's records.
    """
    from lnlab import records

    def has_records(folder: Path) -> bool:
        # Records of format 1 are in the folder itself, not in one per experiment.
        patterns = (f"{name}{sep}*.json" for name in names for sep in ("/", "-"))
        return any(True for pattern in patterns for _ in folder.glob(pattern))

    if args.runs is None:
        book = records.folder()
        if has_records(Path(OUT)):
            hint = f"; use --runs {book} for the book's" if book.is_dir() else ""
            return Path(OUT), f"showing records of {what} from {OUT}{hint}"
        return records.installed(), f"records of {what} in {book}, the book's own"
    folder = Path(args.runs)
    if not args.runs:
        reason = "an empty name; use '.' for the current folder"
    elif not folder.exists():
        reason = "it does not exist"
    elif not folder.is_dir():
        reason = "it is not a folder"
    elif not has_records(folder):
        reason = "it has none"
    else:
        return folder, ""
    replay = shlex.join(["python", "-m", "lnlab", "replay", names[0] if len(names) == 1 else BOOK])
    raise ValueError(
        f"--runs must be a folder with records of {what}, got {args.runs!r} ({reason}); {replay} "
        f"writes records to {OUT} or --out, and without --runs, those of the book are used"
    )


def _table(args: argparse.Namespace) -> int:
    from lnlab import claims, records, results_table

    folder, message = _records_folder(args, [args.experiment], args.experiment)
    runs = records.read_all(args.experiment, folder)
    if not runs:
        raise ValueError(f"{folder} has no records of {args.experiment}")
    parts = [results_table.text(experiments.find(args.experiment), runs)]
    if tested := claims.about(args.experiment):
        parts.append(f"Claims by these records: {claims.text(claims.evaluate(folder, tested))}")
    _show("\n\n".join(parts))
    if message:
        messages.warn(f"lnlab table: {message}")
    return 0


def _claims(args: argparse.Namespace) -> int:
    from lnlab import claims

    folder, message = _records_folder(args, experiments.names(), "experiments")
    results = claims.evaluate(folder)
    if args.json:
        _show(json.dumps(claims.as_json(results), indent=1, ensure_ascii=False))
    else:
        _show(claims.text(results))
    if message:
        messages.warn(f"lnlab claims: {message}")
    return 0


def _data(args: argparse.Namespace) -> int:
    module = import_module(f"lnlab.datasets.{args.name}")
    is_download = args.name not in BUNDLED
    if args.folder is not None and not is_download:
        raise ValueError(
            f"--folder is the folder of a download, and {args.name} is not downloaded; omit it"
        )
    if args.folder is not None:
        try:
            if not args.folder:
                raise FileNotFoundError(None, "an empty name; use '.' for the current folder")
            Path(args.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            is_file = isinstance(error, FileExistsError)
            reason = "it is not a folder" if is_file else error.strerror
            raise ValueError(
                f"--folder must be a folder, got {args.folder!r} ({reason}); choose another"
            ) from error
    dataset = module.load(*([args.folder] if is_download else []))
    if is_download:
        existing = [path for path in fetch.folders(args.name, args.folder) if path.is_dir()]
        if existing:
            _show(f"{args.name} is in {existing[0]}")
    _show(f"{dataset.name}: {dataset}, SHA-256 {dataset.sha256}")
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
