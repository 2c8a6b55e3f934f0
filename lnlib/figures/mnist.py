"""Train with four examples at a time: figure 6 of the paper, from recorded runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lnlib.explore import FAILS, HOLDS, MIXED, Table
from lnlib.figures import NORMS

Record = dict[str, Any]
PANELS = [
    ("train_nll", 128, "Training NLL, batch size 128"),
    ("train_nll", 4, "Training NLL, batch size 4"),
    ("test_error", 128, "Test error, batch size 128"),
    ("test_error", 4, "Test error, batch size 4"),
]
# One range for both batch sizes: side by side they can be compared by eye.
RANGE = {"train_nll": (0.008, 2.6), "test_error": (1.2, 95)}
RACE_RANGE = {"train_nll": (0.001, 3), "test_error": (1, 95)}
UNITS = {"train_nll": "nats", "test_error": "%"}


class Runs:
    """Recorded runs of section 6.6, one curve a seed, ready to be drawn and compared.

    Args:
        records: As :func:`lnlib.replay.record.read_all` returns them: the norms, batch sizes and
            seeds of the figure, measured at the same epochs.

    Raises:
        ValueError: If there are no records, or runs of one batch size were measured at different
            epochs.
    """

    def __init__(self, records: Sequence[Record]):
        if not records:
            raise ValueError("Runs: no records were given; record them with: make replay")
        cells: dict[tuple[str, int], list[Record]] = {}
        for r in sorted(records, key=lambda r: r["seed"]):
            cells.setdefault((r["settings"]["norm"], r["settings"]["batch_size"]), []).append(r)
        self.records = list(records)
        self.norms = [n for n in NORMS if any(norm == n for norm, _ in cells)]
        self.batch_sizes = sorted({size for _, size in cells})
        self.seeds = sorted({r["seed"] for r in records})
        self._curves: dict[tuple[str, int, str], np.ndarray] = {}
        self._epochs: dict[int, np.ndarray] = {}
        for (norm, size), runs in cells.items():
            for run in runs:
                epochs = np.array(run["curves"]["epoch"])
                if not np.array_equal(self._epochs.setdefault(size, epochs), epochs):
                    raise ValueError(
                        f"Runs: runs at batch size {size} were measured at different epochs; "
                        "record them with the same --epochs"
                    )
            for name in ("train_nll", "test_nll", "test_error", "batch_nll"):
                # null stands for "not measured"
                values = [[np.nan if v is None else v for v in run["curves"][name]] for run in runs]
                self._curves[norm, size, name] = np.array(values) * (
                    100 if name == "test_error" else 1
                )

    def epochs(self, batch_size: int) -> np.ndarray:
        """Return the epochs (points,) at which the runs were measured, 0 first."""
        return self._epochs[batch_size]

    def curves(self, norm: str, batch_size: int, name: str) -> np.ndarray:
        """Return curves ``(seeds, points)``: NLL in nats, test error in percent."""
        return self._curves[norm, batch_size, name]

    def at(self, epoch: float, norm: str, batch_size: int, name: str) -> np.ndarray:
        """Return the values ``(seeds,)`` at the last point measured up to ``epoch``."""
        point = np.searchsorted(self.epochs(batch_size), epoch + 1e-3, side="right") - 1
        return self.curves(norm, batch_size, name)[:, point]

    @property
    def last(self) -> float:
        """The last epoch."""
        return float(min(epochs[-1] for epochs in self._epochs.values()))


def draw(runs: Runs, epoch: float, norms: Sequence[str], until: float) -> list[go.Figure]:
    """Draw figure 6: training NLL above, test error below, batch size 128 beside 4.

    Args:
        runs: The recorded runs.
        epoch: Where the cursor stands; it stops at ``until``.
        norms: Which norms to show.
        until: The last epoch of the horizontal axis.

    Returns:
        Four panels. A line is the mean of the seeds, its band reaches from the lowest to the
        highest.
    """
    epoch = min(epoch, until)
    return [_panel(runs, name, size, title, epoch, norms, until) for name, size, title in PANELS]


def describe(runs: Runs, epoch: float, norms: Sequence[str], until: float) -> str:
    """Say where each norm stands at the cursor, mean of the seeds."""
    epoch, sentences = min(epoch, until), []
    for size in (128, 4):
        parts = [
            f"{NORMS[n][0]} {runs.at(epoch, n, size, 'train_nll').mean():.3f} nats and "
            f"{runs.at(epoch, n, size, 'test_error').mean():.2f} %"
            for n in norms
        ]
        sentences.append(f"at batch size {size}, {'; '.join(parts)}")
    return f"Training NLL and test error after {_epoch(epoch)}: {', and '.join(sentences)}."


def _epoch(epoch: float) -> str:
    return f"{epoch:.3g} epoch{'s' * (epoch != 1)}"


def _panel(
    runs: Runs, name: str, size: int, title: str, epoch: float, norms: Sequence[str], until: float
) -> go.Figure:
    figure = go.Figure()
    epochs = runs.epochs(size)
    for norm in norms:
        label, color, dash = NORMS[norm]
        curves = runs.curves(norm, size, name)
        for place, values in (("lowest", curves.min(0)), ("highest", curves.max(0))):
            figure.add_scatter(
                x=epochs,
                y=values,
                name=f"{label}, {place} seed",
                fill="tonexty" if place == "highest" else None,
                fillcolor=_fade(color),
                mode="lines",
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=epochs,
            y=curves.mean(0),
            name=label,
            mode="lines",
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"{label}, epoch %{{x:.3g}}: %{{y:.3g}} {UNITS[name]}<extra></extra>",
        )
    for norm in norms:
        label, color, _ = NORMS[norm]
        figure.add_scatter(
            x=[epoch],
            y=[runs.at(epoch, norm, size, name).mean()],
            mode="markers",
            marker={"color": color, "size": 10},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epochs", "range": [-0.02 * until, 1.02 * until]},
        yaxis={"type": "log", "title": UNITS[name], **_ticks(name, *RANGE[name])},
        shapes=[{"type": "line", "x0": epoch, "x1": epoch, "yref": "paper", "y0": 0, "y1": 1,
                 "line": {"width": 1, "dash": "dot", "color": "#808890"}}],
    )  # fmt: skip
    return figure


def _ticks(name: str, low: float, high: float) -> dict[str, Any]:
    ticks = {
        "train_nll": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1],
        "test_error": [1, 2, 3, 5, 10, 20, 50],
    }[name]
    return {
        "tickvals": ticks,
        "ticktext": [f"{t:g}" for t in ticks],
        "range": [np.log10(low), np.log10(high)],
    }


def _fade(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"


def claims(runs: Runs) -> Table:
    """Judge what section 6.6 says by the recorded runs.

    A claim compares two numbers of each seed. It holds if it does in every seed, fails if it does
    in none, and is mixed otherwise.
    """
    end = runs.last

    def nll(norm: str, size: int, epoch: float = end) -> np.ndarray:
        return runs.at(epoch, norm, size, "train_nll")

    def error(norm: str, size: int) -> np.ndarray:
        return runs.at(end, norm, size, "test_error")

    rows = []
    for size in (128, 4):
        faster = [nll("layer", size, e) < nll("batch", size, e) for e in (1, end)]
        rows.append(
            [
                f"Layer norm trains faster than batch norm on all layers, batch size {size}",
                _verdict(np.concatenate(faster)),
                f"training NLL after 1 epoch {nll('layer', size, 1).mean():.3f} against "
                f"{nll('batch', size, 1).mean():.3f}, after {end:g} epochs "
                f"{nll('layer', size).mean():.3f} against {nll('batch', size).mean():.3f}",
            ]
        )
    change = {norm: error(norm, 4) - error(norm, 128) for norm in ("layer", "batch")}
    rows.append(
        [
            "Layer norm is robust to the batch size",
            _verdict(abs(change["layer"]) < abs(change["batch"])),
            "test error from batch size 128 to 4: "
            + ", ".join(
                f"{NORMS[norm][0]} {error(norm, 128).mean():.2f} to {error(norm, 4).mean():.2f} %"
                for norm in change
            ),
        ]
    )
    for size in (128, 4):
        rows.append(
            [
                f"Beyond the text: layer norm has the lower test error, batch size {size}",
                _verdict(error("layer", size) < error("batch", size)),
                f"test error after {end:g} epochs {error('layer', size).mean():.2f} against "
                f"{error('batch', size).mean():.2f} %",
            ]
        )
    return Table(
        ["Claim", "Verdict", "Here"],
        rows,
        f"The claims of section 6.6, and two more, judged by {len(runs.seeds)} seeds.",
    )


def _verdict(holds: np.ndarray) -> str:
    return HOLDS if holds.all() else MIXED if holds.any() else FAILS


def origin(runs: Runs) -> Table:
    """Say what made the records: one row for each norm and batch size."""
    rows = []
    for size in reversed(runs.batch_sizes):
        for norm in runs.norms:
            cell = {"norm": norm, "batch_size": size}
            kept = [r for r in runs.records if cell.items() <= r["settings"].items()]
            minutes = np.mean([r["provenance"]["wall_s"] for r in kept]) / 60
            rows.append(
                [
                    f"{NORMS[norm][0]}, batch size {size}",
                    ", ".join(str(r["seed"]) for r in kept),
                    _said(f"{r['settings']['epochs']}" for r in kept),
                    f"{minutes:.1f} min",
                ]
            )
    made = [r["provenance"] for r in runs.records]
    devices = _said(f"{m['device']}, {m['threads']} thread{'s' * (m['threads'] > 1)}" for m in made)
    return Table(
        ["Runs", "Seeds", "Epochs", "Time a run"],
        rows,
        f"Made on {devices}; PyTorch {_said(m['torch'] for m in made)}; "
        f"{_said(m['date'][:10] for m in made)}.",
    )


def _said(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def draw_race(results: Sequence[dict[str, dict[str, float]]], **settings: Any) -> list[go.Figure]:
    """Draw norms that train side by side: training NLL and test error so far.

    Args:
        results: As :func:`lnlib.replay.mnist.race` yields them, at least one.
        **settings: As given to it; they do not change the picture.
    """
    panels = [("train_nll", "Training NLL", 1.0), ("test_error", "Test error", 100.0)]
    return [_race(results, name, title, factor) for name, title, factor in panels]


def _race(results: Sequence[dict], name: str, title: str, factor: float) -> go.Figure:
    figure = go.Figure()
    for norm in results[-1]:
        label, color, dash = NORMS[norm]
        figure.add_scatter(
            x=[r[norm]["epoch"] for r in results],
            y=[r[norm][name] * factor for r in results],
            mode="lines+markers",
            name=label,
            line={"color": color, "dash": dash, "width": 2.5},
            marker={"size": 4},
            hovertemplate=f"{label}, epoch %{{x:.3g}}: %{{y:.3g}} {UNITS[name]}<extra></extra>",
        )
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epochs", "range": [-0.2, 10.2]},
        yaxis={"type": "log", "title": UNITS[name], **_ticks(name, *RACE_RANGE[name])},
    )
    return figure


def describe_race(results: Sequence[dict[str, dict[str, float]]], **settings: Any) -> str:
    """Say where each norm stands."""
    if not results:
        return "Press Start to train the networks side by side; Stop keeps what was reached."
    last = results[-1]
    parts = [
        f"{NORMS[norm][0]} {point['train_nll']:.3f} nats, {point['test_error']:.1%} wrong"
        for norm, point in last.items()
    ]
    epoch = next(iter(last.values()))["epoch"]
    return f"After {_epoch(epoch)}: {'; '.join(parts)}."
