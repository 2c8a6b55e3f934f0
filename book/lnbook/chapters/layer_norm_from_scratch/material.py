"""Objects that the exercises of ``layer_norm_from_scratch`` pass to an answer."""

from collections.abc import Iterator

import numpy as np


class Stream:
    """Numbers that can be read only once.

    Args:
        numbers: The numbers, in order.
    """

    def __init__(self, numbers: np.ndarray):
        self._numbers, self._read = numbers, False

    def __iter__(self) -> Iterator[float]:
        if self._read:
            raise RuntimeError("the stream has ended; each number can be read only once")
        self._read = True
        return iter(self._numbers.tolist())

    def __repr__(self) -> str:
        return f"a stream of {len(self._numbers)} numbers about {self._numbers[0]:.0e}"
