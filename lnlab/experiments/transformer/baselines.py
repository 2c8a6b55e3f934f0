"""What a character costs who knows no more than how often each comes, or each pair."""

from __future__ import annotations

import numpy as np

from lnlab.datasets import Text


def baselines(text: Text) -> dict[str, float]:
    """Return what validation text costs by the counts of the training text, in nats a character.

    ::

        unigram   - mean log p(c)          p(c) = (count(c) + 1) / (N + V)
        bigram    - mean log p(c | b)      p(c | b) = (count(b c) + 1) / (count(b) + V)

    for V different characters; the 1 is for pairs that training text does not have. A model that
    has learnt anything from the order of characters is below the first line, and one that reads
    more than one character below the second.

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
