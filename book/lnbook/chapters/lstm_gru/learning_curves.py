"""Recorded runs on sequential digits, with and without layer norm, and two live runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.lstm_gru.cell_variants import FORMS
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import (
    NORMS,
    add_line,
    add_points,
    band,
    cursor,
    label_ends,
    log_axis,
    spread,
    suffix,
)
from lnbook.figures.table import Table, badge
from lnlab import comparison as compare
from lnlab.analysis.recorded import Record, RecordedRuns
from lnlab.claims import Finding
from lnlab.claims.feedforward import mnist_end
from lnlab.claims.trained import Arm, curve, end, epochs, to_targets

#: Names of the cells in the records, with and without layer norm.
CELLS = {"LSTM": "lstm", "GRU": "gru", "simple RNN": "rnn"}
STEP_NAMES = {"a row": "row", "a pixel": "pixel"}
MEASURES = {"train_nll": "Training NLL", "test_error": "Test error"}
UNITS = {"train_nll": "nats", "test_error": "%"}
TICKS = {"train_nll": [0.0001, 0.001, 0.01, 0.1, 1], "test_error": [1, 3, 10, 30]}
RANGES = {"train_nll": (0.00007, 5), "test_error": (0.4, 98)}
COMPARED = ("layer", "none")


class SequentialDigitRuns:
    """Recorded runs of sequential digits, one curve per seed.

    A norm is ``layer`` or ``none``. Runs with another form of layer norm, or with other initial
    gains or biases, are named after that, such as ``gain 0.1``.

    Args:
        records: Records from :func:`lnlab.records.read_all`. Those with the same cell, step and
            norm must be measured at the same epochs and differ only in the seed.

    Raises:
        ValueError: If there are no records, or if runs of one band are not comparable.
    """

    def __init__(self, records: Sequence[Record]):
        self._recorded = RecordedRuns(
            records, lambda s: (s["cell"], s["step"], _norm(s)), "make replay"
        )
        #: Cell, step and norm of the bands with another norm than ``layer`` and ``none``.
        self.others = sorted(
            (key for key in self._recorded.groups if not key[2].startswith(COMPARED)), reverse=True
        )

    def seeds(self, cell: str, step: str, norm: str) -> list[int]:
        """Return the seeds of a band, in the order of its curves."""
        return self._recorded.seeds((cell, step, norm))

    def rate(self, cell: str, step: str, norm: str) -> float:
        """Return the learning rate of a band."""
        return self._recorded.runs((cell, step, norm))[0]["settings"]["learning_rate"]

    def epochs(self, cell: str, step: str) -> np.ndarray:
        """Return the epochs (points,) at which the runs were measured, 0 first."""
        return self._recorded.epochs((cell, step, "layer"))

    def curves(self, cell: str, step: str, norm: str, name: str) -> np.ndarray:
        """Return curves ``(seeds, points)``: NLL in nats, test error in percent."""
        return self._recorded.curves((cell, step, norm), name)

    def at(self, epoch: float, cell: str, step: str, norm: str, name: str) -> np.ndarray:
        """Return the values ``(seeds,)`` at the last point measured up to ``epoch``."""
        return self._recorded.at(epoch, (cell, step, norm), name)

    def arms(self, cell: str, step: str, norm: str, against: str = "none") -> tuple[Arm, Arm]:
        """Return the runs with ``against``, and those with ``norm``, by seed."""
        return tuple(
            Arm({r["seed"]: r for r in self._recorded.runs((cell, step, n))}, 0.0, {})
            for n in (against, norm)
        )


def _norm(chosen: dict[str, Any]) -> str:
    """Return the name of a run's norm, by its settings."""
    unusual = []
    if chosen.get("gain", 1) != 1:
        unusual.append(f"gain {chosen['gain']:g}")
    if chosen.get("form", "paper") != "paper":
        unusual.append(FORMS.get(chosen["form"], chosen["form"]))
    if chosen.get("bias_init", "zeros") != "zeros":
        unusual.append("random biases")
    if chosen["norm"] == "none" or not unusual:
        unusual.insert(0, chosen["norm"])
    return ", ".join(unusual)


def draw_learned(
    learned: SequentialDigitRuns, epoch: float, cell: str, step: str
) -> list[go.Figure]:
    """Draw training NLL and test error over epochs, with a cursor at ``epoch``.

    A line is the mean over the seeds; its band reaches from the lowest to the highest.
    """
    return [_learned(learned, name, epoch, cell, step) for name in MEASURES]


def _learned(
    learned: SequentialDigitRuns, name: str, epoch: float, cell: str, step: str
) -> go.Figure:
    figure, epochs = go.Figure(), learned.epochs(cell, step)
    for norm in COMPARED:
        curves = np.maximum(learned.curves(cell, step, norm, name), RANGES[name][0])
        hover = f"epoch %{{x:.3g}}: %{{y:.3g}}{suffix(UNITS[name])}"
        band(figure, epochs, spread(curves), NORMS[norm], hover)
    epoch = min(epoch, float(epochs[-1]))
    for norm in COMPARED:
        mean = learned.at(epoch, cell, step, norm, name).mean()
        add_points(
            figure, [epoch], [max(mean, RANGES[name][0])], (None, NORMS[norm][1], "circle"), size=10
        )
    _axes(figure, name, float(epochs[-1]))
    figure.update_layout(shapes=[cursor(epoch)])
    return label_ends(figure)


