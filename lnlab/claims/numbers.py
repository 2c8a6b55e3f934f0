"""Numbers of the paper's figures 1 to 5 and tables 2 and 3, with those of the book's runs.

Paper and book differ in data and scale. Compare only the two columns of the same source.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lnlab.claims.finding import Record, Records
from lnlab.claims.recurrent import sentence_tasks
from lnlab.claims.trained import TASKS, RunGroup, at_best, end, run_groups
from lnlab.comparison import NOT_RECORDED
from lnlab.experiments._curves import TARGETS
from lnlab.experiments._task import LAYER, NO_NORM


class Row(NamedTuple):
    """A quantity without norm and with layer norm, in the paper and in the book.

    Attributes:
        description: Description of the quantity, with its unit.
        paper: The paper's values without norm and with layer norm; empty if not given in its text.
        here: The book's values, or ``None`` if they are not recorded.
        experiment: Name of the experiment.
    """

    description: str
    paper: tuple[str, str]
    here: tuple[str, str] | None
    experiment: str

    @property
    def cells(self) -> list[str]:
        """The cells of the row as text."""
        here = self.here or ("", NOT_RECORDED)
        return [self.description, *(text or "–" for text in (*self.paper, *here))]


def _means(group: RunGroup | None, value: Callable[[Record], float], form: str) -> tuple | None:
    if group is None:
        return None
    arms = (group.arms[name].runs.values() for name in (NO_NORM, LAYER))
    return tuple(_mean(np.array([value(run) for run in runs]), form) for runs in arms)


def _mean(values: np.ndarray, form: str) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "no number"
    seeds = f", {len(known)} of {len(values)} seeds" if len(known) < len(values) else ""
    return f"{known.mean():{form}}{seeds}".replace("-", "−")


def _main_group(records: Records, experiment: str) -> RunGroup | None:
    return next(iter(run_groups(records, experiment)), None)


def _at_end(what: str, group: RunGroup | None) -> str:
    """Return the description of a final value, with the reason if it is not that of a plateau."""
    if group is None:
        return what
    arms = (group.arms[name] for name in (NO_NORM, LAYER))
    reason = TASKS[group.experiment].no_plateau(*arms)
    return f"{what} ({reason})" if reason else what


LAST = f"updates to {TARGETS[-1]:.0%} of the way to the baseline's plateau"


def _ratio(group: RunGroup | None) -> tuple[str, str] | None:
    """Return the mean ratio of updates to the last target, as text for both arms."""
    if group is None:
        return None
    task = TASKS[group.experiment]
    reason = task.no_plateau(group.arms[NO_NORM])
    if reason:
        return "", f"not testable: {reason}"
    ratios = task.ratios(group.arms[NO_NORM], group.arms[LAYER])[-1]
    never = int(np.isinf(ratios).sum())
    return "100%", f"never in {never} of {len(ratios)}" if never else f"{ratios.mean():.0%}"


PAPER_BOUNDS = {NO_NORM: 82.36, LAYER: 82.09}  # nats, after 200 passes
PAPER_TABLE_2 = {
    ("caption", "recall_1"): ("46.6", "48.5"),
    ("caption", "recall_5"): ("79.3", "80.6"),
    ("caption", "recall_10"): ("89.1", "89.8"),
    ("caption", "mean_rank"): ("5.2", "5.1"),
    ("image", "recall_1"): ("37.8", "38.9"),
    ("image", "recall_5"): ("73.6", "74.3"),
    ("image", "recall_10"): ("85.7", "86.3"),
    ("image", "mean_rank"): ("7.9", "7.6"),
}
PAPER_TABLE_3 = {
    "SICK, r": ("0.842", "0.854"),
    "SICK, ρ": ("0.767", "0.785"),
    "SICK, MSE": ("0.298", "0.277"),
    "MR, %": ("77.3", "79.5"),
    "CR, %": ("81.8", "82.6"),
    "SUBJ, %": ("92.6", "93.4"),
    "MPQA, %": ("87.9", "89.0"),
}


def _figure_1(records: Records) -> list[Row]:
    group, name = _main_group(records, "order_embeddings"), "order_embeddings"
    score = TASKS[name].score
    epochs = _means(group, lambda run: TASKS[name].at_best(run, "epoch"), ".1f")
    total = _means(group, lambda run: -float(np.nanmin(score(run))), ".1f")  # in percent
    return [
        Row("time to each model's best score (here in epochs)", ("100%", "60%"), epochs, name),
        Row("best R@1 + R@5 + R@10 on validation images, %", ("", ""), total, name),
    ]


def _table_2(records: Records) -> list[Row]:
    group = _main_group(records, "order_embeddings")
    results = []
    for (way, measure), paper in PAPER_TABLE_2.items():
        rank = measure == "mean_rank"
        what = f"{way}s, " + ("mean rank" if rank else f"R@{measure.removeprefix('recall_')}, %")
        factor = 1 if rank else 100
        value = at_best(group, f"test_{way}_{measure}") if group else None
        here = _means(group, lambda run, v=value, f=factor: f * v(run), ".1f")
        results.append(Row(what, paper, here, "order_embeddings"))
    return results


def _figure_2(records: Records) -> list[Row]:
    group = _main_group(records, "attentive_reader")
    here = _means(group, _percent("val_error"), ".1f")
    return [
        Row(_at_end("validation error at the end, %", group), ("", ""), here,
            "attentive_reader"),
        Row(LAST, ("", ""), _ratio(group), "attentive_reader"),
    ]  # fmt: skip


def _percent(name: str) -> Callable[[Record], float]:
    return lambda run: 100 * end(name)(run)


def _figure_3(records: Records) -> list[Row]:
    share = _ratio(_main_group(records, "skip_thoughts"))
    return [Row(LAST, ("", ""), share, "skip_thoughts")]


def _table_3(records: Records) -> list[Row]:
    group = _main_group(records, "skip_thoughts")
    results, reasons = [], defaultdict(str, _reasons(records))
    for what, paper in PAPER_TABLE_3.items():
        task = what.partition(",")[0].lower()
        if task in ("mr", "cr", "subj"):
            here = _means(group, _percent(task), ".1f")
            results.append(Row(what + reasons[task.upper()], paper, here, "skip_thoughts"))
        else:
            results.append(Row(what, paper, ("", "not among the tasks"), "skip_thoughts"))
    pairs = _means(group, _percent("caption_pairs"), ".1f")
    text = f"pairs of captions, AUC, %{reasons['caption pairs']}"
    return [*results, Row(text, ("", ""), pairs, "skip_thoughts")]


def _reasons(records: Records) -> dict[str, str]:
    """Return why each task is not testable, in parentheses, as in the claim about the tasks."""
    reasons = {
        finding.description.removesuffix(" at the end"): finding.untestable
        for finding in sentence_tasks(records)
    }
    return {task: f" ({reason})" * bool(reason) for task, reason in reasons.items()}


def _figure_4(records: Records) -> list[Row]:
    group = _main_group(records, "draw")
    return [
        Row(_at_end("bound at the end, nats", group),
            tuple(f"{bound:.2f}" for bound in PAPER_BOUNDS.values()),
            _means(group, end("test_bound_of_all"), ".2f"), "draw"),
        Row(LAST, ("", "“almost twice as fast”"), _ratio(group), "draw"),
    ]  # fmt: skip


def _figure_5(records: Records) -> list[Row]:
    group = _main_group(records, "handwriting")
    loss = _means(group, end("val_new_nll"), ".3f")
    return [
        Row(_at_end("loss at the end, new writers, nats per point", group), ("", ""), loss,
            "handwriting"),
        Row(LAST, ("", "“much faster”"), _ratio(group), "handwriting"),
    ]  # fmt: skip


#: Maps a figure or table of the paper to the function that returns its rows.
OF = {
    "figure-1": _figure_1,
    "table-2": _table_2,
    "figure-2": _figure_2,
    "figure-3": _figure_3,
    "table-3": _table_3,
    "figure-4": _figure_4,
    "figure-5": _figure_5,
}


def rows(name: str, records: Records) -> list[Row]:
    """Return the paper's and the book's numbers of a figure or table.

    Args:
        name: One of :data:`OF`.
        records: The records of a folder.

    Raises:
        ValueError: If the name is not one of :data:`OF`.
    """
    if name not in OF:
        raise ValueError(f"rows: name must be one of {', '.join(OF)}, got {name!r}")
    return OF[name](records)


def seeds(experiment: str, records: Records) -> int:
    """Return the number of seeds of an experiment's rows; 0 without runs."""
    group = _main_group(records, experiment)
    return len(group.arms[NO_NORM].runs.keys() & group.arms[LAYER].runs.keys()) if group else 0
