"""What has become of its ideas, counted and read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from lnbook.figures.table import Table

__all__ = ["ideas"]


def ideas(counted: Callable[..., Counter], share: str) -> Table:
    """Put each idea of the paper beside what has become of it.

    Args:
        counted: ``counted(question, data, since, until)``, answers of the table of models.
        share: What recorded runs say of the 60 %.
    """
    norm, late = counted("norm"), counted("norm", "language", since=2023)
    learned = counted("learned", "language", since=2023)
    kept = norm["layer"] + norm["rms"]
    return Table(
        ["idea of 2016", "by November 2026", "how we know"],
        [
            ["statistics of one example", f"{kept} of {norm.total()} models have them", "counted"],
            ["subtract the mean", f"{late['rms']} of {late.total()} language models since 2023 do "
             "not", "counted"],
            ["learn gain and bias", f"gain alone in {learned['gain']} of these, both in "
             f"{learned['both']}", "counted"],
            ["norm the summed inputs", "a transformer's norm reads the residual stream: what the "
             "paper proves of weights no longer holds as it stands", "inferred"],
            ["for recurrent networks", "none of the models is recurrent; the list is ours",
             "inferred"],
            ["for small batches", "a convolutional network without batch norm, ConvNeXt, in 2022",
             "read"],
            ["by less covariate shift", "argued against for batch norm in 2018; open for layer "
             "norm", "read"],
            ["in 60 % of the time", share, "recorded"],
        ],
        "Ideas of the paper, and the models of our table ten years later.",
    )  # fmt: skip
