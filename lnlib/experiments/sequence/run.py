"""Sequential digits: a recurrent network reads an image step by step and then says which digit.

The task is ours, not the paper's: small enough to train in front of a reader, on data that is
always there. The paper's own recurrent experiments (sections 6.1-6.5) take days on a GPU. What is
compared is the paper's: LSTM, GRU and simple network (eqs. 17-19, 23-25, 4 without the norm) with
and without layer normalization (eqs. 20-22, 26-28, 4).

``row`` reads a row of pixels a step, 8 steps for ``digits``; ``pixel`` one pixel a step, 64 steps.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lnlib.data import Dataset
from lnlib.nn import LayerNormGRU, LayerNormLSTM, LayerNormRNN
from lnlib.runs.settings import Settings as Base
from lnlib.runs.settings import command
from lnlib.runs.train import (
    Classification,
    Recipe,
    record_runs,
    resolve_device,
    train_together,
    unusual,
)

CELLS = ("lstm", "gru", "rnn")
NORMS = ("none", "layer")
STEPS = ("row", "pixel")
FORMS = {
    "lstm": ("paper", "carried", "per_gate", "draw"),
    "gru": ("paper",),
    "rnn": ("paper", "parts"),
}
# What the command line runs if a flag is not given; of these, several values are several runs.
SEVERAL = {
    "step": ("row",),
    "cell": CELLS,
    "norm": NORMS,
    "learning_rate": (None,),
    "gain": (1.0,),
}
SEEDS = 5
PAPER = {"section": "4", "equations": "4, 17-28", "task": "ours, not the paper's"}
# Cell, norm, step: chosen on training cases held out, without a look at the test cases. No other
# rate of the recorded sweep has a clearly lower NLL there, as the mean of the last five epochs.
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
_PLAIN = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
_NORMALIZED = {"lstm": LayerNormLSTM, "gru": LayerNormGRU, "rnn": LayerNormRNN}
_GATES = {"lstm": 4, "gru": 3, "rnn": 1}


@dataclasses.dataclass(frozen=True)
class Settings(Base):
    """Everything that is chosen before a run.

    Args:
        cell: ``lstm``, ``gru`` or ``rnn``, the simple network with tanh.
        norm: ``none``, which is ``torch.nn``'s, or ``layer``.
        step: What one time step reads: a ``row`` of pixels, or a ``pixel``, row after row.
        data: ``digits``, or ``mnist``, whose images begin with blank rows: see ``bias_init``.
        hidden: Units of the one recurrent layer.
        epochs: Passes over the training cases.
        batch_size: A last, smaller batch of an epoch is left out.
        learning_rate: Adam's. ``None`` takes the one that :data:`TUNED` has for this cell, norm and
            step, so that each is compared at its own best.
        gain: What the gains of layer norm start at. The paper says 1 in section 6; its appendix,
            read literally, 0.
        form: Of layer norm, as for :mod:`lnlib.nn`.
        recurrent_init: Of ``weight_hh``: ``uniform`` in +-1/sqrt(hidden), as PyTorch does, or
            ``orthogonal``, each gate's square by itself.
        bias_init: Of the summed inputs' bias (eq. 20's b; a norm's own where there is no other):
            ``zeros``, or ``uniform`` in +-1/sqrt(hidden). All others start at 0. From a zero state,
            zero biases and blank inputs every norm sees equal numbers, where its slope is
            1/sqrt(eps): over several such steps the first gradient explodes. ``clip`` tames that
            for digits; for MNIST it overflows, and layer norm needs ``uniform``.
        clip: Longest gradient, as a Euclidean norm over all parameters; a longer one is shortened
            to it. ``None`` never shortens.
        adam_betas: Adam's decay rates.
        adam_eps: Adam's epsilon.
        eps: Inside the root of layer norm; the paper's equations have none.
        train_cases: The first so many training cases, at most all.
        held_out: Keep every fifth training case out and measure on these in place of the test
            cases: to choose settings without a look at the test cases.
        measured_cases: Training cases on which the training NLL is measured: the first so many,
            and no more than there are cases to test on.
        first_epoch_points: How often to measure within the first epoch.
    """

    cell: str = "lstm"
    norm: str = "layer"
    step: str = "row"
    data: str = "digits"
    hidden: int = 64
    epochs: int = 30
    batch_size: int = 32
    learning_rate: float | None = None
    gain: float = 1.0
    form: str = "paper"
    recurrent_init: str = "uniform"
    bias_init: str = "zeros"
    clip: float | None = 1.0
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_eps: float = 1e-8
    eps: float = 1e-5
    train_cases: int = 55_000
    held_out: bool = False
    measured_cases: int = 10_000
    first_epoch_points: int = 5

    def __post_init__(self) -> None:
        """Refuse what cannot be run, and look up the learning rate that is not given."""
        self._one_of(cell=CELLS)
        self._one_of(
            norm=NORMS,
            step=STEPS,
            data=("digits", "mnist"),
            recurrent_init=("uniform", "orthogonal"),
            bias_init=("zeros", "uniform"),
        )
        known = FORMS[self.cell]
        self._must("form", f"one of {', '.join(known)} for {self.cell}", self.form in known)
        self._must("held_out", "True or False", isinstance(self.held_out, bool))
        self._whole(
            "hidden",
            "epochs",
            "batch_size",
            "train_cases",
            "measured_cases",
            "first_epoch_points",
        )
        if self.learning_rate is None:
            tuned = TUNED[self.cell, self.norm, self.step]
            object.__setattr__(self, "learning_rate", tuned)
        self._positive("learning_rate")
        if self.clip is not None:
            self._number("clip", "a positive number, or none", lambda value: value > 0)
        self._number("gain", "a finite number", lambda value: True)
        self._betas("adam_betas")
        self._not_negative("adam_eps", "eps")
        for name, usual in (("gain", 1.0), ("form", "paper")) if self.norm == "none" else ():
            self._must(
                name,
                "left out where norm is none, it is layer norm's",
                getattr(self, name) == usual,
            )

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the settings that have no effect in this run."""
        return () if self.norm == "layer" else ("eps",)


