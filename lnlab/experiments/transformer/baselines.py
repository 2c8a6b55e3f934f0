"""Cross-entropy of unigram and bigram models of characters, as baselines."""

import numpy as np

from lnlab.datasets import Text


def baselines(text: Text) -> dict[str, float]:
    """Return the cross-entropy of validation text by counts of training text, nats per character.

    ::

        unigram   - mean log p(c)          p(c) = (count(c) + 1) / (N + V)
        bigram    - mean log p(c | b)      p(c | b) = (count(b c) + 1) / (count(b) + V)

    V is the number of different characters; 1 is added for pairs that do not occur in the training
    text. The loss of a model that uses the order of the characters is below the first value, and
    that of a model that uses more than one previous character is below the second.

    Args:
        text: Training and validation text.

    Returns:
        ``unigram`` and ``bigram``.
    """
    _, numbers = np.unique([*text.train, *text.val], return_inverse=True)
    V = numbers.max() + 1
    train, val = np.split(numbers, [len(text.train)])
    pairs = np.ones((V, V))
    np.add.at(pairs, (train[:-1], train[1:]), 1)
    alone = 1 + np.bincount(train, minlength=V)
    p = pairs / pairs.sum(1, keepdims=True)
    return {
        "unigram": float(-np.log(alone / alone.sum())[val].mean()),
        "bigram": float(-np.log(p[val[:-1], val[1:]]).mean()),
    }
