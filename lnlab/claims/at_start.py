"""What small networks show before training, on claims that need no more: ten draws of each."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from lnlab.analysis import costs
from lnlab.claims.computed import SCALES, SEEDS, carried, exact
from lnlab.claims.finding import Finding, Records
from lnlib import invariance, norms, transformer
from lnlib.fisher import GLM
from lnlib.norms._activations import softmax

DECADES = "powers of ten"
FACTOR = 4.0  # of inputs and weights, where a generalized linear model is rescaled
DEPTHS = (12, 24)  # blocks


def _beside(finding: Finding) -> Finding:
    return Finding(finding.what, finding.differences, finding.unit, finding.shares, counts=False)


# Section 3: correlated changes.


def summed_input_changes(nonlinearity: str, inputs: str, rng: np.random.Generator) -> np.ndarray:
    """Return how the summed inputs of layer 2 change when gradient descent updates layer 1.

    The network has 32 inputs, two hidden layers of 64 units, weights of variance 2 / fan-in for
    ReLU and 1 / fan-in for tanh, and 256 random examples of ten classes. The weights of layer 1
    take one step along the gradient, whose norm is a hundredth of theirs.

    Args:
        nonlinearity: ``relu`` or ``tanh``.
        inputs: ``signed``, or ``positive`` as the pixels of an image.
        rng: Draws weights and data.

    Returns:
        Changes, shape ``(examples, units)``.
    """
    f, slope, variance = {
        "relu": (lambda a: np.maximum(a, 0), lambda a: (a > 0).astype(float), 2),
        "tanh": (np.tanh, lambda a: 1 - np.tanh(a) ** 2, 1),
    }[nonlinearity]
    sizes = (32, 64, 64, 10)
    W_1, W_2, W_3 = (
        rng.normal(size=(H, D)) * np.sqrt(variance / D) for D, H in itertools.pairwise(sizes)
    )
    x, labels = rng.normal(size=(256, sizes[0])), np.eye(sizes[-1])[rng.integers(10, size=256)]
    x = np.abs(x) if inputs == "positive" else x
    a_1 = x @ W_1.T
    a_2 = f(a_1) @ W_2.T
    d_logits = softmax(f(a_2) @ W_3.T) - labels
    gradient = ((d_logits @ W_3 * slope(a_2)) @ W_2 * slope(a_1)).T @ x
    step = 0.01 * np.linalg.norm(W_1) / np.linalg.norm(gradient)
    return f(x @ (W_1 - step * gradient).T) @ W_2.T - a_2


def mean_correlation(changes: np.ndarray) -> float:
    """Return the mean absolute correlation of two columns, over all pairs of columns.

    Example:
        >>> x = np.arange(4.0)
        >>> round(mean_correlation(np.stack([x, -x, 2 * x], axis=1)), 9)
        1.0
    """
    pairs = np.corrcoef(changes, rowvar=False)[np.triu_indices(changes.shape[1], 1)]
    return float(np.abs(pairs).mean())


def correlated_changes(records: Records) -> list[Finding]:
    """Compare how changes of the next layer's summed inputs correlate, with ReLU and with tanh."""
    chance = np.array([
        mean_correlation(np.random.default_rng(seed).normal(size=(256, 64))) for seed in SEEDS
    ])  # fmt: skip
    results = []
    for inputs in ("signed", "positive"):
        relu, tanh = (
            np.array([
                mean_correlation(summed_input_changes(name, inputs, np.random.default_rng(seed)))
                for seed in SEEDS
            ])
            for name in ("relu", "tanh")
        )  # fmt: skip
        told = f"{inputs} inputs: mean absolute correlation {relu.mean():.2f} with ReLU"
        results += [
            Finding(f"{told}, {chance.mean():.2f} of independent numbers", chance - relu, "of 1"),
            Finding(f"{told}, {tanh.mean():.2f} with tanh", tanh - relu, "of 1"),
        ]
    return results


# Section 3.1: summed inputs over time.


def _drift(form: str, scale: float, inputs: str) -> np.ndarray:
    result = (carried(form, scale, seed, inputs).summed for seed in SEEDS)
    # Step 1 has no state before it.
    return np.array([abs(np.log10(summed[-1] / summed[1])) for summed in result])


def summed_inputs(records: Records) -> list[Finding]:
    """Compare how the magnitude of the summed inputs changes over 50 steps.

    With an input at the first step alone, what follows is the dynamics from hidden to hidden; with
    inputs at every step, which hold the magnitude, the comparison stands beside.
    """
    results = []
    for inputs, words in (("first", "input at the first step alone"), ("every", "at every step")):
        for scale in SCALES:
            plain, layer = (_drift(form, scale, inputs) for form in ("plain", "paper"))
            what = (
                f"recurrent weights x {scale:g}, {words}: the summed inputs change by "
                f"{layer.mean():.2f} powers of ten, {plain.mean():.2f} without norm"
            )
            one = Finding(what, layer - plain, DECADES, (layer - plain) / plain)
            results.append(one if inputs == "first" else _beside(one))
    return results


# Section 4.


