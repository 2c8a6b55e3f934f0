"""Counts of what the models in the table use, by year."""

from collections import Counter

import plotly.graph_objects as go

from lnbook.chapters.which_norm.models import MODELS, Model
from lnbook.explorer.figure_spec import Picture
from lnbook.figures.colors import CARD, COLORS

#: Maps a question to its answers: label, color, pattern.
QUESTIONS = {
    "norm": {
        "layer": ("layer norm", COLORS["layer"], ""),
        "rms": ("RMS norm", COLORS["rms"], "/"),
        "other": ("another kind", COLORS["gray"], "."),
    },
    "placement": {
        "pre": ("pre", COLORS["first"], ""),
        "post": ("post", COLORS["second"], "/"),
        "output": ("output only", COLORS["third"], "x"),
        "sandwich": ("sandwich", COLORS["fourth"], "-"),
        "other": ("another kind", COLORS["gray"], "."),
    },
    "gain and bias": {
        "both": ("gain and bias", COLORS["first"], ""),
        "gain": ("gain only", COLORS["second"], "/"),
        "neither": ("neither", COLORS["third"], "x"),
        "other": ("other or not known", COLORS["gray"], "."),
    },
    "QK norm": {
        "yes": ("yes", COLORS["first"], ""),
        "no": ("no", COLORS["second"], "/"),
        "other": ("other or not known", COLORS["gray"], "."),
    },
}


def learned(model: Model) -> str:
    """Return what a model's norms learn: ``"both"``, ``"gain"``, ``"neither"`` or ``"other"``."""
    has = {"yes": True, "from 0": True, "1 + w": True, "no": False}
    gain, bias = (has.get(model.short[name]) for name in ("gain", "bias"))
    return {(True, True): "both", (True, False): "gain", (False, False): "neither"}.get(
        (gain, bias), "other"
    )


def qk_norm(model: Model) -> str:
    """Return whether queries and keys are normalized: ``"yes"``, ``"no"`` or ``"other"``."""
    text = model.short["qk_norm"]
    return {"RMS": "yes", "LayerNorm": "yes", "no": "no", "latents": "no"}.get(text, "other")


ANSWERS = {
    "norm": lambda m: m.norm,
    "placement": lambda m: m.place,
    "gain and bias": learned,
    "QK norm": qk_norm,
}


def counted(question: str, data: str = "any", since: int = 0, until: int = 9999) -> Counter:
    """Count the answers to a question.

    Args:
        question: One of :data:`QUESTIONS`.
        data: The kind of models; ``"any"`` for all.
        since: The first year.
        until: The last year.
    """
    return Counter(
        ANSWERS[question](m) for m in MODELS if data in ("any", m.data) and since <= m.year <= until
    )


def draw_by_year(question: str, data: str) -> go.Figure:
    """Draw a column per year, with a segment for each answer."""
    years = list(range(MODELS[0].year, MODELS[-1].year + 1))
    most = max(Counter(m.year for m in MODELS).values())
    figure = go.Figure()
    for answer, (label, color, pattern) in QUESTIONS[question].items():
        results = [counted(question, data, year, year)[answer] for year in years]
        if any(results):
            figure.add_bar(
                x=years,
                y=results,
                name=label,
                marker={
                    "color": color,
                    "pattern": {
                        "shape": pattern,
                        "fillmode": "overlay",
                        "fgopacity": 0.35,
                        "solidity": 0.2,
                    },
                },
                text=[str(n) if n > 1 else "" for n in results],  # a bar of one is not tall enough
                # The color of the card has enough contrast with the bar, and a shadow in the color
                # of the bar covers the pattern around a digit.
                textfont={"color": CARD[0], "shadow": ", ".join([f"0 0 2px {color}"] * 4)},
                textangle=0,
                insidetextanchor="middle",
                textposition="inside",
                constraintext="none",
                hovertemplate=f"%{{x}}, {label}: %{{y}}<extra></extra>",
            )
    figure.update_layout(
        barmode="stack",
        xaxis={"title": "year of publication", "tick0": 2018, "dtick": 2, "tickangle": 0},
        yaxis={"title": "models in the table", "range": [0, most + 1]},
        legend={"traceorder": "normal"},
    )
    return figure


def describe_by_year(question: str, data: str) -> str:
    """Describe the counts before 2023 and since then."""
    parts = []
    for when, years in (("Before 2023", (0, 2022)), ("since then", (2023, 9999))):
        result = counted(question, data, *years)
        text = ", ".join(
            _with_number(result[answer], label)
            for answer, (label, *_) in QUESTIONS[question].items()
            if result[answer]
        )
        parts.append(f"{when}: {text}")
    return f"{'; '.join(parts)}. {_describe_selection(data)}"


def _with_number(number: int, label: str) -> str:
    """Return the number of models with an answer, in words.

    Example:
        >>> _with_number(31, "RMS norm"), _with_number(1, "another kind")
        ('31 RMS norm', '1 of another kind')
    """
    if label == "another kind":
        label = "of another kind" if number == 1 else "of other kinds"
    return f"{number} {label}"


def _describe_selection(data: str) -> str:
    return "All models in the table." if data == "any" else "Language models only."


BY_YEAR = Picture(
    draw_by_year,
    describe_by_year,
    alt="A stacked bar chart with a column for each year from 2015 to 2026. Its height is the "
    "number of models from that year in the table, and each piece is one answer to the chosen "
    "question.",
)
