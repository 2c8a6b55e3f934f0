"""A table of the normalization modules of PyTorch."""

from lnbook.figures.table import Table

#: Number of means for N examples, C channels, T positions and G groups, by the names in the
#: diagram of the cube; for RMSNorm, the number of root mean squares.
MEANS = {
    "LayerNorm(C)": "N × T",
    "RMSNorm(C)": "N × T",
    "BatchNorm": "C",
    "InstanceNorm": "N × C",
    "GroupNorm(G, C)": "N × G",
    "LayerNorm([C, T])": "N",
}


def summary() -> Table:
    """Return a table that compares the modules."""
    rows = {
        "LayerNorm(C)": ["example and position", "no", "C gains, C biases"],
        "RMSNorm(C)": ["example and position", "no", "C gains"],
        "BatchNorm": ["channel", "yes", "C gains, C biases"],
        "InstanceNorm": ["example and channel", "no", "none by default"],
        "GroupNorm(G, C)": ["example and group of channels", "no", "C gains, C biases"],
        "LayerNorm([C, T])": ["example", "no", "C × T gains, C × T biases"],
    }
    return Table(
        ["module", "one mean per", "means", "running statistics", "learns"],
        [[name, per, MEANS[name], *rest] for name, (per, *rest) in rows.items()],
        "PyTorch's modules with default arguments, for N examples of C channels and T positions, "
        "with G groups. RMSNorm computes root mean squares instead of means. Only BatchNorm "
        "depends on the rest of the batch, in training.",
    )
