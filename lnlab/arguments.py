"""What can be typed after ``python -m lnlab``: commands, flags, and their help."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import functools
import re
import sys
import textwrap
from typing import Any, NoReturn

from lnlab import config, experiments, messages
from lnlab.datasets import ABOUT, NAMES
from lnlab.experiment import FORMER_STEPS, Experiment
from lnlib import __version__

BOOK = "book"  # in place of an experiment: all the runs that the book has
OUT = "runs"  # the folder that replay writes to, and table and claims read first


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
            near = difflib.get_close_matches(word, flags, 1)
            hint = [f"(did you mean {flags[name]}?)" for name in near]
            read.parser.error(" ".join(["unrecognized arguments:", *unknown, *hint]))
        return read

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a command or a name that is not known, with one that is near."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += messages.suggestion(str(value), map(str, action.choices))
            raise

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence; twenty flags would hide it."""
        self.exit(2, f"{self.prog.replace('python -m ', '')}: {message}; see {self.prog} --help\n")


def parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return what reads a command line; flags that the arguments do not need are left out."""
    names = experiments.names()
    helps = not {"-h", "--help"}.isdisjoint(arguments)
    whole = frozenset(names).intersection(arguments)
    return _build_parser(names, "replay" in arguments, "table" in arguments and helps, whole)


@functools.cache  # a process may read many commands
def _build_parser(
    names: tuple[str, ...], replays: bool, tells: bool, whole: frozenset
) -> argparse.ArgumentParser:
    what = (
        "lnlab, layer normalization computed: repeat the paper's experiments and test its claims."
    )
    parser = _Parser(prog="python -m lnlab", description=what)
    parser.add_argument("--version", action="version", version=f"lnlib {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser(
        "replay", help="run an experiment of the paper (sections 6.1 to 6.7) or of this book"
    )
    if replays:
        kinds = replay.add_subparsers(dest="experiment", required=True)
        for name in names:
            _add_experiment(kinds, experiments.find(name), whole=name in whole)
        what = "all runs of the book that are not yet recorded in --out"
        _add_place(kinds.add_parser(BOOK, help=what, description=f"Record {what}."))
    about = [(name, experiments.find(name).about) for name in names] if tells else []
    table = _add_listing(commands, "table", "summarize recorded runs in a table", about)
    table.add_argument("experiment", choices=names, metavar="experiment")
    runs = f"folder of the records (default: {OUT}, or the book's own if that has none)"
    table.add_argument("--runs", help=runs)
    weighed = commands.add_parser("claims", help="evaluate the paper's claims with recorded runs")
    weighed.add_argument("--runs", help=runs)
    weighed.add_argument("--json", action="store_true", help="print the complete results as JSON")
    about = [(name, "; ".join(told)) for name, told in ABOUT.items()]
    what = "download and verify a data set, or print its location"
    data = _add_listing(commands, "data", what, about)
    data.add_argument("name", choices=NAMES, metavar="name")
    data.add_argument("--folder", help="folder of the data set, or folder to download it to")
    bench = commands.add_parser("bench", help="measure the speed of the norms and of alternatives")
    bench.add_argument(
        "--keep",
        action="store_true",
        help="also add the rows to book/runs/bench.json",
    )
    return parser


def _add_listing(
    commands: argparse._SubParsersAction, name: str, what: str, about: list[tuple[str, str]]
) -> argparse.ArgumentParser:
    """Add a command whose help ends with a list of names and what they are."""
    lines = [
        textwrap.fill(told, 79, initial_indent=f"  {word:<22}", subsequent_indent=" " * 24)
        for word, told in about
    ]
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="\n".join(lines).replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


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
    usual |= {
        k: v for k, v in experiment.sweep_axes.items() if not callable(v)
    } | experiment.defaults
    manual = config.manual(experiment.settings)
    named = config.kinds(experiment.settings)
    for name, kind in named.items():
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
            how["type"] = str if kind.choices else config.typed
            how["metavar"] = name.split("_")[-1].upper()
        if name in experiment.sweep_axes or kind.several:
            how["nargs"] = "+"
        parser.add_argument(config.flag(name), default=argparse.SUPPRESS, **how)
    add = parser.add_argument
    seeds = f"0 to {experiment.defaults['seeds'] - 1}"
    if "seeds" in experiment.on_gpu:
        seeds = f"0 to {experiment.on_gpu['seeds'] - 1} on a GPU, {seeds} on a CPU"
    add("--seeds", nargs="+", type=_seed, help=f"random seeds, one run per seed (default: {seeds})")
    if experiment.scales:
        add(
            "--scale",
            default="laptop",
            choices=["laptop", *experiment.scales],
            help=f"preset for flags that are not given (default: laptop{_scales(experiment)})",
        )
    elif "scale" not in named:
        add(
            "--scale",
            type=_only_scale,
            choices=["laptop"],
            help="only laptop, because the paper does not have this experiment",
        )
    if experiment.steps:
        add(
            "--step",
            default="auto",
            type=lambda name: FORMER_STEPS.get(name, name),
            choices=["auto", *experiment.steps],
            help="how an update is computed (default: auto, the fastest here)",
        )
    _add_place(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--device",
        default="auto",
        help="auto, cpu, cuda or cuda:N (default: auto)",
    )
    add("--threads", type=config.typed, help="number of CPU threads (default: chosen by PyTorch)")
    add("--out", default=OUT, help=f"folder of the records (default: {OUT})")
    add("--again", action="store_true", help="repeat runs that are already recorded")


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _only_scale(text: str) -> str:
    if text == "paper":
        raise argparse.ArgumentTypeError(
            "the paper does not have this experiment, so there are no paper sizes; omit --scale"
        )
    return text


def _scales(experiment: Experiment) -> str:
    """Return what the other scales have, as it would be typed."""
    told = ""
    for scale, given in experiment.scales.items():
        flags = [word for name, value in given.items() for word in config.words(name, value)]
        told += f"; {scale}: {' '.join(flags)}"
    return told


def _seed(text: str) -> int:
    """Refuse a wrong seed before data are asked for or other seeds run for hours."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a seed must be a whole number from 0, got {text!r}")
    if len(text) > 18:
        raise argparse.ArgumentTypeError(f"a seed must have at most 18 digits, got {text!r}")
    return int(text)
