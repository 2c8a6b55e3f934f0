"""Figures, tables and recorded runs of DRAW (section 6.4)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lnbook.diagrams import Diagram
from lnbook.diagrams.flow import Box, Flow, Wire
from lnbook.figures import run_groups
from lnbook.figures.learning_curves import LearningCurves
from lnbook.figures.run_groups import LAYER, MAIN, NO_NORM, TUNED_INIT
from lnlab.experiments.draw import PAPER

# The bound during training, and the lowest bound at each learning rate.

LEARNING_CURVES = LearningCurves(
    "bound", "test images", "validation images", unit="nats", axis="nats per image", top=215
)  # the initial fall, from 543, is fast and the same for all
CURVES, RATES, controls = LEARNING_CURVES.curves, LEARNING_CURVES.rates, LEARNING_CURVES.controls


# Diagram of one glimpse of DRAW with the layer norm of eqs. 29–31.


def _norm(column: float, cell_name: str) -> Box:
    text = (
        f"$h_t = σ(o) ⊙ tanh(LN(c; α, β))$, eq. 31: in the {cell_name}, only the cell is normalized"
    )
    return Box("norm", column, 1.5, "LN", text, note="α, β", tone="layer")


FLOW = Flow(
    {
        "c": Box("end", 0, 0, "canvas", wide=30),
        "x": Box("end", 0, 1.5, "digit", wide=30),
        "h": Box("end", 0, 2.8, "h_{t−1}"),
        "read": Box(
            "gate", 1.3, 1.5, "read",
            "read window: 25 numbers from the image and 25 from the error image",
            tone="ln-first", wide=32,
        ),
        "encoder": Box(
            "block", 2.45, 1.5, "LSTM", "encoder: its state has 128 numbers",
            note="encoder", wide=40,
        ),
        "norm_e": _norm(3.45, "encoder"),
        "z": Box(
            "weight", 4.4, 1.5, "z",
            "code: a sample of 20 numbers, the only input of the decoder. To generate a new digit, "
            "it is sampled from N(0, 1)",
        ),
        "decoder": Box(
            "block", 5.4, 1.5, "LSTM", "decoder: its state has 128 numbers",
            note="decoder", wide=40,
        ),
        "norm_d": _norm(6.4, "decoder"),
        "write": Box(
            "gate", 7.6, 1.5, "write", "write window: adds a patch of 25 numbers to the canvas",
            tone="ln-second", wide=32,
        ),
        "add": Box("sum", 7.6, 0, text="the canvas is the sum of all patches"),
        "c_next": Box("end", 8.7, 0, "canvas", wide=30),
        "h_next": Box("end", 8.7, 2.8, "h_t"),
    },
    (
        Wire("c", "add"),
        Wire("add", "c_next"),
        Wire("c", "read", start=1.3),
        Wire("x", "read"),
        Wire("h", "encoder", "hv"),
        Wire("h", "read", start=1.3),
        Wire("read", "encoder"),
        Wire("encoder", "norm_e"),
        Wire("norm_e", "z"),
        Wire("z", "decoder"),
        Wire("decoder", "norm_d"),
        Wire("norm_d", "write"),
        Wire("norm_d", "h_next", "vh", start=7),
        Wire("write", "add"),
    ),
    "One glimpse. The read window extracts numbers from the image and from the error "
    "image. Encoder and decoder are LSTMs with one layer norm each. The write window adds a patch "
    "to the canvas. The next glimpse starts from this canvas and from the decoder's $h_t$, which "
    "determines where the window reads.",
)  # fmt: skip


def network() -> Diagram:
    """Return a diagram of one glimpse of DRAW."""
    return FLOW.diagram("One glimpse of DRAW, with the norm of section 6.4")


# The recorded runs, grouped by the settings that the chapter compares.

PAPER_RATE = "both at the paper's learning rate"
TUNED_TOO = "with the tuned initialization"  # these runs are measured every 250 updates


class DrawRuns(run_groups.Runs):
    """The recorded runs of section 6.4."""

    EXPERIMENT, MEASURE = "draw", "test_bound"
    GROUPS: ClassVar = {
        MAIN: {},
        PAPER_RATE: {"learning_rate": PAPER["learning_rate"][0]},
        TUNED_TOO: {"epochs": 32},
        "16 glimpses": {"glimpses": 16},
        "batch size 8": {"batch_size": 8},
    }
    EARLY = 500  # updates before which all arms only clear the background

    def __init__(self, records: Sequence[Mapping[str, Any]], task: Any) -> None:
        super().__init__(records, task)
        selected, main = self.GROUPS[PAPER_RATE].items(), self.records_by_group.get(MAIN, ())
        if runs := [run for run in main if selected <= run["settings"].items()]:
            self.groups[PAPER_RATE] = task.at_best_rates(runs)
            self.records_by_group[PAPER_RATE] = runs
