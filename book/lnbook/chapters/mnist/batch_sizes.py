"""Loss and error by batch size, from 1 to 256."""

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.mnist.formatting import (
    NAMES,
    UNITS,
    epoch_text,
    measure_axis,
    nats,
)
from lnbook.chapters.mnist.runs import MNISTRuns, RunKey
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.plots import NORMS, band, label_ends, log_axis, spread, suffix


def draw_sizes(runs: MNISTRuns, nll: str) -> list[go.Figure]:
    """Draw NLL and test error over the batch size, after the same number of examples.

    Args:
        runs: The recorded runs; the last epoch that all of them have is used.
        nll: ``"train_nll"`` or ``"test_nll"``.
    """
    return [_over_sizes(runs.size_sweep, name) for name in (nll, "test_error")]


def _over_sizes(runs: MNISTRuns, name: str) -> go.Figure:
    figure, sizes, epoch = go.Figure(), runs.batch_sizes(), runs.common()[-1]
    for norm in (n for n in NORMS if runs.batch_sizes(n)):
        x = runs.batch_sizes(norm)
        values = [spread(runs.at(epoch, RunKey(norm, s), name)) for s in x]
        hover = f"batch size %{{x}}: %{{y:.3g}}{suffix(UNITS[name])}"
        band(figure, x, np.transpose(values), NORMS[norm], hover, "lines+markers")
    names = ["test_error"] if name == "test_error" else ["train_nll", "test_nll"]
    shown = [runs.at(epoch, c, n) for c in runs.groups for n in names]
    figure.update_layout(
        title=NAMES[name],
        height=340,
        xaxis=log_axis(
            sizes,
            [np.log10(sizes[0]) - 0.1, np.log10(sizes[-1]) + 0.1],
            title="batch size",
            texts=["" if k % 2 else str(s) for k, s in enumerate(sizes)],
        ),
        yaxis=measure_axis(name, shown),
    )
    return label_ends(figure)


def describe_sizes(runs: MNISTRuns, nll: str) -> str:
    """Describe at which batch sizes error and NLL of each norm are lowest and highest."""
    phrases, runs = [], runs.size_sweep
    epoch = runs.common()[-1]
    for norm in (n for n in NORMS if runs.batch_sizes(n)):
        errors, nlls = (
            {s: runs.at(epoch, RunKey(norm, s), name).mean() for s in runs.batch_sizes(norm)}
            for name in ("test_error", nll)
        )
        least, most = min(errors, key=errors.get), max(errors, key=errors.get)
        low = min(nlls, key=nlls.get)
        phrases.append(
            f"{NORMS[norm][0]}: test error lowest at {least} ({errors[least]:.2f}%) and highest at "
            f"{most} ({errors[most]:.2f}%), {NAMES[nll].replace('T', 't')} lowest at {low} "
            f"({nats(nlls[low])} nats)"
        )
    return f"After {epoch_text(epoch)}. {'. '.join(p[0].upper() + p[1:] for p in phrases)}."


BATCH_SIZES = Picture(
    draw_sizes,
    describe_sizes,
    alt="Two panels over the batch size from 1 to 256, NLL and test error, one curve per norm. The "
    "curve of batch norm begins at 2.",
)
