"""Evaluation of claims at initialization: small random networks, ten draws each."""

import functools
import itertools

import numpy as np

from lnlab.analysis import costs
from lnlab.claims.computed import SCALES, SEEDS, carried, exact
from lnlab.claims.finding import Finding, Records
from lnlab.claims.trained import secondary
from lnlib import invariance, norms, transformer
from lnlib.fisher import GLM
from lnlib.norms._activations import softmax

DECADES = "powers of ten"
FACTOR = 4.0  # by which inputs or weights of a generalized linear model are rescaled
DEPTHS = (12, 24)  # blocks


# Section 3: correlated changes.


def summed_input_changes(nonlinearity: str, inputs: str, rng: np.random.Generator) -> np.ndarray:
    """Return the change of the summed inputs of layer 2 when gradient descent updates layer 1.

    The network has 32 inputs, two hidden layers of 64 units, weights of variance 2 / fan-in for
    ReLU and 1 / fan-in for tanh, and 256 random examples of ten classes. Layer 1 takes one gradient
    step, whose norm is a hundredth of that of its weights.

    Args:
        nonlinearity: ``relu`` or ``tanh``.
        inputs: ``signed``, or ``positive`` like the pixels of an image.
        rng: Generator for weights and data.

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
    """Compare the correlation of changes of the next layer's summed inputs, ReLU and tanh."""
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
        text = f"{inputs} inputs: mean absolute correlation {relu.mean():.2f} with ReLU"
        results += [
            Finding(
                f"{text}, {chance.mean():.2f} for independent numbers", chance - relu, "correlation"
            ),
            Finding(f"{text}, {tanh.mean():.2f} with tanh", tanh - relu, "correlation"),
        ]
    return results


# Section 3.1: summed inputs over time.


def _drift(form: str, scale: float, inputs: str) -> np.ndarray:
    result = (carried(form, scale, seed, inputs).summed for seed in SEEDS)
    # Step 0 has no previous state, so the change is measured from step 1.
    return np.array([abs(np.log10(summed[-1] / summed[1])) for summed in result])


def summed_inputs(records: Records) -> list[Finding]:
    """Compare the change of the magnitude of the summed inputs over 50 steps.

    With an input only at the first step, this is the hidden-to-hidden dynamics. The comparison with
    inputs at every step, which stabilize the magnitude, is secondary.
    """
    results = []
    for inputs, description in (
        ("first", "input at the first step only"),
        ("every", "at every step"),
    ):
        for scale in SCALES:
            plain, layer = (_drift(form, scale, inputs) for form in ("plain", "paper"))
            what = (
                f"recurrent weights × {scale:g}, {description}: the summed inputs change by "
                f"{layer.mean():.2f} powers of ten, {plain.mean():.2f} without a norm"
            )
            finding = Finding(what, layer - plain, DECADES, (layer - plain) / plain)
            results += [finding] if inputs == "first" else secondary([finding])
    return results


# Section 4.


def not_a_parameterization(records: Records) -> list[Finding]:
    """Test whether a layer is affine in its input with layer norm, and with weight norm.

    A re-parameterization of an affine layer is still affine in its input.
    """
    rng = np.random.default_rng(0)
    W, x, y = rng.normal(size=(12, 8)), rng.normal(size=(16, 8)), rng.normal(size=(16, 8))

    def defect(layer) -> float:
        difference = layer(x + y) - layer(x) - layer(y) + layer(np.zeros_like(x))
        return float(np.abs(difference).max())

    # The input 0 has variance 0; because of eps its output is 0.
    of_layer = defect(lambda z: norms.layer_norm(z @ W.T, eps=1e-12))
    of_weight = defect(lambda z: norms.weight_norm(z, W))
    return [
        Finding(f"layer norm: f(x + y) − f(x) − f(y) + f(0) is up to {of_layer:.1f}, not 0",
                np.array([invariance.ROUNDING - of_layer]), "of the output", exact=True),
        exact("weight norm: f(x + y) − f(x) − f(y) + f(0)", of_weight, counts=False),
    ]  # fmt: skip


