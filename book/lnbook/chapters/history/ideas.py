"""A table of the paper's ideas and their use in later models."""

from collections import Counter
from collections.abc import Callable

from lnbook.figures.table import Table


def ideas(counted: Callable[..., Counter], share: str) -> Table:
    """Return a table of the paper's ideas and how much they are used today.

    Args:
        counted: ``counted(question, data, since, until)``, counts of answers.
        share: The result of the recorded runs about the claim of 60%.
    """
    norm, late = counted("norm"), counted("norm", "language", since=2023)
    learned = counted("gain and bias", "language", since=2023)
    in_use = norm["layer"] + norm["rms"]
    return Table(
        ["idea of 2016", "use in November 2026", "source"],
        [
            ["statistics of one example", f"layer norm or RMS norm in {in_use} of {norm.total()} "
             "models", "our table"],
            ["subtract the mean", f"omitted in {late['rms']} of {late.total()} language models "
             "since 2023", "our table"],
            ["learn gain and bias", f"only the gain in {learned['gain']} of these models, both in "
             f"{learned['both']}", "our table"],
            ["normalize the summed inputs", "in a transformer the norm is applied to the residual "
             "stream, so the paper's proofs about weights do not apply directly", "our inference"],
            ["for recurrent networks", "no LSTM or GRU in our table; the linear recurrences of "
             "Mamba-2 and Qwen3.5 have RMS norm before and after them", "papers and code"],
            ["for small batches", "ConvNeXt (2022) is a convolutional network with layer norm in "
            "place of batch norm",
             "papers and code"],
            ["it helps by reducing covariate shift", "disputed for batch norm in 2018; open for "
             "layer norm", "papers and code"],
            ["training in 60% of the time", share, "our runs"],
        ],
        "Ideas of the paper, and their use ten years later in the models of our table.",
    )  # fmt: skip
