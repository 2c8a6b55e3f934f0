"""The colors of the book: contrast in both themes, distinguishability, and one source."""

import itertools

import numpy as np
import pytest

from lnbook.figures import colors
from lnbook.figures.colors import CARD, COLORS, DARK, NUMBER

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