# Section 5.2.2.


@functools.cache
def _gain_change(kind: str, family: str, scaled: str) -> np.ndarray:
    """Return by how many powers of ten ds² changes when inputs or weights are four times as large.

    The step is along the gains, or without a norm along the magnitudes of the weights.
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
    """Compare the change of the metric along the gains when inputs or weights are rescaled."""
    results = []
    for family in ("bernoulli", "gaussian"):
        for scaled in ("inputs", "weights"):
            plain = _gain_change("none", family, scaled)
            for kind in ("batch", "layer", "weight"):
                change = _gain_change(kind, family, scaled)
                what = (
                    f"{kind} norm, {family.capitalize()}, {scaled} × {FACTOR:g}: ds² changes by "
                    f"{change.mean():.2f} powers of ten, {plain.mean():.2f} without a norm"
                )
                finding = Finding(what, change - plain, DECADES)
                # The metric of a Gaussian model without a norm does not depend on its weights.
                counts = kind != "weight" and (family, scaled) != ("gaussian", "weights")
                results += [finding] if counts else secondary([finding])
    return results


# Tutorials.


def memory(records: Records) -> list[Finding]:
    """Count the numbers that a pass saves besides gain and bias, in training and at inference."""
    N, H = 64, 1024
    saved = costs.num_saved("layer", N, H)
    return [
        Finding(f"training, {N} examples of {H:,} features: {saved:,} numbers are kept for the "
                f"gradient, in addition to {2 * H:,} of gain and bias",
                np.array([float(saved)]), "numbers", exact=True),
        Finding("inference: numbers kept", np.array([0.0]), "numbers", counts=False, exact=True),
    ]  # fmt: skip


@functools.cache
def _block_gradients(placement: str, depth: int, initialization: str) -> np.ndarray:
    """Return the ratio of gradient norms of the weights, first block to last block.

    Blocks have 32 features and read 8 random tokens; the gradient of the output is random.
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
            stream.append(transformer.block(stream[-1], params, placement=placement))
        if placement == "pre":  # the final norm
            d = norms.layer_norm_backward(d, stream[-1])[0]
        gradient_norms = []
        for x, params in zip(stream[-2::-1], blocks[::-1], strict=True):
            d, grads = transformer.block_backward(d, x, params, placement=placement)
            squares = (np.square(grads[name]).sum() for name in sizes)
            gradient_norms.append(np.sqrt(sum(squares)))
        results.append(gradient_norms[-1] / gradient_norms[0])
    return np.array(results)


def _std(initialization: str, size: tuple[int, int]) -> float:
    # GPT-2's std is 0.02 at width 768; here it is scaled by 1 / sqrt(width).
    return np.sqrt(2 / sum(size)) if initialization == "Xavier" else 0.02 * np.sqrt(768 / size[1])


def gradient_flow(records: Records) -> list[Finding]:
    """Compare the gradient that reaches the first block, with pre-norm and post-norm."""
    results = []
    for initialization in ("Xavier", "GPT-2"):
        for depth in DEPTHS:
            pre, post = (np.log10(_block_gradients(placement, depth, initialization))
                         for placement in ("pre", "post"))  # fmt: skip
            text = f"{10 ** pre.mean():.2f} with pre-norm, {10 ** post.mean():.2f} with post-norm"
            where = f"{depth} blocks, {initialization} initialization: the first block's gradient"
            findings = [
                Finding(f"{where} over the last's, {text}: how much reaches it", post - pre,
                        DECADES),
                Finding(f"{where} over the last's, {text}: how far from 1",
                        np.abs(pre) - np.abs(post), DECADES),
            ]  # fmt: skip
            results += findings if initialization == "Xavier" else secondary(findings)
    return results