def not_a_parameterization(records: Records) -> list[Finding]:
    """Test whether a layer stays affine in its input under layer norm, and under weight norm.

    A re-parameterization writes the same layer, which is affine in its input, with other
    parameters; so whatever is not affine is none.
    """
    rng = np.random.default_rng(0)
    W, x, y = rng.normal(size=(12, 8)), rng.normal(size=(16, 8)), rng.normal(size=(16, 8))

    def defect(layer) -> float:
        whole = layer(x + y) - layer(x) - layer(y) + layer(np.zeros_like(x))
        return float(np.abs(whole).max())

    # Input 0 has no variance: with eps its output is 0.
    of_layer = defect(lambda z: norms.layer_norm(z @ W.T, eps=1e-12))
    of_weight = defect(lambda z: norms.weight_norm(z, W))
    return [
        Finding(f"layer norm: f(x + y) - f(x) - f(y) + f(0) is up to {of_layer:.1f}, not 0",
                np.array([invariance.ROUNDING - of_layer]), "of the output", exact=True),
        exact("weight norm: the same", of_weight, counts=False),
    ]  # fmt: skip


# Section 5.2.2.


@functools.cache
def _gain_change(kind: str, family: str, scaled: str) -> np.ndarray:
    """Return by how many powers of ten ds² changes when inputs or weights are four times as large.

    The step goes along the gains; without a norm, along the magnitudes of the weights.
    """
    results = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        W, b, X = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(64, 4))
        step = rng.normal(size=6)
        by_inputs, by_weights = (FACTOR, 1) if scaled == "inputs" else (1, FACTOR)
        before, after = (
            GLM(w * W, b, norm=kind, family=family).gain_metric(x * X, step)
            for x, w in ((1, 1), (by_inputs, by_weights))
        )
        results.append(abs(np.log10(after / before)))
    return np.array(results)


def robust_to_scaling(records: Records) -> list[Finding]:
    """Compare how the metric along the gains changes when inputs or weights are rescaled."""
    results = []
    for family in ("bernoulli", "gaussian"):
        for scaled in ("inputs", "weights"):
            plain = _gain_change("none", family, scaled)
            for kind in ("batch", "layer", "weight"):
                change = _gain_change(kind, family, scaled)
                what = (
                    f"{kind} norm, {family}, {scaled} x {FACTOR:g}: ds² changes by "
                    f"{change.mean():.2f} powers of ten, {plain.mean():.2f} without norm"
                )
                one = Finding(what, change - plain, DECADES)
                # A Gaussian model without a norm does not change with its weights either.
                counts = kind != "weight" and (family, scaled) != ("gaussian", "weights")
                results.append(one if counts else _beside(one))
    return results


# Tutorials.


def memory(records: Records) -> list[Finding]:
    """Count what a pass keeps beside gain and bias: at inference nothing, for a gradient more."""
    N, H = 64, 1024
    saved = costs.num_saved("layer", N, H)
    return [
        Finding(f"training, {N} examples of {H:,} features: {saved:,} numbers are kept for the "
                f"gradient, beside {2 * H:,} of gain and bias", np.array([float(saved)]), "numbers",
                exact=True),
        Finding("inference: numbers kept", np.array([0.0]), "numbers", counts=False, exact=True),
    ]  # fmt: skip


@functools.cache
def _block_gradients(place: str, depth: int, initialization: str) -> np.ndarray:
    """Return the norm of the gradient of the first block's weights over that of the last's.

    Blocks of 32 features read 8 random tokens; the gradient of the output is random.
    """
    D, F = 32, 128
    sizes = {name: (D, D) for name in ("W_q", "W_k", "W_v", "W_o")} | {"W_1": (F, D), "W_2": (D, F)}
    results = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        blocks = [
            {name: _std(initialization, size) * rng.normal(size=size)
             for name, size in sizes.items()}
            for _ in range(depth)
        ]  # fmt: skip
        stream, d = [rng.normal(size=(2, 8, D))], rng.normal(size=(2, 8, D))
        for params in blocks:
            stream.append(transformer.block(stream[-1], params, place=place))
        if place == "pre":  # its last norm
            d = norms.layer_norm_backward(d, stream[-1])[0]
        sizes_of = []
        for x, params in zip(stream[-2::-1], blocks[::-1], strict=True):
            d, grads = transformer.block_backward(d, x, params, place=place)
            squares = (np.square(grads[name]).sum() for name in sizes)
            sizes_of.append(np.sqrt(sum(squares)))
        results.append(sizes_of[-1] / sizes_of[0])
    return np.array(results)


def _std(initialization: str, size: tuple[int, int]) -> float:
    # GPT-2's 0.02 at width 768, with the same std times the square root of the width.
    return np.sqrt(2 / sum(size)) if initialization == "Xavier" else 0.02 * np.sqrt(768 / size[1])


def gradient_flow(records: Records) -> list[Finding]:
    """Compare how much of the gradient reaches the first block, with pre-norm and post-norm."""
    results = []
    for initialization in ("Xavier", "GPT-2"):
        for depth in DEPTHS:
            pre, post = (np.log10(_block_gradients(place, depth, initialization))
                         for place in ("pre", "post"))  # fmt: skip
            told = f"{10 ** pre.mean():.2f} with pre-norm, {10 ** post.mean():.2f} with post-norm"
            where = f"{depth} blocks, {initialization} initialization: the first block's gradient"
            one = [
                Finding(f"{where} over the last's, {told}: how much reaches it", post - pre,
                        DECADES),
                Finding(f"{where} over the last's, {told}: how far from 1",
                        np.abs(pre) - np.abs(post), DECADES),
            ]  # fmt: skip
            results += one if initialization == "Xavier" else map(_beside, one)
    return results