def _axes(figure: go.Figure, name: str, until: float) -> None:
    figure.update_layout(
        title=MEASURES[name],
        height=300,
        xaxis={"title": "epochs", "range": [-0.02 * until, 1.02 * until]},
        yaxis=log_axis(TICKS[name], [np.log10(v) for v in RANGES[name]], title=UNITS[name]),
    )


def describe_learned(learned: SequentialDigitRuns, epoch: float, cell: str, step: str) -> str:
    """Describe the mean loss and error of both networks at the cursor."""
    epoch = min(epoch, float(learned.epochs(cell, step)[-1]))
    texts = [
        f"{NORMS[norm][0]} {learned.at(epoch, cell, step, norm, 'train_nll').mean():.2g} nats and "
        f"{learned.at(epoch, cell, step, norm, 'test_error').mean():.1f}%"
        for norm in COMPARED
    ]
    return f"Training NLL and test error after {_epochs(epoch)}: {'; '.join(texts)}."


LEARNED = Picture(
    draw_learned,
    describe_learned,
    alt="Two panels of curves over epochs, training NLL and test error, with and without layer "
    "norm, in a band over the seeds.",
)


def _epochs(epoch: float) -> str:
    return f"{epoch:.3g} epoch{'s' * (epoch != 1)}"


def comparison(learned: SequentialDigitRuns) -> Table:
    """Return a table of updates to the targets and final errors, with and without layer norm.

    See :mod:`lnlab.comparison` for the protocol. Labels are corrected for all rows of the table.
    """
    keys = [(cell, step, "layer") for step in STEP_NAMES.values() for cell in CELLS.values()]
    keys += learned.others
    cell_names = {cell: name for name, cell in CELLS.items()}
    results = [
        [*to_targets(*arms, lambda run: curve(run, "train_nll"), epochs, ""), _errors(*arms)]
        for arms in (learned.arms(*key) for key in keys)
    ]
    labels = compare.labels(
        [
            row_finding.untestable or row_finding.differences
            for row_findings in results
            for row_finding in row_findings
        ]
    )
    tested = sum(label.evidence is compare.Evidence.MANY for label in labels)
    rows, labels_left = [], iter(labels)
    for (cell, step, norm), row_findings in zip(keys, results, strict=True):
        *targets, last = (next(labels_left) for _ in row_findings)
        name = f"{cell_names[cell]}, {step}s" + (f", {norm}" if norm != "layer" else "")
        parts = [_percent(1 + f.differences) for f in row_findings[:-1] if not f.untestable]
        text = ", ".join(parts) or "–"
        rows.append(
            [
                name,
                badge(compare.together(targets)),
                text,
                badge(last),
                row_findings[-1].description,
            ]
        )
    seeds = " or ".join(
        map(str, sorted({finding.seeds for row_findings in results for finding in row_findings}))
    )
    return Table(
        [
            "Cell, input", "Fewer updates?", "Updates to 50, 75, 90% of the way",
            "Lower error?", "Final test error, with and without",
        ],
        rows,
        f"Layer norm compared with no norm, means of {seeds} seeds per row. Updates are relative "
        f"to those without a norm. The labels are corrected for all {tested} tests of this table.",
    )  # fmt: skip


def _percent(ratios: np.ndarray) -> str:
    return f"{100 * ratios.mean():.0f}%" if np.isfinite(ratios).all() else "not in all seeds"


def _errors(plain: Arm, with_norm: Arm) -> Finding:
    common_seeds = plain.runs.keys() & with_norm.runs.keys()
    means = [100 * np.mean([end("test_error")(arm.runs[s]) for s in common_seeds])
             for arm in (with_norm, plain)]  # fmt: skip
    what = "{:.1f} and {:.1f}%".format(*means)
    return mnist_end((plain, with_norm), "test_error", "points", what, factor=100)


def draw_side_by_side(
    results: Sequence[dict[str, dict[str, float]]], **settings: Any
) -> list[go.Figure]:
    """Draw two networks that train side by side: training NLL and test error so far.

    Args:
        results: Results of :func:`lnlab.experiments.sequential_mnist.run.train_norms`, at least
            one.
        **settings: The arguments of that function; they do not affect the figure.
    """
    figures = []
    for name in MEASURES:
        figure = go.Figure()
        hover = f"epoch %{{x:.3g}}: %{{y:.3g}}{suffix(UNITS[name])}"
        for norm in results[-1]:
            add_line(
                figure,
                [r[norm]["epoch"] for r in results],
                [r[norm][name] * (100 if name == "test_error" else 1) for r in results],
                NORMS[norm],
                f"{NORMS[norm][0]}, {hover}<extra></extra>",
                size=4,
            )
        _axes(figure, name, LIVE_EPOCHS)
        figures.append(label_ends(figure))
    return figures


#: Epochs of a live run.
LIVE_EPOCHS = 10


def describe_side_by_side(results: Sequence[dict[str, dict[str, float]]], **settings: Any) -> str:
    """Describe the loss and the error of each network so far."""
    if not results:
        return "Press Start to train both networks side by side. Stop keeps the result so far."
    last = results[-1]
    parts = [
        f"{NORMS[norm][0]} {point['train_nll']:.3f} nats and {point['test_error']:.1%}"
        for norm, point in last.items()
    ]
    epoch = next(iter(last.values()))["epoch"]
    return f"Training NLL and test error after {_epochs(epoch)}: {'; '.join(parts)}."


SIDE_BY_SIDE = Picture(
    draw_side_by_side,
    describe_side_by_side,
    alt="Two panels of curves over epochs, training NLL and test error, one with layer norm and "
    "one without.",
)
