"""The commands: ``python -m lnlib replay``, ``table``, ``claims``, ``data``, ``bench``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import errno
import functools
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

from lnlib import __version__, _messages, experiments
from lnlib.data import NAMES
from lnlib.runs import settings
from lnlib.runs.experiment import Experiment

BOOK = "book"  # in place of an experiment: all the runs that the book has
OUT = "runs"  # the folder that replay writes to, and table and claims read first
# What the extra [nn] brings, as it is imported.
EXTRA = ("torch", "sklearn", "scipy", "pooch", "requests", "filelock", "tqdm", "jsonschema")
# What ends a job: a scheduler's time limits, `kill`, a terminal that is closed.
STOPS = ("SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGHUP")
PIPE_CLOSED = 141  # the exit status, as a shell has it
MOST_THREADS = 1024  # far more end in a crash of the library that starts them


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnlib``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value, a failed download or run, 128 + n after signal n, which is
        130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    args = _parser(arguments).parse_args(arguments)
    _messages.open_closed_descriptors()
    does = {"replay": _replay, "table": _table, "claims": _claims, "data": _data, "bench": _bench}
    try:
        return does[args.command](args)
    except (ValueError, OSError, RuntimeError) as error:
        why = _as_typed(str(error))
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        why = f'{error.name} is not installed; install it with: pip install "lnlib[nn]"'
    finally:
        _messages.finish()
    _messages.tell(f"lnlib {args.command}: {why}")
    _messages.finish()
    return 1


class Asked(NamedTuple):
    """What a command line asks for: the runs of an experiment, and how."""

    experiment: str
    settings: list[Any]
    seeds: Sequence[int]
    options: dict[str, Any]  # for record_runs
    threads: int | None
    idle: list[str]  # flags that change none of the runs


def asked(arguments: list[str]) -> Asked:
    """Return what ``replay`` would run, and run nothing.

    Args:
        arguments: As for :func:`main`.

    Raises:
        ValueError: If a setting cannot be what it is given.
    """
    (wanted,) = _asked(_parser(arguments).parse_args(arguments))
    return wanted


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # -1e-3 and -inf are numbers, too: the settings say what is wrong with them.
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")
        self.set_defaults(parser=self)  # a command's own takes the place of the one before

    def parse_args(self, *args: Any) -> argparse.Namespace:
        """Refuse what a command does not know by that command's help, with a flag that is near."""
        read, unknown = self.parse_known_args(*args)
        if unknown:
            flags = {flag.strip("-"): flag for flag in read.parser._option_string_actions}
            word = unknown[0].partition("=")[0].strip("-").replace("_", "-")
            near = [f"(is {flags[n]} meant?)" for n in difflib.get_close_matches(word, flags, 1)]
            read.parser.error(" ".join(["unrecognized arguments:", *unknown, *near]))
        return read

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence; twenty flags would hide it."""
        self.exit(2, f"{self.prog.replace('python -m ', '')}: {message}; see {self.prog} --help\n")


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    names = experiments.names()
    return _made(names, "replay" in arguments, frozenset(names).intersection(arguments))


@functools.cache  # a process may read many commands
def _made(names: tuple[str, ...], replays: bool, whole: frozenset) -> argparse.ArgumentParser:
    what = "lnlib, layer normalization computed: train what the paper trained, weigh its claims."
    parser = _Parser(prog="python -m lnlib", description=what)
    parser.add_argument("--version", action="version", version=f"lnlib {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser(
        "replay", help="run a section of the paper, 6.1 to 6.7, or an experiment of ours"
    )
    if replays:
        kinds = replay.add_subparsers(dest="experiment", required=True)
        for name in names:
            _add_experiment(kinds, experiments.find(name), whole=name in whole)
        what = "all the runs that the book has, and none that is recorded in --out"
        _add_place(kinds.add_parser(BOOK, help=what, description=f"Record {what}."))
    table = commands.add_parser("table", help="say what recorded runs come to")
    table.add_argument("experiment", choices=names)
    runs = f"folder of the records (default: {OUT}, or the book's own if that has none)"
    table.add_argument("--runs", help=runs)
    weighed = commands.add_parser("claims", help="weigh the paper's claims by recorded runs")
    weighed.add_argument("--runs", help=runs)
    weighed.add_argument("--json", action="store_true", help="all of it as JSON")
    data = commands.add_parser("data", help="download and verify a data set, or name where it is")
    data.add_argument("name", choices=NAMES)
    data.add_argument("--folder", help="where it is, or is to be downloaded to")
    bench = commands.add_parser("bench", help="measure speed beside what you would pick instead")
    bench.add_argument(
        "--keep",
        action="store_true",
        help="put the rows into book/runs/bench.json too, beside those of other devices",
    )
    return parser


def _add_experiment(
    kinds: argparse._SubParsersAction, experiment: Experiment, *, whole: bool
) -> None:
    """Add an experiment with a flag for each of its settings and for where and how it runs."""
    about = sys.modules[experiment.settings.__module__].__doc__ or experiment.about
    parser = kinds.add_parser(
        experiment.name, help=experiment.about, description=about.partition("\n")[0]
    )
    if not whole:  # it was not asked for: its flags would be read by nobody
        return
    usual = {field.name: field.default for field in dataclasses.fields(experiment.settings)}
    usual |= {k: v for k, v in experiment.several.items() if not callable(v)} | experiment.usual
    manual = settings.manual(experiment.settings)
    for name, kind in settings.kinds(experiment.settings).items():
        facts = [f"one of {', '.join(kind.choices)}"] if kind.choices else []
        if name in experiment.on_gpu:
            facts.append(f"default: {experiment.on_gpu[name]} on a GPU and {usual[name]} on a CPU")
        elif usual[name] not in (None, (), (None,), False):
            facts.append(f"default: {_shown(usual[name])}")
        told = f" ({'; '.join(facts)})" if facts else ""
        how: dict[str, Any] = {"help": f"{manual[name]}{told}".replace("%", "%%")}
        if kind.what == "True or False":
            how["action"] = argparse.BooleanOptionalAction
        else:
            how["type"] = str if kind.choices else settings.typed
            how["metavar"] = name.split("_")[-1].upper()
        if name in experiment.several or kind.several:
            how["nargs"] = "+"
        parser.add_argument(settings.flag(name), default=argparse.SUPPRESS, **how)
    add = parser.add_argument
    seeds = f"0 to {experiment.usual['seeds'] - 1}"
    if "seeds" in experiment.on_gpu:
        seeds = f"0 to {experiment.on_gpu['seeds'] - 1} on a GPU, {seeds} on a CPU"
    add("--seeds", nargs="+", type=_seed, help=f"a run of each setting for each (default: {seeds})")
    if experiment.scales:
        add(
            "--scale",
            default="laptop",
            choices=["laptop", *experiment.scales],
            help=f"sizes, where no flag gives them (default: laptop{_scales(experiment)})",
        )
    if experiment.steps:
        add(
            "--step",
            default="auto",
            choices=["auto", *experiment.steps],
            help="how an update is computed (default: auto, the fastest here)",
        )
    _add_place(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--device",
        default="auto",
        help="auto, cpu, cuda or cuda:N (default: auto); no GPU has run it yet",
    )
    add("--threads", type=settings.typed, help="of the CPU (default: PyTorch's own choice)")
    add("--out", default=OUT, help=f"folder of the records (default: {OUT})")
    add("--again", action="store_true", help="repeat what is already recorded")


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _scales(experiment: Experiment) -> str:
    """Return what the other scales have, as it would be typed."""
    told = ""
    for scale, given in experiment.scales.items():
        flags = [word for name, value in given.items() for word in settings.words(name, value)]
        told += f"; {scale}: {' '.join(flags)}"
    return told


def _seed(text: str) -> int:
    """Refuse a wrong seed before data are asked for or other seeds run for hours."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a seed must be a whole number from 0, got {text!r}")
    if len(text) > 18:
        raise argparse.ArgumentTypeError(f"a seed must have at most 18 digits, got {text!r}")
    return int(text)


