"""The command-line parser of ``python -m lnlab``: commands, flags and their help."""

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

BOOK = "book"  # given in place of an experiment, it selects all runs of the book
MAX_JOBS = 1024
OUT = "runs"  # default folder that replay writes to; table and claims look here first
#: Placeholders in the help of settings whose names do not end in the quantity.
METAVARS = {
    "crop": "PIXELS",
    "evaluate_every": "EPOCHS",
    "updates_per_epoch": "UPDATES",
    "warm_up": "UPDATES",
}
#: Maps settings to their former names, whose flags are still accepted but not in the help.
FORMER_NAMES = {
    "attention_examples": "pictures",
    "crop": "cut",
    "evaluate_every": "judge_every",
    "mapped_examples": "mapped_cases",
    "max_length": "longest",
    "measured_examples": "measured_cases",
    "min_count": "least_count",
    "statistics_examples": "statistics_cases",
    "train_examples": "train_cases",
    "updates_per_epoch": "updates_an_epoch",
    "val_examples": "val_cases",
    "window_components": "bells",
}


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # argparse would read -1e-3 and -inf as flags; as numbers, the settings validate them.
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)")
        self.set_defaults(parser=self)  # the parser of a subcommand overrides its parent's

    def parse_args(self, *args: Any) -> argparse.Namespace:
        """Report unknown arguments with the subcommand's usage and the most similar flag."""
        parsed, unknown = self.parse_known_args(*args)
        if unknown:
            actions = parsed.parser._option_string_actions.items()
            flags = {flag.strip("-"): flag for flag, action in actions if not _is_hidden(action)}
            word = unknown[0].partition("=")[0].strip("-").replace("_", "-")
            matches = difflib.get_close_matches(word, flags, 1)
            hint = [f"(did you mean {flags[name]}?)" for name in matches]
            parsed.parser.error(" ".join(["unrecognized arguments:", *unknown, *hint]))
        return parsed

    def _get_option_tuples(self, option_string: str) -> list[tuple]:
        """Return the flags with this abbreviation; hidden ones only if there are no others."""
        matches = super()._get_option_tuples(option_string)
        return [match for match in matches if not _is_hidden(match[0])] or matches

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Report an unknown command or name together with the most similar known one."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += messages.suggestion(str(value), map(str, action.choices))
            raise

    def error(self, message: str) -> NoReturn:
        """Print one sentence without the usage, whose many flags would hide it."""
        self.exit(2, f"{self.prog.replace('python -m ', '')}: {message}; see {self.prog} --help\n")


def _is_hidden(action: argparse.Action) -> bool:
    return action.help == argparse.SUPPRESS


def parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return the parser for these arguments; flags of other experiments are left out."""
    names = experiments.names()
    wants_help = not {"-h", "--help"}.isdisjoint(arguments)
    selected = frozenset(names).intersection(arguments)
    return _build_parser(
        names, "replay" in arguments, "table" in arguments and wants_help, selected
    )


@functools.cache  # tests parse many commands in one process
def _build_parser(
    names: tuple[str, ...], with_experiments: bool, list_experiments: bool, selected: frozenset
) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m lnlab",
        description="Repeat the experiments of the layer normalization paper and test its claims.",
    )
    parser.add_argument("--version", action="version", version=f"lnlib {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    summary = "run an experiment of the paper (sections 6.1 to 6.7) or of this book"
    replay = commands.add_parser("replay", help=summary, description=_sentence(summary))
    if with_experiments:
        subcommands = replay.add_subparsers(dest="experiment", required=True)
        for name in names:
            _add_experiment(subcommands, experiments.find(name), with_flags=name in selected)
        summary = "all runs of the book that are not yet recorded in --out"
        _add_run_flags(subcommands.add_parser(BOOK, help=summary, description=f"Record {summary}."))
    about = [(name, experiments.find(name).about) for name in names] if list_experiments else []
    table = _add_listing(commands, "table", "summarize recorded runs in a table", about)
    table.add_argument(
        "experiment", choices=names, metavar="experiment", help="one of the list below"
    )
    runs = f"folder of the records (default: {OUT}, or the book's records if it has none)"
    table.add_argument("--runs", help=runs)
    summary = "evaluate the paper's claims with recorded runs"
    claims = commands.add_parser("claims", help=summary, description=_sentence(summary))
    claims.add_argument("--runs", help=runs)
    claims.add_argument("--json", action="store_true", help="print the complete results as JSON")
    about = [(name, "; ".join(description)) for name, description in ABOUT.items()]
    summary = "download and verify a data set, or print its location"
    data = _add_listing(commands, "data", summary, about)
    data.add_argument("name", choices=NAMES, metavar="name", help="one of the list below")
    data.add_argument("--folder", help="folder that has the data set, or to download it to")
    summary = "measure the speed of the norms and of other implementations"
    bench = commands.add_parser("bench", help=summary, description=_sentence(summary))
    bench.add_argument(
        "--keep",
        action="store_true",
        help="also add the results to book/runs/bench.json",
    )
    return parser


def _sentence(summary: str) -> str:
    """Return the summary of a command as a sentence."""
    return f"{summary[0].upper()}{summary[1:]}."


def _add_listing(
    commands: argparse._SubParsersAction, name: str, summary: str, about: list[tuple[str, str]]
) -> argparse.ArgumentParser:
    """Add a command whose help ends with a list of names and their descriptions."""
    lines = [
        textwrap.fill(text, 79, initial_indent=f"  {item:<22}", subsequent_indent=" " * 24)
        for item, text in about
    ]
    return commands.add_parser(
        name,
        help=summary,
        description=_sentence(summary),
        epilog="\n".join(lines).replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_experiment(
    subcommands: argparse._SubParsersAction, experiment: Experiment, *, with_flags: bool
) -> None:
    """Add an experiment, with a flag for each of its settings and the flags of every run."""
    about = sys.modules[experiment.settings.__module__].__doc__ or experiment.about
    parser = subcommands.add_parser(
        experiment.name, help=experiment.about, description=about.partition("\n")[0]
    )
    if not with_flags:
        return
    defaults = {field.name: field.default for field in dataclasses.fields(experiment.settings)}
    defaults |= {k: v for k, v in experiment.sweep_axes.items() if not callable(v)}
    defaults |= experiment.defaults
    descriptions = config.field_help(experiment.settings)
    specs = config.field_specs(experiment.settings)
    for name, spec in specs.items():
        default = defaults[name]
        facts = [f"one of {', '.join(spec.choices)}"] if spec.choices else []
        if name in experiment.on_gpu:
            facts.append(f"default: {experiment.on_gpu[name]} on a GPU and {default} on a CPU")
        elif default not in (None, (), (None,), False):
            text = " ".join(map(str, default)) if isinstance(default, list | tuple) else default
            facts.append(f"default: {text}")
        suffix = f" ({'; '.join(facts)})" if facts else ""
        options: dict[str, Any] = {"help": f"{descriptions[name]}{suffix}".replace("%", "%%")}
        if spec.description == "True or False":
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = str if spec.choices else config.parse_word
            options["metavar"] = METAVARS.get(name, name.split("_")[-1].upper())
        if name in experiment.sweep_axes or spec.multiple:
            options["nargs"] = "+"
        parser.add_argument(config.flag(name), default=argparse.SUPPRESS, **options)
        if name in FORMER_NAMES:
            options |= {"dest": name, "help": argparse.SUPPRESS}
            former_flag = config.flag(FORMER_NAMES[name])
            parser.add_argument(former_flag, default=argparse.SUPPRESS, **options)
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
            help=f"values of flags that are not given (default: laptop{_scales(experiment)})",
        )
    elif "scale" not in specs:
        add(
            "--scale",
            type=_laptop_scale,
            choices=["laptop"],
            help="only laptop, because the paper does not have this experiment",
        )
    if experiment.steps:
        add(
            "--step",
            default="auto",
            type=lambda name: FORMER_STEPS.get(name, name),
            choices=["auto", *experiment.steps],
            help="implementation of an update (default: auto, the fastest one on this machine)",
        )
    _add_run_flags(parser)


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where runs are computed and recorded."""
    add = parser.add_argument
    add("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
    add(
        "--threads",
        type=config.parse_word,
        help="number of CPU threads (default: chosen by PyTorch)",
    )
    add("--jobs", type=_jobs, default=1, help="number of runs at a time (default: 1)")
    add(
        "--engine",
        default="loky",
        choices=["loky", "dask"],
        help="loky: processes of this machine; dask: a cluster of machines (default: loky)",
    )
    add("--scheduler", metavar="ADDRESS", help="address of the scheduler of a Dask cluster")
    add("--out", default=OUT, help=f"folder of the records (default: {OUT})")
    add("--again", action="store_true", help="repeat runs that are already recorded")


def _laptop_scale(text: str) -> str:
    if text == "paper":
        raise argparse.ArgumentTypeError(
            "the paper does not have this experiment, so there are no paper sizes; omit --scale"
        )
    return text


def _scales(experiment: Experiment) -> str:
    """Return the other scales, each with the flags that it stands for."""
    text = ""
    for scale, values in experiment.scales.items():
        flags = [word for name, value in values.items() for word in config.cli_args(name, value)]
        text += f"; {scale}: {' '.join(flags)}"
    return text


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_JOBS):
        raise argparse.ArgumentTypeError(
            f"it must be a whole number from 1 to {MAX_JOBS}, got {text!r}"
        )
    return int(text)


def _seed(text: str) -> int:
    """Parse a seed; an invalid one is reported before data are loaded or other seeds are run."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a seed must be a whole number from 0, got {text!r}")
    if len(text) > 18:
        raise argparse.ArgumentTypeError(f"a seed must have at most 18 digits, got {text!r}")
    return int(text)
