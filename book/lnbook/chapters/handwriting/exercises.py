"""The exercises of the chapter ``handwriting``."""

import numpy as np

import lnlib
from lnbook.exercises import Function


def _phi(center, weight, sharpness, count):
    distance = center[:, None] - np.arange(count)
    return weight @ np.exp(-sharpness[:, None] * distance**2)


def _phi_cases(rng):
    yield np.array([2.0]), np.array([1.0]), np.array([0.5]), 5
    yield np.array([0.0, 3.5]), np.array([0.6, 0.4]), np.array([1.0, 2.0]), 6
    yield rng.uniform(0, 6, 3), rng.uniform(0.2, 1, 3), rng.uniform(0.3, 2, 3), 7


def _normalized_sums(W, x):
    return lnlib.layer_norm(W @ np.append(x, 1.0))


def _normalized_sums_cases(rng):
    for scale in (0.2, 1.0, 4.0):
        yield rng.normal(size=(12, 4)), scale * rng.normal(size=3)


def _nll(point, mean, std, rho):
    u, v = (point - mean) / std
    rest = 1 - rho**2
    distance = (u**2 + v**2 - 2 * rho * u * v) / rest
    return distance / 2 + np.log(2 * np.pi * std[0] * std[1] * np.sqrt(rest))


def _nll_cases(rng):
    yield np.zeros(2), np.zeros(2), np.ones(2), 0.0
    yield np.array([0.5, -1.0]), np.array([0.2, 0.1]), np.array([0.5, 2.0]), 0.6
    yield rng.normal(size=2), rng.normal(size=2), rng.uniform(0.3, 2, 2), -0.4


EXERCISES = {
    "window-weights": Function(
        _phi,
        cases=_phi_cases,
        misconceptions={
            "the distance in a component is squared.": lambda center, weight, sharpness, count: (
                weight[:, None]
                * np.exp(-sharpness[:, None] * np.abs(center[:, None] - np.arange(count)))
            ).sum(0),
            "the sharpness multiplies the square; here nothing is divided by 2.": (
                lambda center, weight, sharpness, count: _phi(center, weight, sharpness / 2, count)
            ),
            "characters are counted from 0.": lambda center, weight, sharpness, count: _phi(
                center - 1, weight, sharpness, count
            ),
        },
        on_success="The LSTMs read the sum of the characters' one-hot vectors with these weights.",
    ),
    "keep-the-speed": Function(
        _normalized_sums,
        cases=_normalized_sums_cases,
        misconceptions={
            "without a constant input the speed is lost: append a 1 to x.": (
                lambda W, x: lnlib.layer_norm(W[:, :3] @ x)
            ),
            "the norm is applied to the summed inputs, after W, and not to the inputs.": (
                lambda W, x: W @ lnlib.layer_norm(np.append(x, 1.0))
            ),
            "the sums still have to be normalized.": lambda W, x: W @ np.append(x, 1.0),
        },
        on_success="Twice the movement is no longer twice the input, so the factor does not "
        "cancel.",
    ),
    "gaussian-nll": Function(
        _nll,
        cases=_nll_cases,
        misconceptions={
            "the correlation makes the Gaussian narrower: √(1 − rho²) is missing "
            "in the logarithm.": lambda point, mean, std, rho: (
                _nll(point, mean, std, rho) - np.log(1 - rho**2) / 2
            ),
            "this is the log likelihood; its sign has to be changed.": (
                lambda point, mean, std, rho: -_nll(point, mean, std, rho)
            ),
            "the squared distance is divided by 2.": (
                lambda point, mean, std, rho: (
                    2 * _nll(point, mean, std, rho)
                    - np.log(2 * np.pi * np.prod(std) * np.sqrt(1 - rho**2))
                )
            ),
        },
        on_success="The network has 20 of them: their densities are weighted and added before the "
        "log.",
    ),
}