def _asked(args: argparse.Namespace) -> Iterator[Asked]:
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
                yield Asked(experiment.name, runs, seeds, options, threads, [])
        return
    experiment = experiments.find(args.experiment)
    named = settings.kinds(experiment.settings)
    given = {k: v for k, v in vars(args).items() if k in named}
    seeds = args.seeds
    typed = list(given)
    if experiment.scales:
        given = {**experiment.scales.get(args.scale, {}), **given}
    asked_for = given.keys() | ({"seeds"} if seeds is not None else set())
    on_gpu = bool(experiment.on_gpu.keys() - asked_for) and _is_gpu(args.device)
    if seeds is None:
        seeds = list(range({**experiment.usual, **(experiment.on_gpu if on_gpu else {})}["seeds"]))
    settings.check_different("--seeds", seeds)
    for several in experiment.several:
        settings.check_different(settings.flag(several), given.get(several, []))
    runs = experiment.settings_of(given, on_gpu=on_gpu)
    idle = [settings.flag(k) for k in typed if all(k in run.unused for run in runs)]
    if experiment.steps:
        options["step"] = args.step
    yield Asked(experiment.name, runs, seeds, options, args.threads, idle)


def _is_gpu(device: str) -> bool:
    from lnlib.runs.train import resolve_device

    return resolve_device(device).type == "cuda"


