"""The commands: ``python -m lnlib replay mnist|noise|sequence|weights``, ``data``, ``bench``."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import itertools
import os
import re
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lnlib.runs import settings

EXPERIMENTS = {
    "mnist": "the paper's section 6.6, figure 6: batches of 128 and of 4",
    "noise": "ours, inside section 6.6: what each norm sees in four cases, the gradient's noise",
    "sequence": "ours: digits read a row or a pixel a step by an LSTM, a GRU, a simple network",
    "weights": "ours, on section 5.2.2: how long the weights grow, how far an update turns them",
}
MOST_THREADS = 1024  # far more end in a crash of the library that starts them


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: As typed after ``python -m lnlib``; ``None`` takes the process's own.

    Returns:
        0 when done, 1 for a wrong value or a failed download, 130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = _parser(arguments).parse_args(arguments)
    try:
        return {"replay": _replay, "data": _data, "bench": _bench}[chosen.command](chosen)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"lnlib {chosen.command}: {_as_typed(str(error))}", file=sys.stderr)
        return 1


class Asked(NamedTuple):
    """What a command line asks for: the runs of an experiment, and how."""

    experiment: str
    settings: list[Any]
    seeds: list[int]
    options: dict[str, Any]  # of the experiment's record_all
    threads: int | None
    idle: list[str]  # flags that change none of the runs


def asked(arguments: list[str]) -> Asked:
    """Return what ``replay`` would run, and run nothing.

    Args:
        arguments: As for :func:`main`.

    Raises:
        ValueError: If a setting cannot be what it is given.
    """
    return _asked(_parser(arguments).parse_args(arguments))


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # -1e-3 and -inf are numbers, too: the settings say what is wrong with them.
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence; twenty flags would hide it."""
        self.exit(2, f"{self.prog.replace('python -m ', '')}: {message}; see {self.prog} --help\n")


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m lnlib", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser("replay", help="run section 6.6 again, or an experiment of ours")
    if "replay" in arguments:  # an experiment's settings lie beside what needs PyTorch
        experiments = replay.add_subparsers(dest="experiment", required=True)
        for name in EXPERIMENTS:
            _add_experiment(experiments, name)
    data = commands.add_parser("data", help="download and verify a data set, or name where it is")
    data.add_argument("name", choices=["digits", "mnist"])
    data.add_argument("--folder", help="where MNIST is, or is to be downloaded to")
    bench = commands.add_parser("bench", help="measure speed beside what you would pick instead")
    bench.add_argument(
        "--keep",
        action="store_true",
        help="put the rows into book/runs/bench.json too, beside those of other devices",
    )
    return parser


def _add_experiment(experiments: argparse._SubParsersAction, name: str) -> None:
    """Add an experiment with a flag for each of its settings and for where and how it runs."""
    from lnlib.experiments.mnist import steps

    module = import_module(f"lnlib.experiments.{name}.run")
    about = module.__doc__.partition("\n")[0]
    parser = experiments.add_parser(name, help=EXPERIMENTS[name], description=about)
    manual = _manual(module.Settings)
    for field in dataclasses.fields(module.Settings):
        usual = module.SEVERAL.get(field.name, field.default)
        if (name, field.name) == ("mnist", "epochs"):
            usual = "60 on a GPU, as in the paper, and 20 on a CPU"
        default = "" if usual in (None, (), (None,)) else f" (default: {_shown(usual)})"
        how: dict[str, Any] = {"help": f"{manual[field.name]}{default}".replace("%", "%%")}
        if field.type == "bool":
            how["action"] = "store_true"
        else:
            how["type"] = str if field.type == "str" else settings.typed
            how["metavar"] = field.name.split("_")[-1].upper()
        if field.name in module.SEVERAL or field.type.startswith("tuple"):
            how["nargs"] = "+"
        if field.name == "data":
            how["choices"] = ["digits", "mnist"]
        parser.add_argument(settings.flag(field.name), default=argparse.SUPPRESS, **how)
    add = parser.add_argument
    seeds = "0 to 9 on a GPU, 0 to 2 on a CPU" if name == "mnist" else f"0 to {module.SEEDS - 1}"
    add("--seeds", nargs="+", type=_seed, help=f"a run of each setting for each (default: {seeds})")
    if name in ("mnist", "noise"):
        add(
            "--step",
            default="auto",
            choices=["auto", *steps.NAMES],
            help="how an update is computed (default: auto, the fastest here)",
        )
    add(
        "--device",
        default="auto",
        help="auto, cpu, cuda or cuda:N (default: auto); no GPU has run it yet",
    )
    add("--threads", type=settings.typed, help="of the CPU (default: PyTorch's own choice)")
    add("--out", default="runs", help="folder of the records (default: runs)")
    add("--again", action="store_true", help="repeat what is already recorded")


