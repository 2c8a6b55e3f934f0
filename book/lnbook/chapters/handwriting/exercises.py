"""The exercises of the chapter ``handwriting``."""

from __future__ import annotations

import numpy as np

import lnlib
from lnbook.exercises import Function, Value


def _phi(place, height, sharp, count):
    away = place[:, None] - np.arange(count)
    return height @ np.exp(-sharp[:, None] * away**2)


def _phi_cases(rng):
    yield np.array([2.0]), np.array([1.0]), np.array([0.5]), 5
    yield np.array([0.0, 3.5]), np.array([0.6, 0.4]), np.array([1.0, 2.0]), 6
    yield rng.uniform(0, 6, 3), rng.uniform(0.2, 1, 3), rng.uniform(0.3, 2, 3), 7


def _place(phi):
    return phi @ np.arange(len(phi)) / phi.sum()


def _place_cases(rng):
    yield (np.array([0.0, 1.0, 0.0]),)
    yield (np.array([0.2, 0.5, 0.1, 0.0]),)
    yield (rng.uniform(0.1, 1, 9),)


def _seen(W, x):
    return lnlib.layer_norm(W @ np.append(x, 1.0))


def _seen_cases(rng):
    for scale in (0.2, 1.0, 4.0):
        yield rng.normal(size=(12, 4)), scale * rng.normal(size=3)


def _cost(point, mean, deviation, rho):
    u, v = (point - mean) / deviation
    rest = 1 - rho**2
    far = (u**2 + v**2 - 2 * rho * u * v) / rest
    return far / 2 + np.log(2 * np.pi * deviation[0] * deviation[1] * np.sqrt(rest))


def _cost_cases(rng):
    yield np.zeros(2), np.zeros(2), np.ones(2), 0.0
    yield np.array([0.5, -1.0]), np.array([0.2, 0.1]), np.array([0.5, 2.0]), 0.6
    yield rng.normal(size=2), rng.normal(size=2), rng.uniform(0.3, 2, 2), -0.4


def _drawn(strokes):
    return np.hypot(*strokes[1:, :2].T)[strokes[:-1, 2] == 0].sum()


def _drawn_cases(rng):
    yield (np.array([[0, 0, 0], [3, 4, 1], [6, 8, 0], [0, 1, 0]], float),)
    strokes = rng.normal(size=(12, 3))
    strokes[:, 2] = rng.random(12) < 0.3
    strokes[4, 2], strokes[5, 2], strokes[-1, 2] = 1, 0, 1
    yield (strokes,)


EXERCISES = {
    "place-the-bells": Function(
        _phi,
        cases=_phi_cases,
        wrong={
            "the distance is squared in a bell.": lambda place, height, sharp, count: (
                height[:, None]
                * np.exp(-sharp[:, None] * np.abs(place[:, None] - np.arange(count)))
            ).sum(0),
            "sharpness multiplies the square here; nothing is divided by 2.": (
                lambda place, height, sharp, count: _phi(place, height, sharp / 2, count)
            ),
            "characters are counted from 0.": lambda place, height, sharp, count: _phi(
                place - 1, height, sharp, count
            ),
        },
        right="Times the characters' one-hot vectors, this is what the window shows.",
    ),
    "find-the-window": Function(
        _place,
        cases=_place_cases,
        wrong={
            "the heights need not add up to 1: divide by their sum.": (
                lambda phi: phi @ np.arange(len(phi))
            ),
            "this is the highest character, not the mean place.": lambda phi: float(phi.argmax()),
            "characters are counted from 0.": lambda phi: _place(phi) + 1,
        },
        right="The picture lights this place.",
    ),
    "let-the-speed-through": Function(
        _seen,
        cases=_seen_cases,
        wrong={
            "without the 1 the speed is lost: append it to x.": (
                lambda W, x: lnlib.layer_norm(W[:, :3] @ x)
            ),
            "the norm is over the sums, behind W, not over the inputs.": (
                lambda W, x: W @ lnlib.layer_norm(np.append(x, 1.0))
            ),
            "the sums still have to be normalized.": lambda W, x: W @ np.append(x, 1.0),
        },
        right="Twice the move is no longer twice the input, so the norm cannot undo it.",
    ),
    "price-of-a-point": Function(
        _cost,
        cases=_cost_cases,
        wrong={
            "the correlation narrows the Gaussian: the root of 1 - rho squared is missing in the "
            "logarithm.": lambda point, mean, deviation, rho: (
                _cost(point, mean, deviation, rho) - np.log(1 - rho**2) / 2
            ),
            "this is the log density; the price is minus it.": (
                lambda point, mean, deviation, rho: -_cost(point, mean, deviation, rho)
            ),
            "the distance has a half before it.": lambda point, mean, deviation, rho: (
                2 * _cost(point, mean, deviation, rho)
                - np.log(2 * np.pi * np.prod(deviation) * np.sqrt(1 - rho**2))
            ),
        },
        right="The network has 20 of them: their densities are weighed and added before the log.",
    ),
    "nats-of-a-sure-pen": Value(
        np.log(2 * np.pi * 0.1 * 0.1),
        wrong={
            -np.log(2 * np.pi * 0.1 * 0.1): "minus the logarithm of a large density is negative.",
            np.log(2 * np.pi * 0.1): "both directions have deviation 0.1.",
            np.log(2 * np.pi): "that is for deviations of 1.",
        },
        right="A density may be above 1, so its price may be below 0.",
        otherwise="at the center the density is 1 / (2 pi times both deviations).",
    ),
    "ink-on-paper": Function(
        _drawn,
        cases=_drawn_cases,
        wrong={
            "where the pen is lifted there is no ink.": lambda strokes: np.hypot(
                *strokes[1:, :2].T
            ).sum(),
            "a 1 lifts the pen after its point, not before it.": lambda strokes: np.hypot(
                *strokes[1:, :2].T
            )[strokes[1:, 2] == 0].sum(),
        },
        right="So the picture draws: each move is ink unless the point before it lifted the pen.",
    ),
}