class Reader(nn.Module):
    """One recurrent layer that reads a sequence, and a linear layer on its last output.

    Args:
        recurrent: Called as ``nn.LSTM`` is, sequence first.
        inputs: Features of a case that one step reads.
        hidden: Outputs of the recurrent layer.
        classes: Outputs of the linear layer.
    """

    def __init__(self, recurrent: nn.Module, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.recurrent = recurrent
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map cases ``(B, T * inputs)`` to logits ``(B, classes)``."""
        steps = x.unflatten(1, (-1, self.inputs)).transpose(0, 1)  # (T, B, inputs)
        outputs, _ = self.recurrent(steps)
        return self.head(outputs[-1])


def network(
    settings: Settings, features: int, classes: int, *, generator: torch.Generator
) -> Reader:
    """Build the network, with or without layer norm on the same weights.

    Args:
        settings: Cell, norm, step, initialization.
        features: Of a case, 64 for digits: a square image, row after row.
        classes: 10.
        generator: Draws the three weight matrices, in order, then the bias if it is not 0.

    Returns:
        A module that maps ``(B, features)`` to logits ``(B, classes)``.

    Raises:
        ValueError: If ``step`` is ``row`` and the image is no square.
    """
    inputs, H, gates = 1, settings.hidden, _GATES[settings.cell]
    if settings.step == "row":
        inputs = math.isqrt(features)
        if inputs**2 != features:
            raise ValueError(
                f"network: a row a step needs square images, got {features} features; "
                "choose step='pixel'"
            )
    if settings.norm == "none":
        recurrent = _PLAIN[settings.cell](inputs, H)
    else:
        form = {} if settings.cell == "gru" else {"form": settings.form}
        recurrent = _NORMALIZED[settings.cell](
            inputs, H, eps=settings.eps, gain=settings.gain, **form
        )
    model = Reader(recurrent, inputs, H, classes)
    bound = 1 / math.sqrt(H)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.zero_()
        weight_ih, weight_hh = recurrent.weight_ih_l0, recurrent.weight_hh_l0
        weight_ih.uniform_(-bound, bound, generator=generator)
        if settings.recurrent_init == "uniform":
            weight_hh.uniform_(-bound, bound, generator=generator)
        else:
            for square in weight_hh.split(H):
                nn.init.orthogonal_(square, generator=generator)
        model.head.weight.uniform_(-bound, bound, generator=generator)
        biases = _biases(recurrent)
        if settings.bias_init == "uniform":
            drawn = torch.empty(gates * H).uniform_(-bound, bound, generator=generator)
            for bias, part in zip(biases, drawn.split([len(b) for b in biases]), strict=True):
                bias.copy_(part)
        if settings.cell == "gru" and settings.norm == "none":
            # PyTorch's z keeps what the paper's z replaces: 1 - s(z) = s(-z). With these signs both
            # networks start as one function but for the norm.
            for parameter in (weight_ih, weight_hh, *biases):
                parameter[H : 2 * H].neg_()
    return model


def _biases(recurrent: nn.Module) -> list[torch.Tensor]:
    """Return the bias of the summed inputs, in the order of the gates; it may lie in norms."""
    own = [b for name, b in recurrent.named_parameters() if name in ("bias_ih_l0", "bias_l0")]
    if own:
        return own
    norms = ("layernorm_i_l0", "layernorm_in_l0", "layernorm_s_l0")
    return [getattr(recurrent, name).bias for name in norms if hasattr(recurrent, name)]


class Replay(Classification):
    """One run: one cell, one norm, one seed. Feed it to ``train``.

    The seed draws the weights and the order of the cases, and neither depends on the norm: runs of
    one seed differ in the norm, and in the learning rate where it is tuned.

    Args:
        settings: What is chosen.
        data: Training and test cases.
        seed: From 0.
        device: Where model and data live.

    Raises:
        ValueError: If there are fewer training cases than ``batch_size``, or ``seed`` is negative.
    """

    def __init__(
        self,
        settings: Settings,
        data: Dataset,
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(settings, data, seed=seed, device=device)
        generator = torch.Generator().manual_seed(seed)  # on the CPU: one W for all devices
        model = network(settings, self.x.shape[1], self.classes, generator=generator)
        self.model = model.to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            betas=settings.adam_betas,
            eps=settings.adam_eps,
            fused=True,
        )
        self._norms: list[torch.Tensor] = []
        self.optimizer.register_step_pre_hook(self._clip)

    @staticmethod
    def split(settings: Settings, data: Dataset) -> Dataset:
        """Return the cases to train on and those to measure on."""
        x, y = data.x_train, data.y_train
        if settings.held_out:
            out = slice(4, None, 5)
            kept = torch.ones(len(x), dtype=torch.bool)
            kept[out] = False
            kept = kept.numpy()
            data = dataclasses.replace(
                data, x_train=x[kept], y_train=y[kept], x_test=x[out], y_test=y[out]
            )
        return Classification.split(settings, data)

    def _clip(self, *_: Any) -> None:
        longest = math.inf if self.chosen.clip is None else self.chosen.clip
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), longest)
        self._norms.append(norm)

    def measure(self) -> dict[str, float]:
        """Measure training NLL (nats), test NLL (nats), test error (a fraction), gradient norm.

        ``gradient_norm`` is the mean over the updates since the last measurement, each before
        clipping; NaN before the first update.
        """
        norms, self._norms = self._norms, []
        mean = float(torch.stack(norms).mean()) if norms else math.nan
        return super().measure() | {"gradient_norm": mean}


def race(
    norms: Sequence[str], data: Dataset, *, seed: int = 0, device: str = "auto", **settings: Any
) -> Iterator[dict[str, dict[str, float]]]:
    """Train one network for each norm, side by side, and yield where they stand.

    Args:
        norms: For example ``("layer", "none")``.
        data: Training and test cases.
        seed: The same for all: one W, one order of the cases.
        device: As for :func:`record_all`.
        **settings: Other fields of :class:`Settings`.

    Yields:
        From norm to a point of :func:`lnlib.runs.train.train`, all at the same epoch.
    """
    where = resolve_device(device)
    chosen = {norm: Settings(norm=norm, data=data.name, **settings) for norm in norms}
    yield from train_together(
        {norm: Replay(s, data, seed=seed, device=where) for norm, s in chosen.items()}
    )


def record_all(
    settings: list[Settings],
    seeds: list[int],
    *,
    out: Path,
    device: str = "auto",
    again: bool = False,
) -> list[Path]:
    """Run every pair of settings and seed that has no record yet, with a bar and checkpoints.

    See :func:`lnlib.runs.train.record_runs`.

    Args:
        settings: One for each cell, norm, step and so on.
        seeds: Seeds for each of them.
        out: Folder of the records.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        again: Run again what is already recorded.

    Returns:
        The records' paths, one for each run, new or not.
    """
    return record_runs(_RECIPE, settings, seeds, out=out, device=device, again=again)


def _base(settings: Settings) -> Settings:
    given = {k: getattr(settings, k) for k in ("cell", "norm", "step", "data", "epochs")}
    return Settings(**given)


def _name(settings: Settings, seed: int) -> str:
    data = [settings.data] if settings.data != "digits" else []
    kind = [settings.cell, settings.norm, settings.step]
    extra = unusual(settings, _base(settings))
    return "-".join(["sequence", *data, *kind, *extra, f"seed{seed}"])


def _command(replay: Replay) -> list[str]:
    always = ("cell", "norm", "step", "data", "epochs", "learning_rate")
    return command("sequence", replay.chosen, replay.seed, *always)


_RECIPE = Recipe(
    experiment="sequence",
    paper=PAPER,
    replay=Replay,
    name=_name,
    label=lambda s: f"{s.cell}, {s.norm}, {s.step}",
    command=_command,
)
