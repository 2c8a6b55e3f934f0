"""Accept the former keyword arguments of exercises and quiz questions until no page uses them."""

import functools
from collections.abc import Callable


def accept_former_keywords(function: Callable, **names: str) -> Callable:
    """Return a function that also takes each argument by its former name."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **{names.get(name, name): value for name, value in kwargs.items()})

    return call
