"""The specification of a recurrence, which every implementation takes with its tensors."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from lnlib.registry import CELLS

#: Gain and bias, each ``None`` where there is none. For ``plain`` alone, also a function that
#: normalizes: a module that is called.
Norm = tuple[Tensor | None, Tensor | None] | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Spec:
    """A cell, its variant, and the way it takes through time.

    Attributes:
        kind: ``lstm``, ``gru`` or ``rnn``.
        form: A form of layer norm in :data:`lnlib.registry.CELLS`.
        nonlinearity: ``tanh`` or ``relu``, of an RNN.
        eps: Inside the root of every norm.
        reverse: From the last step to the first.
    """

    kind: str
    form: str = "paper"
    nonlinearity: str = "tanh"
    eps: float = 1e-5
    reverse: bool = False

    @property
    def parts(self) -> int:
        """How many times H there are summed inputs."""
        return CELLS[self.kind].gates

    @property
    def norms(self) -> tuple[int, ...]:
        """Widths of the norms of the hidden part or of the sum, in units of H."""
        if self.form == "per_gate":
            return (1,) * self.parts
        norms = CELLS[self.kind].forms[self.form].norms
        return tuple(span for place, span in norms.items() if place in ("s", "h", "hn"))

    @property
    def statistics(self) -> int:
        """How many norms a step has: those, and that of an LSTM's cell."""
        return len(self.norms) + (self.kind == "lstm")

    @property
    def of_sum(self) -> bool:
        """Whether the norm is of the sum with the input part, not of the hidden part alone."""
        return self.form == ("per_gate" if self.kind == "lstm" else "paper") and self.kind != "gru"
