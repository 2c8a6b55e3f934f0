"""Two norms at the end of training, compared seed by seed."""

from lnbook.chapters.mnist.formatting import NAMES
from lnbook.chapters.mnist.runs import FIGURE_6_SIZES, MNISTRuns
from lnbook.figures.plots import NORMS
from lnlab import comparison
from lnlab.claims import Finding, Records
from lnlab.claims.feedforward import mnist_arms, mnist_end


def pairs(runs: MNISTRuns) -> dict[str, tuple[str, str]]:
    """Return the pairs of norms that can be compared, by their label."""
    compared_pairs = [("layer", "batch"), ("layer", "none"), ("layer", "weight"), ("batch", "none")]
    return {
        f"{NORMS[a][0]} − {NORMS[b][0]}": (a, b)
        for a, b in compared_pairs
        if a in runs.norms and b in runs.norms
    }


def at_the_end(
    runs: MNISTRuns,
) -> dict[tuple[str, str, int, str], tuple[Finding, comparison.Label]]:
    """Return the final difference of each pair of norms and its label, corrected for all of them.

    Returns:
        Maps the two norms, the batch size and the curve to these.
    """
    records, result = Records.from_runs("mnist", runs.records), {}
    for first_norm, second_norm in pairs(runs).values():
        for size in FIGURE_6_SIZES:
            if arms := mnist_arms(records, second_norm, first_norm, size):
                for name, unit, factor in (("train_nll", "nats", 1), ("test_error", "points", 100)):
                    ends = mnist_end(arms, name, unit, NAMES[name], factor=factor)
                    result[first_norm, second_norm, size, name] = ends
    labels = comparison.labels([ends.untestable or ends.differences for ends in result.values()])
    return {key: (result[key], label) for key, label in zip(result, labels, strict=True)}
