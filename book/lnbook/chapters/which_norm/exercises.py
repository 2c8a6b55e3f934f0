"""The exercises of the chapter ``which_norm``."""

from collections.abc import Callable, Iterator

import numpy as np

from lnbook.exercises import Function

# find-the-norm-bug


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _over(axis: int | None, *, root: bool = True, center: bool = True) -> Callable:
    """Return a norm over an axis; ``None`` stands for all axes."""

    def norm(x: np.ndarray) -> np.ndarray:
        centered = x - center * x.mean(axis, keepdims=True)
        var = np.square(centered).mean(axis, keepdims=True) + 1e-5
        return centered / (np.sqrt(var) if root else var)

    return norm


def _model(norm: Callable, *, place: str = "pre", last: bool = True) -> Callable:
    """Return a language model with one block."""

    def model(tokens, E, W_q, W_k, W_v, W_1, W_2):
        def attention(x):
            q, k, v = x @ W_q, x @ W_k, x @ W_v
            scores = q @ k.T / np.sqrt(k.shape[-1])
            later = np.triu(np.ones_like(scores, dtype=bool), 1)
            return _softmax(np.where(later, -np.inf, scores)) @ v

        def feed_forward(x):
            return np.maximum(x @ W_1, 0) @ W_2

        x = E[tokens]
        for f in (attention, feed_forward):
            x = x + f(norm(x)) if place == "pre" else norm(x + f(x))
        return (norm(x) if last else x) @ E.T

    return model


def _texts(rng: np.random.Generator) -> Iterator[tuple]:
    # In one case, there are as many tokens as features, so that a wrong axis raises no error.
    for tokens in ([1, 4, 2], [0, 3, 3, 6], [2, 5, 1, 0, 4, 4]):
        width = 4
        shapes = (7, width), *[(width, width)] * 3, (width, 8), (8, width)
        yield np.array(tokens), *(0.5 + rng.normal(size=shape) for shape in shapes)


# find-the-eps


def find_eps(x: np.ndarray, y: np.ndarray) -> float:
    """Find the eps of the RMS norm with gain 1 that maps the row ``x`` to the row ``y``."""
    return np.mean(x**2) / np.mean(y**2) - np.mean(x**2)


def _saved(rng: np.random.Generator) -> Iterator[tuple]:
    for scale, eps in ((0.01, 1e-5), (0.003, 1e-6), (0.1, 1e-3), (0.02, 1e-12)):
        x = scale * rng.normal(size=64)
        yield x, x / np.sqrt(np.mean(x**2) + eps)
    x = 0.1 + 0.1 * rng.normal(size=64)  # a mean that is never 0
    yield x, x / np.sqrt(np.mean(x**2) + 1e-3)


def _by_variance(x: np.ndarray, y: np.ndarray) -> float:
    return np.var(x) / np.var(y) - np.var(x)


def _outside(x: np.ndarray, y: np.ndarray) -> float:
    return np.sqrt(np.mean(x**2) / np.mean(y**2)) - np.sqrt(np.mean(x**2))


def _unlike(x: np.ndarray, y: np.ndarray) -> float:
    return np.mean(x**2) / np.mean(y**2)


EXERCISES = {
    "find-the-norm-bug": Function(
        _model(_over(-1)),
        cases=_texts,
        misconceptions={
            "the bug is still there: the logits of the first token change if a later token "
            "changes.": _model(_over(None)),
            "this norm takes the mean of each feature over the tokens (axis 0), so later tokens "
            "still change the logits of earlier ones.": _model(_over(0)),
            "there is no norm left. Keep the norm, but compute its statistics for each token.": (
                _model(lambda x: x)
            ),
            "the norm divides by the variance. Divide by its square root.": (
                _model(_over(-1, root=False))
            ),
            "this norm does not subtract the mean. It is RMS norm, which has the right axis, but "
            "the model was trained with layer norm.": _model(_over(-1, center=False)),
            "the axis is right, but the blocks are now post-norm. The placement was not the bug.": (
                _model(_over(-1), place="post")
            ),
            "the axis is right, but the final norm is missing.": _model(_over(-1), last=False),
        },
        on_success="Each token has its own mean and standard deviation, so no token depends on a "
        "later one, and the model computes the same function in training and in generation.",
    ),
    "find-the-eps": Function(
        find_eps,
        cases=_saved,
        misconceptions={
            "this uses variances; RMS norm does not subtract a mean.": _by_variance,
            "this `eps` would be added outside the root, in units of `x`.": _outside,
            "this is the mean square plus `eps`; subtract the mean square of `x`.": _unlike,
        },
        tolerance=1e-5,
        on_success="One saved input and output are enough to find eps. Compare eps before you "
        "suspect the weights.",
    ),
}