def _as_typed(sentence: str) -> str:
    """Name a setting as the command line does, where a sentence, of a run say, begins with it."""
    begins = r"(?m)^(  \S+: )?(?:Settings: |Run: |record_runs: |claims: |(?=device |step ))(\w+)"
    return re.sub(begins, lambda found: (found[1] or "") + settings.flag(found[2]), sentence)


def _replay(args: argparse.Namespace) -> int:
    wanted = list(_asked(args))
    for flag in (flag for asked in wanted for flag in asked.idle):
        _messages.tell(f"lnlib replay: {flag} has no effect on these runs")
    import torch

    from lnlib.runs.schedule import record_runs

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
                _messages.tell(
                    f"\nStopped{stop}. Checkpoints are kept: the same command goes on from there."
                )
            return 128 + getattr(stop, "number", signal.SIGINT)
    if rank in (None, "0"):
        _messages.note(_next_steps(args.experiment, args.out))
    return 0


def _next_steps(experiment: str, out: str) -> str:
    """Say where the records are and which commands read them."""
    whole = experiment == BOOK
    runs = [] if out == OUT else settings.words("runs", out)
    table = shlex.join(["python", "-m", "lnlib", "table", "NAME" if whole else experiment, *runs])
    claims = shlex.join(["python", "-m", "lnlib", "claims", *runs])
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
    """
    from lnlib.runs import record

    def has_records(where: Path) -> bool:
        # Before format 2 records lay in the folder itself.
        patterns = (f"{name}{at}*.json" for name in names for at in ("/", "-"))
        return any(True for pattern in patterns for _ in where.glob(pattern))

    if args.runs is None:
        book = record.folder()
        if has_records(Path(OUT)):
            return Path(OUT), f"records of {what} in {OUT}; the book's are read by --runs {book}"
        return book, f"records of {what} in {book}, the book's own"
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
    replay = shlex.join(["python", "-m", "lnlib", "replay", names[0] if len(names) == 1 else BOOK])
    raise ValueError(
        f"--runs must be a folder with records of {what}, got {args.runs!r} ({why}); {replay} "
        f"makes records, in {OUT} or where --out says, and without --runs the book's are read"
    )


def _table(args: argparse.Namespace) -> int:
    from lnlib.runs import record, table

    where, said = _records_folder(args, [args.experiment], args.experiment)
    records = record.read_all(args.experiment, where)
    if not records:
        raise ValueError(f"{where} has no record of {args.experiment}, whatever its files' names")
    _show(table.text(experiments.find(args.experiment), records))
    if said:
        _messages.tell(f"lnlib table: {said}")
    return 0


def _claims(args: argparse.Namespace) -> int:
    from lnlib import claims

    where, said = _records_folder(args, experiments.names(), "experiments")
    weighed = claims.weigh(where)
    if args.json:
        _show(json.dumps(claims.as_json(weighed), indent=1, ensure_ascii=False))
    else:
        _show(claims.text(weighed))
    if said:
        _messages.tell(f"lnlib claims: {said}")
    return 0


def _data(args: argparse.Namespace) -> int:
    module = import_module(f"lnlib.data.{args.name}")
    fetched = hasattr(module, "fetch")
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
    if fetched:
        _show(f"{args.name} lies in {module.fetch(args.folder)}")
    loaded = module.load(*([args.folder] if fetched else []))
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


if __name__ == "__main__":
    sys.exit(main())
