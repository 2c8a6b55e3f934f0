"""Train with four examples at a time: figure 6 of the paper, from recorded runs, and its claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnbook.show.colors import COLORS
from lnbook.show.picture import Picture
from lnbook.show.plots import NORMS, band, cursor, label_ends, spread, verdict
from lnbook.show.table import FAILS, HOLDS, OPEN, Table
from lnlib.compare import bounds, bounds_name

Record = dict[str, Any]
RATE = 1e-3  # Adam's default, of the runs of figure 6
SIZES = (128, 4)  # of figure 6
PANELS = [
    ("train_nll", 128, "Training NLL, batch size 128"),
    ("train_nll", 4, "Training NLL, batch size 4"),
    ("test_error", 128, "Test error, batch size 128"),
    ("test_error", 4, "Test error, batch size 4"),
]
NAMES = {"train_nll": "Training NLL", "test_nll": "Test NLL", "test_error": "Test error"}
UNITS = {"train_nll": "nats", "test_nll": "nats", "test_error": "%"}
TICKS = {
    "nats": [1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
    "%": [0.5, 1, 1.5, 2, 3, 5, 10, 20, 50],
}
#: How a batch size looks where norms are compared: color, dash.
SIZE_LOOKS = {128: (COLORS["first"], "dash"), 4: (COLORS["second"], "solid")}


class Cell(NamedTuple):
    """What is the same in the runs of a cell; only the seed differs."""

    norm: str
    batch_size: int
    rate: float = RATE

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"{NORMS[self.norm][0]}, batch size {self.batch_size}, learning rate {self.rate:g}"


class Runs:
    """Recorded runs of section 6.6, one curve a seed, ready to be drawn and compared.

    Args:
        records: As :func:`lnlib.runs.record.read_all` returns them, of any norms, batch sizes,
            learning rates and seeds; the runs of one cell measured at the same epochs.

    Raises:
        ValueError: If there are no records, the runs of one cell were measured at different
            epochs, or a seed is there twice.
    """

    def __init__(self, records: Sequence[Record]):
        if not records:
            raise ValueError("Runs: no records were given; record them with: make replay")
        self.records = sorted(records, key=lambda r: r["seed"])
        self.cells: dict[Cell, list[Record]] = {}
        for r in self.records:
            s = r["settings"]
            cell = Cell(s["norm"], s["batch_size"], s["learning_rate"])
            self.cells.setdefault(cell, []).append(r)
        for cell, runs in self.cells.items():
            if len({r["seed"] for r in runs}) < len(runs):
                raise ValueError(f"Runs: {cell}: a seed is there twice; choose by more settings")
            if any(r["curves"]["epoch"] != runs[0]["curves"]["epoch"] for r in runs):
                raise ValueError(
                    f"Runs: {cell}: runs were measured at different epochs; record them with the "
                    "same --epochs"
                )

    @property
    def norms(self) -> list[str]:
        """The norms of figure 6: those recorded at both of its batch sizes."""
        return [n for n in NORMS if all(Cell(n, size) in self.cells for size in SIZES)]

    @property
    def rates(self) -> list[float]:
        """The learning rates at which every norm of the sweep ran with batches of 4."""
        found = sorted({c.rate for c in self.cells if c.batch_size == 4})
        return [r for r in found if all(Cell(n, 4, r) in self.cells for n in self.swept)]

    @property
    def swept(self) -> list[str]:
        """The norms that ran with more than one learning rate at batch size 4."""
        return [n for n in NORMS if len({c.rate for c in self._at_four(n)}) > 1]

    def _at_four(self, norm: str) -> list[Cell]:
        return [c for c in self.cells if (c.norm, c.batch_size) == (norm, 4)]

    @property
    def sweep(self) -> Runs:
        """The runs with batches of 4 at every learning rate, with the seeds that all of them have.

        Raises:
            ValueError: If there is one learning rate alone.
        """
        if not self.swept:
            raise ValueError(
                "Runs: no sweep over learning rates was given; record it with: python -m lnlib "
                "replay mnist --norm layer batch --batch-size 4 --learning-rate RATE RATE …"
            )
        return self.among(Cell(n, 4, r) for n in self.swept for r in self.rates)

    @property
    def over_sizes(self) -> Runs:
        """The runs of norms with more than two batch sizes, with the seeds that all of them have.

        Raises:
            ValueError: If there are two batch sizes at most.
        """
        cells = [c for c in self.cells if c.rate == RATE and len(self.sizes(c.norm)) > 2]
        if not cells:
            raise ValueError(
                "Runs: no other batch sizes than those of figure 6 were given; record them with: "
                "python -m lnlib replay mnist --norm layer batch --batch-size 2 8 16 …"
            )
        return self.among(cells)

    def sizes(self, norm: str | None = None) -> list[int]:
        """Return the batch sizes recorded at the usual learning rate, by one norm or by any."""
        found = {c.batch_size for c in self.cells if c.rate == RATE and norm in (None, c.norm)}
        return sorted(found)

    def seeds(self, cell: Cell) -> list[int]:
        """Return the seeds of a cell, in the order of the rows of its curves."""
        return [r["seed"] for r in self._runs(cell)]

    def epochs(self, cell: Cell) -> np.ndarray:
        """Return the epochs (points,) at which a cell was measured, 0 first."""
        return np.array(self._runs(cell)[0]["curves"]["epoch"])

    def curves(self, cell: Cell, name: str) -> np.ndarray:
        """Return curves ``(seeds, points)``: NLL in nats, test error in percent.

        NaN stands for what was not measured.
        """
        curves = np.array([r["curves"][name] for r in self._runs(cell)], dtype=float)
        return curves * (100 if name == "test_error" else 1)

    def at(
        self, epoch: float, norm: str, batch_size: int, name: str, rate: float = RATE
    ) -> np.ndarray:
        """Return the values ``(seeds,)`` at the last point measured up to ``epoch``."""
        cell = Cell(norm, batch_size, rate)
        point = np.searchsorted(self.epochs(cell), epoch + 1e-3, side="right") - 1
        return self.curves(cell, name)[:, point]

    def difference(self, epoch: float, one: Cell, other: Cell, name: str) -> np.ndarray:
        """Return ``one`` minus ``other`` at an epoch, one number for each seed that both have."""

        def of(cell: Cell) -> dict[int, float]:
            values = self.at(epoch, cell.norm, cell.batch_size, name, cell.rate)
            return dict(zip(self.seeds(cell), values, strict=True))

        a, b = of(one), of(other)
        return np.array([a[seed] - b[seed] for seed in a if seed in b])

    def among(self, cells: Iterable[Cell]) -> Runs:
        """Return these cells alone, with the seeds that all of them have."""
        cells = list(cells)
        seeds = set.intersection(*(set(self.seeds(cell)) for cell in cells))
        if not seeds:
            raise ValueError(
                f"Runs: {', '.join(map(str, cells))} share no seed; record one for all"
            )
        return Runs([r for c in cells for r in self._runs(c) if r["seed"] in seeds])

    def common(self) -> np.ndarray:
        """Return the epochs at which all cells were measured."""
        shared, *others = (self.epochs(cell).round(4) for cell in self.cells)
        for epochs in others:
            shared = np.intersect1d(shared, epochs)
        return shared

    @property
    def last(self) -> float:
        """The last epoch of figure 6."""
        return float(min(self.epochs(Cell(n, size))[-1] for n in self.norms for size in SIZES))

    def _runs(self, cell: Cell) -> list[Record]:
        if cell not in self.cells:
            raise ValueError(
                f"Runs: no run of {cell} was given; record it with: python -m lnlib replay mnist "
                f"--norm {cell.norm} --batch-size {cell.batch_size} --learning-rate {cell.rate:g}"
            )
        return self.cells[cell]


# Figure 6.


def stops(runs: Runs) -> list[float]:
    """Return where the cursor stops: five times in the first epoch, then after each."""
    epochs = runs.among(Cell(norm, 4) for norm in runs.norms).common()
    first = epochs[(epochs > 0) & (epochs < 1)]
    return [0.0, *first[4::5].tolist(), *epochs[epochs >= 1].tolist()]


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
    for size in SIZES:
        parts = [
            f"{NORMS[n][0]} {_nats(runs.at(epoch, n, size, 'train_nll').mean())} nats and "
            f"{runs.at(epoch, n, size, 'test_error').mean():.2f} %"
            for n in norms
        ]
        sentences.append(f"at batch size {size}, {'; '.join(parts)}")
    return f"Training NLL and test error after {_epoch(epoch)}: {', and '.join(sentences)}."


FIGURE_6 = Picture(
    draw,
    describe,
    alt="Four panels of curves over epochs: training NLL above, test error below, batch size 128 "
    "on the left, batch size 4 on the right, one curve a norm.",
)


def _nats(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.5f}"


def _epoch(epoch: float) -> str:
    return f"{epoch:.3g} epoch{'' if epoch == 1 else 's'}"


def _panel(
    runs: Runs, name: str, size: int, title: str, epoch: float, norms: Sequence[str], until: float
) -> go.Figure:
    figure = go.Figure()
    for norm in norms:
        cell = Cell(norm, size)
        values = spread(runs.curves(cell, name))
        hover = f"epoch %{{x:.3g}}: %{{y:.3g}} {UNITS[name]}"
        band(figure, runs.epochs(cell), values, NORMS[norm], hover)
    for norm in norms:
        figure.add_scatter(
            x=[epoch],
            y=[runs.at(epoch, norm, size, name).mean()],
            mode="markers",
            marker={"color": NORMS[norm][1], "size": 10},
            hoverinfo="skip",
            showlegend=False,
        )
    # One range for both batch sizes: side by side they can be compared by eye.
    shown = [runs.curves(Cell(n, s), name) for n in runs.norms for s in SIZES]
    figure.update_layout(
        title=title,
        height=300,
        xaxis={"title": "epochs", "range": [-0.02 * until, 1.02 * until]},
        yaxis=_log(name, shown),
        shapes=[cursor(epoch)],
    )
    return label_ends(figure)


def _log(name: str, shown: Sequence[np.ndarray]) -> dict[str, Any]:
    low, high = min(np.nanmin(c) for c in shown), max(np.nanmax(c) for c in shown)
    ticks = TICKS[UNITS[name]]
    return {
        "type": "log",
        "title": UNITS[name],
        "tickvals": ticks,
        "ticktext": [f"{t:.6f}".rstrip("0").rstrip(".") for t in ticks],
        "range": [np.log10(low / 1.15), np.log10(high * 1.15)],
    }


# The claims, judged.


def claims(runs: Runs) -> Table:
    """Judge what is said of figure 6 by the recorded runs: layer norm against batch norm.

    Each claim is a difference that is below 0 in a run where it is true.
    """
    runs = runs.among(Cell(norm, size) for norm in ("layer", "batch") for size in SIZES)
    end = runs.last

    def below(text: str, size: int, name: str, epoch: float = end) -> list[str]:
        cells = Cell("layer", size), Cell("batch", size)
        layer, batch = (runs.at(epoch, norm, size, name).mean() for norm in ("layer", "batch"))
        d = runs.difference(epoch, *cells, name)
        digits = _digits(name)
        return [text, verdict(d), _said(d, name), f"{layer:.{digits}f} against {batch:.{digits}f}"]

    def steadier(text: str, name: str) -> list[str]:
        layer, batch = (
            abs(runs.difference(end, Cell(norm, 4), Cell(norm, 128), name))
            for norm in ("layer", "batch")
        )
        d, digits = layer - batch, _digits(name)
        by = f"by {layer.mean():.{digits}f} against {batch.mean():.{digits}f}"
        return [text, verdict(d), _said(d, name), by]

    after = f"after {_epoch(end)}"
    rows = [
        below("Batches of 4: lower training NLL after 1 epoch", 4, "train_nll", 1),
        below(f"Batches of 4: lower training NLL {after}", 4, "train_nll"),
        below(f"Batches of 4: lower test error {after}", 4, "test_error"),
        steadier("From 128 to 4 the training NLL changes less", "train_nll"),
        steadier("From 128 to 4 the test error changes less", "test_error"),
        below("Batches of 128: lower training NLL after 1 epoch", 128, "train_nll", 1),
        below(f"Batches of 128: lower training NLL {after}", 128, "train_nll"),
        below(f"Batches of 128: lower test error {after}", 128, "test_error"),
    ]
    return Table(
        ["Layer norm against batch norm", "Verdict", f"Mean difference, {_bounds(runs)}", "Means"],
        rows,
        f"Claims about figure 6 on {_seeds(runs)}, paired: layer norm minus batch norm, "
        "NLL in nats, test error in percentage points.",
    )


def ending(runs: Runs) -> Table:
    """Tabulate where every norm ends at both batch sizes, and judge layer norm against each."""
    runs = runs.among(Cell(norm, size) for size in SIZES for norm in runs.norms)
    rows = []
    for size in SIZES:
        for norm in runs.norms:
            row = [f"{size}, {NORMS[norm][0]}"]
            for name, digits in (("test_error", 2), ("test_nll", 3), ("train_nll", 4)):
                values = runs.at(runs.last, norm, size, name)
                mean, low, high = (f"{v:.{digits}f}" for v in _mean_and_range(values))
                row.append(f"{mean} ({low}–{high})")
                if name == "test_nll":
                    continue
                d = runs.difference(runs.last, Cell("layer", size), Cell(norm, size), name)
                row.append("–" if norm == "layer" else verdict(d))
            rows.append(row)
    return Table(
        [
            "Batches of",
            "Test error, %",
            "Layer norm errs less",
            "Test NLL",
            "Training NLL",
            "Layer norm's is lower",
        ],
        rows,
        f"After {_epoch(runs.last)}, {_seeds(runs)} each: mean, and from lowest to highest.",
    )


def _mean_and_range(values: np.ndarray) -> tuple[float, float, float]:
    return values.mean(), values.min(), values.max()


def _seed_count(runs: Runs) -> int:
    return len({r["seed"] for r in runs.records})


def _seeds(runs: Runs) -> str:
    count = _seed_count(runs)
    return f"{count} seed{'s' * (count != 1)}"


def _bounds(runs: Runs) -> str:
    return bounds_name(_seed_count(runs))


def _digits(name: str) -> int:
    return 2 if name == "test_error" else 4


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _said(differences: np.ndarray, name: str) -> str:
    """Say a mean and its bounds: −0.08 [−0.09, −0.07]."""
    mean = _signed(differences.mean(), _digits(name))
    if len(differences) < 2:
        return f"{mean} [one seed]"
    low, high = (_signed(v, _digits(name)) for v in bounds(differences))
    return f"{mean} [{low},\u00a0{high}]"  # a line does not break within


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
        low, high = np.array([bounds(d) for d in differences]).T
        reach = max(reach, *abs(low), *abs(high))
        mean = np.array([d.mean() for d in differences])
        look = (f"batches of {size}", color, dash)
        band(figure, epochs, (low, mean, high), look, f"epoch %{{x:.3g}}: %{{y:.3g}} {unit}")
    figure.update_layout(
        title=f"{NAMES[name]}, difference in {unit}",
        height=300,
        xaxis={"title": "epochs", "range": [0, 1.02 * runs.last], "zeroline": False},
        yaxis={"range": [-1.1 * reach, 1.1 * reach]},
        shapes=[{"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": 0, "y1": 0,
                 "line": {"width": 1.5, "color": COLORS["gray"]}}],
    )  # fmt: skip
    return label_ends(figure)


def describe_difference(runs: Runs, pair: tuple[str, str]) -> str:
    """Say the difference at the end, its bounds, and who has the lower number."""
    one, other = (NORMS[norm][0] for norm in pair)
    sentences = [f"{one[0].upper()}{one[1:]} minus {other} after {_epoch(runs.last)}"]
    for size in SIZES:
        cells = [Cell(norm, size) for norm in pair]
        said = []
        for name, what in (("train_nll", "training NLL"), ("test_error", "test error")):
            d = runs.difference(runs.last, *cells, name)
            lower = {HOLDS: f"{one} lower", FAILS: f"{other} lower", OPEN: "undecided"}[verdict(d)]
            said.append(f"{what} {_said(d, name)}, {lower}")
        sentences.append(f"Batches of {size}: {'; '.join(said)}")
    return f"{'. '.join(sentences)}."


DIFFERENCE = Picture(
    draw_difference,
    describe_difference,
    alt="Two panels over epochs, training NLL and test error: the mean difference of two norms "
    "within its bounds, a line for batches of 128 and one for batches of 4, and a line at 0.",
)


# The learning rate.


def rate_stops(runs: Runs) -> list[float]:
    """Return the epochs at which the whole sweep was measured, from a quarter of the first on."""
    epochs = runs.sweep.common()
    first = epochs[(epochs > 0) & (epochs < 1)]
    return [*first[4::5].tolist(), *epochs[epochs >= 1].tolist()]


def draw_rates(runs: Runs, epoch: float) -> list[go.Figure]:
    """Draw training NLL and test error at batch size 4 over the learning rate."""
    return [_over_rates(runs, epoch, name) for name in ("train_nll", "test_error")]


def _over_rates(runs: Runs, epoch: float, name: str) -> go.Figure:
    figure, runs = go.Figure(), runs.sweep
    rates = runs.rates
    for norm in runs.swept:
        values = [spread(runs.at(epoch, norm, 4, name, r)) for r in rates]
        hover = f"learning rate %{{x:g}}: %{{y:.3g}} {UNITS[name]}"
        band(figure, rates, np.transpose(values), NORMS[norm], hover, "lines+markers")
    stops = rate_stops(runs)
    shown = [runs.at(e, n, 4, name, r) for e in stops for n in runs.swept for r in rates]
    figure.update_layout(
        title=f"{NAMES[name]}, batch size 4",
        height=320,
        xaxis={
            "type": "log",
            "title": "learning rate",
            "tickvals": rates,
            "ticktext": [f"{r:g}" for r in rates],
            "range": [np.log10(rates[0]) - 0.1, np.log10(rates[-1]) + 0.1],
        },
        yaxis=_log(name, shown),
    )
    return label_ends(figure)


def describe_rates(runs: Runs, epoch: float) -> str:
    """Say at which learning rate each norm is best."""
    said, runs = [], runs.sweep
    for norm in runs.swept:
        rate = best_rate(runs, norm, epoch)
        nll, error = (
            runs.at(epoch, norm, 4, name, rate).mean() for name in ("train_nll", "test_error")
        )
        said.append(f"{NORMS[norm][0]} at {rate:g} ({_nats(nll)} nats, {error:.2f} %)")
    return f"After {_epoch(epoch)} the training NLL is lowest with {'; '.join(said)}."


RATES = Picture(
    draw_rates,
    describe_rates,
    alt="Two panels over the learning rate, training NLL and test error, one curve a norm.",
)


def best_rate(runs: Runs, norm: str, epoch: float) -> float:
    """Return the learning rate of the lowest mean training NLL at batch size 4.

    The choice looks at training cases alone, never at the test cases it is then judged by.
    """
    return min(runs.rates, key=lambda r: runs.at(epoch, norm, 4, "train_nll", r).mean())


def rates(runs: Runs) -> Table:
    """Judge layer norm at each learning rate, and with each norm at its own best."""
    runs = runs.sweep
    end = rate_stops(runs)[-1]
    lines = [(f"batch norm, both at {r:g}", "batch", (r, r)) for r in runs.rates]
    for norm in (n for n in ("batch", "none") if n in runs.swept):
        best = tuple(best_rate(runs, n, end) for n in ("layer", norm))
        lines.append((f"{NORMS[norm][0]}, each at its best: {best[0]:g}, {best[1]:g}", norm, best))
    rows = []
    for text, norm, (of_layer, of_other) in lines:
        row = [text]
        for name in ("train_nll", "test_error"):
            cells = Cell("layer", 4, of_layer), Cell(norm, 4, of_other)
            d = runs.difference(end, *cells, name)
            row += [verdict(d), _said(d, name)]
        rows.append(row)
    return Table(
        [
            "Layer norm against",
            "Lower training NLL",
            "Difference, nats",
            "Lower test error",
            "Difference, points",
        ],
        rows,
        f"With batches of 4 after {_epoch(end)}: mean difference of {_seeds(runs)}, "
        f"{_bounds(runs)}. The best rate is that of the lowest training NLL.",
    )


# The batch size.


def draw_sizes(runs: Runs, nll: str) -> list[go.Figure]:
    """Draw NLL and test error over the batch size, all at equal numbers of cases seen.

    Args:
        runs: The recorded runs; they are read at the last epoch that all of them have.
        nll: ``"train_nll"`` or ``"test_nll"``.
    """
    return [_over_sizes(runs.over_sizes, name) for name in (nll, "test_error")]


def _over_sizes(runs: Runs, name: str) -> go.Figure:
    figure, sizes, epoch = go.Figure(), runs.sizes(), runs.common()[-1]
    for norm in (n for n in NORMS if runs.sizes(n)):
        x = runs.sizes(norm)
        values = [spread(runs.at(epoch, norm, s, name)) for s in x]
        hover = f"batch size %{{x}}: %{{y:.3g}} {UNITS[name]}"
        band(figure, x, np.transpose(values), NORMS[norm], hover, "lines+markers")
    names = ["test_error"] if name == "test_error" else ["train_nll", "test_nll"]
    shown = [runs.at(epoch, c.norm, c.batch_size, n) for c in runs.cells for n in names]
    figure.update_layout(
        title=NAMES[name],
        height=340,
        xaxis={
            "type": "log",
            "title": "batch size",
            "tickvals": sizes,
            "ticktext": ["" if k % 2 else str(s) for k, s in enumerate(sizes)],
            "tickangle": 0,
            "range": [np.log10(sizes[0]) - 0.1, np.log10(sizes[-1]) + 0.1],
        },
        yaxis=_log(name, shown),
    )
    return label_ends(figure)


def describe_sizes(runs: Runs, nll: str) -> str:
    """Say at which batch size each norm errs least and most, and where its NLL is lowest."""
    said, runs = [], runs.over_sizes
    epoch = runs.common()[-1]
    for norm in (n for n in NORMS if runs.sizes(n)):
        errors, nlls = (
            {s: runs.at(epoch, norm, s, name).mean() for s in runs.sizes(norm)}
            for name in ("test_error", nll)
        )
        least, most = min(errors, key=errors.get), max(errors, key=errors.get)
        low = min(nlls, key=nlls.get)
        said.append(
            f"{NORMS[norm][0]} errs least at {least} ({errors[least]:.2f} %), most at {most} "
            f"({errors[most]:.2f} %), its {NAMES[nll].replace('T', 't')} is lowest at {low} "
            f"({_nats(nlls[low])} nats)"
        )
    return f"After {_epoch(epoch)}: {'; '.join(said)}."


BATCH_SIZES = Picture(
    draw_sizes,
    describe_sizes,
    alt="Two panels over the batch size from 1 to 256, NLL and test error, one curve a norm; "
    "batch norm's begins at 2.",
)


# What made the records.


def origin(runs: Runs) -> Table:
    """Say what made the records: one row for each part of the chapter."""

    def part(cell: Cell) -> str:
        if cell.rate != RATE:
            return "Learning rates"
        return "Figure 6" if cell.batch_size in SIZES else "Batch sizes"

    rows = []
    for name in ("Figure 6", "Learning rates", "Batch sizes"):
        cells = [c for c in runs.cells if part(c) == name]
        kept = [r for c in cells for r in runs.cells[c]]
        if not kept:
            continue
        hours = sum(r["provenance"]["wall_s"] for r in kept) / 3600
        rows.append(
            [
                name,
                f"{len(kept)}",
                _list(NORMS[n][0] for n in NORMS if any(c.norm == n for c in cells)),
                _list(f"{s}" for s in sorted({c.batch_size for c in cells})),
                _list(f"{r:g}" for r in sorted({c.rate for c in cells})),
                _list(f"{s}" for s in sorted({r["seed"] for r in kept})),
                _list(f"{e}" for e in sorted({r["settings"]["epochs"] for r in kept})),
                f"{hours:.1f} h",
            ]
        )
    made = [r["provenance"] for r in runs.records]
    threads = (f"{m['device']}, {m['threads']} thread{'s' * (m['threads'] > 1)}" for m in made)
    return Table(
        ["Part", "Runs", "Norms", "Batch sizes", "Rates", "Seeds", "Epochs", "Time in all"],
        rows,
        f"Made on {_list(sorted(set(threads)))}; training step {_list(_steps(made))}; PyTorch "
        f"{_list(sorted({m['torch'] for m in made}))}; "
        f"{_list(sorted({m['date'][:10] for m in made}))}.",
    )


def _steps(made: Iterable[dict[str, Any]]) -> list[str]:
    return sorted({m.get("step", "plain") for m in made})


def _list(values: Iterable[str]) -> str:
    return ", ".join(values)
