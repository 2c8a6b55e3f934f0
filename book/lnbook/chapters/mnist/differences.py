"""Two norms, seed by seed."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lnbook.chapters.mnist.runs import SIZES, Cell, Runs
from lnbook.chapters.mnist.words import NAMES
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS
from lnbook.figures.plots import NORMS, band, label_ends
from lnlab import comparison
from lnlab.claims import Finding, Records, interval
from lnlab.claims.feedforward import mnist_arms, mnist_end

#: How a batch size looks where norms are compared: color, dash.
SIZE_LOOKS = {128: (COLORS["first"], "dash"), 4: (COLORS["second"], "solid")}


def pairs(runs: Runs) -> dict[str, tuple[str, str]]:
    """Return which norms can be compared: from what a reader sees to the two norms."""
    wanted = [("layer", "batch"), ("layer", "none"), ("layer", "weight"), ("batch", "none")]
    return {
        f"{NORMS[a][0]} − {NORMS[b][0]}": (a, b)
        for a, b in wanted
        if a in runs.norms and b in runs.norms
    }


def draw_difference(runs: Runs, pair: tuple[str, str]) -> list[go.Figure]:
    """Draw the mean difference of two norms over the epochs, within its bounds.

    Args:
        runs: The recorded runs.
        pair: The first norm minus the second, seed by seed.
    """
    return [_difference(runs, pair, name) for name in ("train_nll", "test_error")]


def _difference(runs: Runs, pair: tuple[str, str], name: str) -> go.Figure:
    figure = go.Figure()
    unit = "points" if name == "test_error" else "nats"
    reach = 0.0
    for size, (color, dash) in SIZE_LOOKS.items():
        cells = [Cell(norm, size) for norm in pair]
        epochs = runs.among(cells).common()
        epochs = epochs[epochs >= 1]
        differences = [runs.difference(epoch, *cells, name) for epoch in epochs]
        low, high = np.array([comparison.limits(d) for d in differences]).T
        reach = max(reach, *abs(low), *abs(high))
        mean = np.array([d.mean() for d in differences])
        look = (f"batches of {size}", color, dash)
        band(figure, epochs, (low, mean, high), look, f"epoch %{{x:.3g}}: %{{y:.3g}} {unit}")
    figure.update_layout(
        title=f"{NAMES[name]}, difference in {unit}",
        height=300,
        xaxis={"title": "epochs", "range": [0, 1.02 * runs.longest], "zeroline": False},
        yaxis={"range": [-1.1 * reach, 1.1 * reach]},
        shapes=[{"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": 0, "y1": 0,
                 "line": {"width": 1.5, "color": COLORS["gray"]}}],
    )  # fmt: skip
    return label_ends(figure)


def at_the_end(runs: Runs) -> dict[tuple[str, str, int, str], tuple[Finding, comparison.Label]]:
    """Return what each pair of norms ends with, and its label, corrected for all of them.

    Returns:
        By the two norms, the batch size and the curve.
    """
    records, found = Records.given("mnist", runs.records), {}
    for one, other in pairs(runs).values():
        for size in SIZES:
            if arms := mnist_arms(records, other, one, size):
                for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100)):
                    ends = mnist_end(arms, name, unit, NAMES[name], factor=factor)
                    found[one, other, size, name] = ends
    labels = comparison.labels([ends.untestable or ends.differences for ends in found.values()])
    return {key: (found[key], label) for key, label in zip(found, labels, strict=True)}


def describe_difference(runs: Runs, pair: tuple[str, str]) -> str:
    """Say the difference at the end, its bounds, and who has the lower number."""
    one, other = (NORMS[norm][0] for norm in pair)
    ends = at_the_end(runs)
    words = {comparison.SUPPORTED: f"{one} lower", comparison.CONTRADICTED: f"{other} lower"}
    said = [f"At the end, {one} minus {other}"]
    for size in SIZES:
        phrases = []
        for name in ("train_nll", "test_error"):
            finding, label = ends[*pair, size, name]
            few = label.evidence is comparison.Evidence.FEW
            who = f"{one} lower in {label}" if few else words.get(label.text, str(label))
            phrases.append(f"{finding.what.replace('T', 't', 1)} {interval(finding)}, {who}")
        said.append(f"Batches of {size}: {'; '.join(phrases)}")
    return f"{'. '.join(said)}."


DIFFERENCE = Picture(
    draw_difference,
    describe_difference,
    alt="Two panels over epochs, training NLL and test error: the mean difference of two norms "
    "within its bounds, a line for batches of 128 and one for batches of 4, and a line at 0.",
)
