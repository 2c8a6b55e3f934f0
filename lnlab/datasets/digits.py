"""The 1,797 handwritten digits that are part of scikit-learn: always available, no download."""

import hashlib

import numpy as np

from lnlab.datasets import Dataset

# SHA-256 of the pixels followed by the labels, one byte each, in scikit-learn's order.
_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


def load() -> Dataset:
    """Load 8 x 8 images of digits, 1,437 for training and 360 for testing.

    The split needs no random numbers: after a stable sort by label, every fifth example is for
    testing, so that every class contributes a fifth of its examples. (Every fifth example in the
    order of the file would give 48 threes and 26 twos, because the file counts 0, 1, 2, ... for
    long stretches.) Both parts keep the order of the file. Both parts have the same writers, so the
    test accuracy does not predict the accuracy for a new writer.

    Returns:
        64 features: the pixels, 0 to 16, divided by 16. ``sha256`` is that of all 1,797 examples:
        the pixels in C order, followed by the labels, one byte each.

    Raises:
        ValueError: If scikit-learn contains different digits than those this book was written with.

    Example:
        >>> digits = load()
        >>> digits.x_train.shape, digits.x_test.shape
        ((1437, 64), (360, 64))
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    sha256 = hashlib.sha256(x.astype(np.uint8).tobytes() + y.astype(np.uint8).tobytes()).hexdigest()
    if sha256 != _SHA256:
        raise ValueError(
            f"digits: SHA-256 must be {_SHA256}, got {sha256}; this scikit-learn contains other "
            "digits; install another version of it"
        )
    test = np.zeros(len(y), dtype=bool)
    test[np.argsort(y, kind="stable")[::5]] = True
    x, y = (x / 16).astype(np.float32), y.astype(np.int64)
    return Dataset("digits", x[~test], y[~test], x[test], y[test], sha256)
