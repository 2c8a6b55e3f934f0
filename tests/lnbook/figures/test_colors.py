"""The colors of the book: contrast in both themes, distinguishability, and one source."""

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.figures.colors import CARD, COLORS, DARK, NUMBER

ROOT = Path(__file__).parents[3]
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
STYLES = (*DASHES, "circle", "square", "diamond", "triangle-up", "x", "circle-open")
THEMES = {"light": (COLORS, CARD[0], NUMBER[0]), "dark": (DARK, CARD[1], NUMBER[1])}


def linear(color):
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    low, high = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return (high + 0.05) / (low + 0.05)


# Transformation of red, green and blue for color vision deficiencies: Machado et al. (2009).
EYES = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def oklab(color, eyes="all cones"):
    lms = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return lab @ np.cbrt(lms @ np.clip(EYES[eyes] @ linear(color), 0, 1))  # fmt: skip


def apart(one, other, eyes="all cones"):
    """The distance of two colors in OKLab, where 0.02 is just noticeable."""
    return np.linalg.norm(oklab(one, eyes) - oklab(other, eyes))


@pytest.mark.parametrize("theme", THEMES)
def test_colors_have_enough_contrast_on_cards_and_in_heat_maps(theme):
    things, card, number = THEMES[theme]
    assert [name for name, color in things.items() if contrast(color, card) < 4.5] == []
    for name in ("positive", "negative"):
        assert contrast(colors.mix(things[name], card, colors.HEAT), number) >= 4.5
    pairs = itertools.combinations(things, 2)
    assert [pair for pair in pairs if apart(*map(things.get, pair)) < 0.035] == []


#: Colors that occur in one figure and must be distinguishable by eye.
TOGETHER = [
    ("none", "layer", "batch", "weight"),
    ("layer", "batch", "rms"),
    ("layer", "batch", "group", "instance"),
    ("gate-i", "gate-f", "gate-g", "gate-o"),
    ("gate-r", "gate-z", "gate-n"),
    ("positive", "negative"),
    ("sgd", "adam"),
    ("batch", "kept", "gray"),
    ("layer", "variant", "none", "batch"),
    ("first", "second", "third", "fourth"),
    ("holds", "fails", "open"),
]


@pytest.mark.parametrize("things", TOGETHER, ids=" ".join)
@pytest.mark.parametrize("theme", THEMES)
def test_colors_within_a_figure_can_be_distinguished(theme, things):
    of = THEMES[theme][0]
    for one, other in itertools.combinations(things, 2):
        assert apart(of[one], of[other]) >= 0.08, (one, other)
        for eyes in ("protanopia", "deuteranopia"):
            assert apart(of[one], of[other], eyes) >= 0.03, (one, other, eyes)


def words(row, known):
    """The strings of a row that are known."""
    parts = row if isinstance(row, tuple) else ()
    return [part for part in parts if isinstance(part, str) and part in known]


def looks():
    """All tables of styles in the modules of the figures: color and style, row by row."""
    paths = [path for path in (ROOT / "book/lnbook").rglob("*.py") if path.stem[0] != "_"]
    files = [path.relative_to(ROOT / "book").with_suffix("").parts for path in paths]
    files = [".".join(parts) for parts in files if len(parts) > 2 and parts[-1] != "colors"]
    tables = {}
    for name in sorted(files):
        for called, table in vars(importlib.import_module(name)).items():
            rows = list(table.values()) if isinstance(table, dict) else []
            if len(rows) > 1 and all(words(row, COLORS.values()) for row in rows):
                tables.setdefault(id(table), pytest.param(rows, id=f"{name}.{called}"))
    return tables.values()


@pytest.mark.parametrize("rows", list(looks()))
def test_styles_of_one_figure_use_the_module_and_differ(rows):
    for one, other in itertools.combinations(rows, 2):
        (a,), (b,) = (words(row, COLORS.values()) for row in (one, other))
        distance = min(apart(a, b, eyes) for eyes in EYES)
        assert distance >= 0.06 or words(one, STYLES) != words(other, STYLES), (one, other)


def test_every_color_and_its_faded_form_has_a_dark_counterpart():
    swap = colors.swap()
    for thing, light in COLORS.items():
        assert swap[light] == DARK[thing]
        faded, wanted = colors.fade(light, 0.3), colors.fade(DARK[thing], 0.3)
        begin = next(old for old in swap if faded.startswith(old + ","))
        assert faded.replace(begin, swap[begin]) == wanted
