"""The exercises of the page on norms in reinforcement, federated and private training."""

from collections.abc import Iterator

import numpy as np

from lnbook.exercises import Function

# clip-each-example


def _clipped(gradients: np.ndarray, bound: float) -> np.ndarray:
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return (gradients * np.minimum(1, bound / norms)).sum(axis=0)


def _gradients(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0
    for N, P, bound in ((3, 4, 0.7), (5, 3, 2.0), (1, 6, 0.5)):
        rows = rng.normal(size=(N, P))
        rows *= (
            bound
            * rng.permutation(np.linspace(3, 0.4, N))[:, None]
            / np.linalg.norm(rows, axis=1, keepdims=True)
        )
        yield rows, bound


def _of_the_sum(gradients, bound):
    total = gradients.sum(axis=0)
    return total * min(1, bound / np.linalg.norm(total))


def _all_to_the_bound(gradients, bound):
    return (gradients * bound / np.linalg.norm(gradients, axis=1, keepdims=True)).sum(axis=0)


def _each_number(gradients, bound):
    return np.clip(gradients, -bound, bound).sum(axis=0)


def _mean(gradients, bound):
    return _clipped(gradients, bound) / len(gradients)


# pool-running-statistics


def _pooled(
    means: np.ndarray, variances: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    mean = np.average(means, axis=0, weights=counts)
    between = np.average((means - mean) ** 2, axis=0, weights=counts)
    return mean, np.average(variances, axis=0, weights=counts) + between


def _clients(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([[0.0], [3.0]]), np.array([[1.0], [1.0]]), np.array([2, 1])
    for K, H in ((3, 2), (4, 3)):
        counts = 2 + 3 * rng.permutation(K)
        yield rng.normal(size=(K, H)), rng.uniform(0.2, 3, size=(K, H)), counts


def _within(means, variances, counts):
    mean = np.average(means, axis=0, weights=counts)
    return mean, np.average(variances, axis=0, weights=counts)


def _unweighted(means, variances, counts):
    return _pooled(means, variances, np.ones(len(counts)))


def _averaged(means, variances, counts):
    return means.mean(axis=0), variances.mean(axis=0)


def _of_stds(means, variances, counts):
    mean, _ = _pooled(means, variances, counts)
    between = np.average((means - mean) ** 2, axis=0, weights=counts)
    return mean, np.average(np.sqrt(variances), axis=0, weights=counts) ** 2 + between


EXERCISES = {
    "clip-each-example": Function(
        _clipped,
        cases=_gradients,
        misconceptions={
            "the sum is clipped. One example can then still dominate it: clip each row "
            "first.": _of_the_sum,
            "rows with a norm below the bound are scaled up. Clipping leaves them "
            "unchanged.": _all_to_the_bound,
            "each number is clipped. The bound is on the norm of the whole row.": _each_number,
            "the mean is returned. Return the sum: the noise is added to the sum.": _mean,
        },
        on_success="Without one of the examples, the sum changes by at most the bound.",
    ),
    "pool-running-statistics": Function(
        _pooled,
        cases=_clients,
        misconceptions={
            "the variance of the clients' means is missing; the mean of the variances is too "
            "small.": _within,
            "all clients have the same weight; weight them by their counts.": _unweighted,
            "clients are averaged with equal weights, and the variance of their means is "
            "missing.": _averaged,
            "standard deviations are averaged; average the variances.": _of_stds,
        },
        on_success="The server obtains the statistics of all examples without access to any of "
        "them.",
    ),
}
