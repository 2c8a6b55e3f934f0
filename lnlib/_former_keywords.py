"""Accept the former names of keyword arguments."""

import functools
from collections.abc import Callable


def accept_former_keywords(**names: str) -> Callable[[Callable], Callable]:
    """Return a decorator: the function also takes each argument by its former name.

    Args:
        **names: Maps a former name to the present one.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args, **kwargs):
            return function(
                *args, **{names.get(name, name): value for name, value in kwargs.items()}
            )

        return call

    return decorate
