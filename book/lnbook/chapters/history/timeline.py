"""A timeline of seven ideas, each a row of dated papers."""

from dataclasses import dataclass

import plotly.graph_objects as go

from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import COLORS

MONTHS = "January February March April May June July August September October November December"


@dataclass(frozen=True)
class Event:
    """A dated paper.

    Args:
        key: The key in ``references.bib``.
        who: The authors, as in a sentence.
        number: The arXiv number, which begins with year and month.
        what: The contribution of the paper.
    """

    key: str
    who: str
    number: str
    what: str


def month(number: str) -> tuple[int, int]:
    """Return the year and month of an arXiv number of April 2007 or later.

    Example:
        >>> month("1607.06450")
        (2016, 7)
    """
    return 2000 + int(number[:2]), int(number[2:4])


PAPER = "1607.06450"
BA = ("Ba2016", "Ba et al.", PAPER)

#: Maps an idea to its papers, in chronological order.
LANES = {
    "normalization axes": [
        Event("Ioffe2015", "Ioffe and Szegedy", "1502.03167", "statistics over the batch"),
        Event(*BA, "statistics over the units of one example"),
        Event(
            "Ulyanov2016",
            "Ulyanov et al.",
            "1607.08022",
            "statistics over one channel of one image",
        ),
        Event("Wu2018", "Wu and He", "1803.08494", "statistics over groups of channels"),
    ],
    "the mean": [
        Event(*BA, "subtracted, as in batch norm"),
        Event("Zhang2019", "Zhang and Sennrich", "1910.07467", "omitted: RMS norm"),
        Event("Rae2021", "Rae et al.", "2112.11446", "omitted in Gopher"),
        Event("Touvron2023", "Touvron et al.", "2302.13971", "omitted in LLaMA"),
    ],
    "gain and bias": [
        Event(*BA, "learned, one of each per unit"),
        Event("Perez2018", "Perez et al.", "1709.07871", "predicted from a conditioning input"),
        Event("Raffel2019", "Raffel et al.", "1910.10683", "no bias in T5"),
        Event("Groeneveld2024", "Groeneveld et al.", "2402.00838", "neither, in OLMo"),
    ],
    "position": [
        Event(*BA, "on the summed inputs of a layer"),
        Event("Vaswani2017", "Vaswani et al.", "1706.03762", "after each residual addition"),
        Event("Wang2019", "Wang et al.", "1906.01787", "before each sublayer, for deep networks"),
        Event("Henry2020", "Henry et al.", "2010.04245", "on queries and keys as well"),
        Event("Liu2021", "Liu et al.", "2111.09883", "on the output of each sublayer"),
    ],
    "recurrent networks": [
        Event("Laurent2016", "Laurent et al.", "1510.01378", "batch norm, only on the inputs"),
        Event(
            "Cooijmans2016",
            "Cooijmans et al.",
            "1603.09025",
            "batch norm, with separate statistics per time step",
        ),
        Event(*BA, "layer norm, the same at every time step"),
        Event(
            "Vaswani2017",
            "Vaswani et al.",
            "1706.03762",
            "layer norm in a network without recurrence",
        ),
    ],
    "why it works": [
        Event(
            "Ioffe2015",
            "Ioffe and Szegedy",
            "1502.03167",
            "it reduces covariate shift, by hypothesis",
        ),
        Event(*BA, "the same hypothesis"),
        Event(
            "Santurkar2018", "Santurkar et al.", "1805.11604", "argued against it for batch norm"
        ),
    ],
    "is it needed?": [
        Event(*BA, "training is faster with it"),
        Event("Heimersheim2024", "Heimersheim", "2409.13710", "removed from a trained GPT-2"),
        Event("Zhu2025", "Zhu et al.", "2503.10622", "replaced with a tanh"),
        Event(
            "Verma2026", "Verma", "2604.23434", "the tanh helps in some regimes and harms in others"
        ),
    ],
}


SINCE = 2000  # dates are relative to this year, because the page rounds numbers to four digits


def horizontal_position(event: Event) -> float:
    """Return the date in years since :data:`SINCE`, at the middle of the month."""
    year, number = month(event.number)
    return year - SINCE + (number - 0.5) / 12


def dated(event: Event) -> str:
    """Return an event as text: contribution, authors, date."""
    year, number = month(event.number)
    return f"{event.what} ({event.who}, {MONTHS.split()[number - 1]} {year})"


def draw_timeline(idea: str) -> go.Figure:
    """Draw one row per idea, and number the papers of the chosen idea."""
    figure, names = go.Figure(), list(LANES)
    for row, (name, events) in enumerate(LANES.items()):
        chosen = name == idea
        # Adjacent marks are slightly above and below their line, so that none hides another.
        lift = [(-0.2, 0.2)[k % 2] if chosen else 0 for k in range(len(events))]
        figure.add_scatter(
            x=[round(horizontal_position(e), 3) for e in events],
            y=[row + up for up in lift],
            mode="lines+markers+text" if chosen else "markers",
            line={"color": COLORS["layer"], "width": 1.5} if chosen else None,
            text=[str(k) for k in range(1, len(events) + 1)] if chosen else None,
            textfont={"color": COLORS["ink"], "size": 12} if chosen else None,
            textposition=[f"{'top' if up < 0 else 'bottom'} center" for up in lift]
            if chosen
            else None,
            name=name,
            marker={
                "opacity": 1,
                "line": {"width": 0},
                "size": [(12 if chosen else 7) + 3 * (e.number == PAPER) for e in events],
                "color": COLORS["layer" if chosen else "gray"],
                "symbol": ["star" if e.number == PAPER else "circle" for e in events],
            },
            customdata=[dated(e) for e in events],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
        )
    paper = horizontal_position(LANES["the mean"][0])
    figure.update_layout(
        height=360,
        xaxis={
            "range": [14.6, 26.9],
            "tickvals": list(range(16, 27, 3)),
            "ticktext": [str(SINCE + year) for year in range(16, 27, 3)],
            "tickangle": 0,
            "title": "year",
        },
        yaxis={
            "range": [len(names) - 0.4, -0.7],
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "zeroline": False,
        },
        shapes=[
            {"type": "line", "x0": paper, "x1": paper, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": COLORS["gray"], "width": 1.5, "dash": "dot"}}
        ],
    )  # fmt: skip
    return figure


def describe_timeline(idea: str) -> str:
    """List the papers of an idea in chronological order."""
    descriptions = "; ".join(f"({k}) {dated(e)}" for k, e in enumerate(LANES[idea], 1))
    return f"{idea[0].upper()}{idea[1:]}{'' if idea.endswith('?') else ':'} {descriptions}."


TIMELINE = Picture(
    draw_timeline,
    describe_timeline,
    alt="Seven rows over the years from 2015 to 2026, with one point per paper. A star and a "
    "dotted line mark the layer normalization paper of July 2016. The papers of the chosen row "
    "are numbered.",
)
