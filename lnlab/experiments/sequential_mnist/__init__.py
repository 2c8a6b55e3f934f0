"""Sequential digits: a recurrent network reads an image step by step and then classifies it.

The task is ours, not the paper's: it is small enough to train while the reader waits, on data that
needs no download. The paper's own recurrent experiments (sections 6.1-6.5) take days on a GPU. The
comparison is the paper's: LSTM, GRU and simple recurrent network (eqs. 17-19, 23-25, and 4 without
the norm) with and without layer normalization (eqs. 20-22, 26-28, 4).

With ``row``, each step reads a row of pixels, which gives 8 steps for ``digits``; with ``pixel``,
each step reads one pixel, which gives 64 steps.
"""

import dataclasses
from typing import Literal, get_args

from lnlab import config
from lnlab.config import Betas, Count, Finite, NotNegative, Points, Positive
from lnlab.experiment import Experiment, Grid
from lnlib import registry

Cell = Literal["lstm", "gru", "rnn"]
Norm = Literal["none", "layer"]
Step = Literal["row", "pixel"]
CELLS, NORMS, STEPS = get_args(Cell), get_args(Norm), get_args(Step)
FORMS = {
    name: tuple(form for form, spec in cell.forms.items() if spec.norm == "layer")
    for name, cell in registry.CELLS.items()
}
# Rates by cell, norm and step, chosen on held-out training examples, without using the test
# examples. No other rate of the recorded sweep has a clearly lower NLL there (mean of the last five
# epochs).
TUNED = {
    ("lstm", "none", "row"): 1e-2,
    ("lstm", "layer", "row"): 1e-2,
    ("gru", "none", "row"): 1e-2,
    ("gru", "layer", "row"): 1e-2,
    ("rnn", "none", "row"): 3e-3,
    ("rnn", "layer", "row"): 1e-2,
    ("lstm", "none", "pixel"): 1e-2,
    ("lstm", "layer", "pixel"): 1e-2,
    ("gru", "none", "pixel"): 1e-2,
    ("gru", "layer", "pixel"): 3e-3,
    ("rnn", "none", "pixel"): 3e-3,
    ("rnn", "layer", "pixel"): 1e-3,
}
SEEDS = range(10)  # of the book's runs
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # learning rates of the sweep on held-out examples


@dataclasses.dataclass(frozen=True)
class Settings(config.Settings):
    """Settings of a run.

    Args:
        cell: Recurrent cell: ``lstm``, ``gru``, or ``rnn``, the simple recurrent network with tanh.
        norm: ``none``, the plain cell of ``torch.nn``, or ``layer`` for layer norm in the cell.
        step: Input of a time step: a ``row`` of pixels, or a single ``pixel``, in row-major order.
        data: Data set: ``digits``, or ``mnist``, whose images begin with blank rows (see
            ``bias_init``).
        hidden: Number of units of the recurrent layer.
        learning_rate: Learning rate of Adam. ``None`` selects the rate that a sweep gave
            (:data:`TUNED`) for this cell, norm and step, so that each is compared at its own best
            rate.
        gain: Initial value of the gains of layer norm: 1 in section 6 of the paper, 0 if its
            appendix is read literally.
        form: Variant of layer norm in the cell, as in :mod:`lnlib.nn`.
        recurrent_init: Initialization of ``weight_hh``: ``uniform`` in +-1/sqrt(hidden), as in
            PyTorch, or ``orthogonal``, with an orthogonal square matrix for each gate.
        bias_init: Initialization of the bias of the summed inputs (b in eq. 20; where there is no
            such bias, that of the norm): ``zeros``, or ``uniform`` in +-1/sqrt(hidden). All other
            biases are initialized to 0. With a zero state, zero biases and blank inputs, all inputs
            of a norm are equal, and its derivative is 1/sqrt(eps). Over several such steps, the
            first gradient explodes. ``clip`` is enough for digits; for MNIST the gradient
            overflows, and layer norm needs ``uniform``.
        train_examples: Maximum number of training examples; the first ones are used.
        held_out: Whether to hold out every fifth training example and evaluate on these instead of
            the test examples, so that settings can be chosen without using the test examples.
        measured_examples: Maximum number of training examples on which the training NLL is
            evaluated; the first ones are used, at most as many as there are test examples.
    """

    cell: Cell = "lstm"
    norm: Norm = "layer"
    step: Step = "row"
    data: Literal["digits", "mnist"] = "digits"
    hidden: Count = 64
    epochs: Count = 30
    batch_size: Count = 32
    learning_rate: Positive | None = None
    gain: Finite = 1.0
    form: Literal["paper", "carried", "per_gate", "draw", "parts"] = "paper"
    recurrent_init: Literal["uniform", "orthogonal"] = "uniform"
    bias_init: Literal["zeros", "uniform"] = "zeros"
    clip: Positive | None = 1.0
    adam_betas: Betas = (0.9, 0.999)
    adam_eps: NotNegative = 1e-8
    eps: NotNegative = 1e-5
    train_examples: Count = 55_000
    held_out: bool = False
    measured_examples: Count = 10_000
    first_epoch_points: Points = 5

    def __post_init__(self) -> None:
        """Check the settings, and set the default learning rate."""
        super().__post_init__()
        known = FORMS[self.cell]
        self._must("form", f"one of {', '.join(known)} for {self.cell}", self.form in known)
        self._default("learning_rate", TUNED[self.cell, self.norm, self.step])
        for name in ("gain", "form") if self.norm == "none" else ():
            self._must_be_omitted(name, "where norm is none, it applies to layer norm")


EXPERIMENT = Experiment(
    name="sequence",
    about="ours: digits classified row by row or pixel by pixel by an LSTM, a GRU or a simple RNN",
    paper={"section": "4", "equations": "4, 17-28", "task": "ours, not the paper's"},
    settings=Settings,
    key="{cell}-{norm}-{step}",
    label="{cell}, {norm}, {step}",
    run="lnlab.experiments.sequential_mnist.run:SequentialMNISTRun",
    loss=("batch_nll", "nats"),
    measures={
        "train_nll": "nats",
        "test_nll": "nats",
        "test_error": "fraction",
        "gradient_norm": "nats per unit of a parameter",
    },
    primary_metric="test_error",
    sweep_axes={
        "step": ("row",),
        "cell": CELLS,
        "norm": NORMS,
        "learning_rate": (None,),
        "gain": (1.0,),
    },
    defaults={"seeds": 5},
    grids=(
        Grid(SEEDS, {"step": STEPS}),
        Grid(SEEDS, {"cell": ("lstm",), "norm": ("layer",), "gain": (0.1, 0.0)}),
        Grid(
            SEEDS,
            {"step": ("pixel",), "cell": ("lstm",), "norm": ("layer",), "form": "per_gate"},
        ),
        Grid(range(3), {"step": ("row",), "held_out": True, "learning_rate": RATES}),
        Grid(range(1), {"step": ("pixel",), "held_out": True, "learning_rate": RATES}),
    ),
    threads=1,
)