@functools.cache
def _manual(kind: type) -> dict[str, str]:
    """Return what the docstring of a dataclass, and those it is built on, say of each field."""
    found: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        arguments = inspect.cleandoc(cls.__doc__ or "").partition("Args:")[2]
        for entry in re.finditer(r"^    (\w+): (.*(?:\n     .*)*)", arguments, re.M):
            text = " ".join(entry[2].split())
            found[entry[1]] = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")
    return found


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _seed(text: str) -> int:
    """Refuse a wrong seed before data are asked for or other seeds run for hours."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a seed must be a whole number from 0, got {text!r}")
    if len(text) > 18:
        raise argparse.ArgumentTypeError(f"a seed must have at most 18 digits, got {text!r}")
    return int(text)


def _asked(chosen: argparse.Namespace) -> Asked:
    name = chosen.experiment
    module = import_module(f"lnlib.experiments.{name}.run")
    fields = [field.name for field in dataclasses.fields(module.Settings)]
    given = {k: v for k, v in vars(chosen).items() if k in fields}
    named, seeds = list(given), chosen.seeds
    if name == "mnist" and (seeds is None or "epochs" not in given):
        from lnlib.runs.train import resolve_device

        on_gpu = resolve_device(chosen.device).type == "cuda"
        seeds = list(range(10 if on_gpu else 3)) if seeds is None else seeds
        given.setdefault("epochs", 60 if on_gpu else 20)
    if seeds is None:
        seeds = list(range(module.SEEDS))
    settings.check_different("--seeds", seeds)
    for several in module.SEVERAL:
        settings.check_different(settings.flag(several), given.get(several, []))
    if chosen.threads is not None and not (
        isinstance(chosen.threads, int) and 1 <= chosen.threads <= MOST_THREADS
    ):
        raise ValueError(
            f"--threads must be a whole number from 1 to {MOST_THREADS}, got {chosen.threads!r}"
        )
    if not chosen.out:
        raise ValueError("--out must be a folder, got an empty name; '.' is this folder")
    runs = _runs(name, module, given)
    idle = [settings.flag(k) for k in named if all(k in run.unused for run in runs)]
    options = {"out": Path(chosen.out), "device": chosen.device, "again": chosen.again}
    if name in ("mnist", "noise"):
        options["step"] = chosen.step
    return Asked(name, runs, seeds, options, chosen.threads, idle)


def _runs(name: str, module: Any, given: dict[str, Any]) -> list[Any]:
    """Return the settings of all runs: each value of a setting with each value of the others."""
    several = {k: given.get(k, usual) for k, usual in module.SEVERAL.items()}
    grids = [several]
    if name == "weights" and "scale" not in given:
        grids = [
            several | {"optimizer": [optimizer], "scale": module.SCALES.get(optimizer, [1.0])}
            for optimizer in several["optimizer"]
        ]
    runs = [
        given | dict(zip(grid, values, strict=True))
        for grid in grids
        for values in itertools.product(*grid.values())
    ]
    if name == "mnist" and len(several["norm"]) > 1:  # batch norm of one case is nothing to ask for
        runs = [run for run in runs if (run["norm"], run["batch_size"]) != ("batch", 1)]
    return [module.Settings(**run) for run in runs]


def _as_typed(sentence: str) -> str:
    """Name a setting as the command line does, where a sentence begins with it."""
    begins = r"(?:Settings: |Replay: |record_runs: |(?=device |step ))(\w+)"
    if found := re.match(begins, sentence):
        return settings.flag(found[1]) + sentence[found.end() :]
    return sentence


def _replay(chosen: argparse.Namespace) -> int:
    wanted = _asked(chosen)
    for flag in wanted.idle:
        print(f"lnlib replay: {flag} has no effect on these runs", file=sys.stderr)
    import torch

    if wanted.threads is not None:
        torch.set_num_threads(wanted.threads)
    record_all = import_module(f"lnlib.experiments.{wanted.experiment}.run").record_all
    rank = os.environ.get("RANK")
    if rank is not None:  # torchrun ends its ranks with SIGTERM, some after Ctrl-C as well
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        record_all(wanted.settings, wanted.seeds, **wanted.options)
    except KeyboardInterrupt:
        if rank is not None:
            for again in (signal.SIGINT, signal.SIGTERM):
                signal.signal(again, signal.SIG_IGN)
        if rank in (None, "0"):
            print(
                "\nStopped. Whole epochs are kept: the same command goes on from there.",
                file=sys.stderr,
            )
        return 130
    return 0


def _data(chosen: argparse.Namespace) -> int:
    from lnlib import data

    if chosen.folder is not None and chosen.name != "mnist":
        raise ValueError(
            f"--folder is where MNIST lies, and {chosen.name} come with scikit-learn; leave it out"
        )
    if chosen.folder is not None:
        try:
            if not chosen.folder:
                raise FileNotFoundError(None, "an empty name; '.' is this folder")
            Path(chosen.folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
            raise ValueError(
                f"--folder must be a folder, got {chosen.folder!r} ({why}); name another"
            ) from error
    if chosen.name == "mnist":
        from lnlib.data import mnist

        print(f"MNIST lies in {mnist.fetch(chosen.folder)}")
        loaded = mnist.load(chosen.folder)
    else:
        loaded = data.load(chosen.name)
    print(
        f"{loaded.name}: {len(loaded.x_train):,} training and {len(loaded.x_test):,} test cases of "
        f"{loaded.x_train.shape[1]} features, SHA-256 {loaded.sha256}"
    )
    return 0


def _bench(chosen: argparse.Namespace) -> int:
    try:
        from bench.__main__ import main as bench
    except ModuleNotFoundError as error:
        if error.name not in ("bench", "bench.__main__"):
            raise
        raise ValueError(
            "the benchmarks are not part of the installed package; run this from a clone's root"
        ) from error
    return bench(keep=chosen.keep)


if __name__ == "__main__":
    sys.exit(main())
