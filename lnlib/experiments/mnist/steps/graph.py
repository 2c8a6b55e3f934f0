"""The step in a CUDA graph, for several seeds side by side.

At batch size 4 a GPU waits for the next small kernel most of the time. Here 50 updates are one
launch: the cases, their order and the place in it lie on the device, losses are summed there, and
each kernel works for all seeds at once. The arithmetic is that of ``manual.py`` and of PyTorch's
Adam; without capture it runs on a CPU too, where the tests hold it against the plain step. On a GPU
it is held against that once, before its first use: see :func:`problem`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from lnlib.experiments.mnist.steps import check
from lnlib.experiments.mnist.steps.manual import Networks, stack

LAUNCH = 50  # updates in one graph
SEEDS = 16  # with more, a step is bound by memory already
SEED_BYTES = 2**29  # what a seed needs at most, before its data are shared: half a GiB


def seeds_together(device: torch.device) -> int:
    """Return how many seeds to train side by side: what fits on a GPU, up to 16; on a CPU 1.

    On a CPU several networks spill the cache: 0.6 of the speed of one after the other.
    """
    if device.type != "cuda":
        return 1
    free, _ = torch.cuda.mem_get_info(device)
    return max(1, min(SEEDS, free // SEED_BYTES))


@functools.cache
def problem(device: torch.device) -> str:
    """Say why this step is not to be used on a device; nothing if its numbers are the plain ones.

    A few updates of small networks, in a graph where there are graphs, once for each device.
    """

    def prepare(run: Any) -> check.Take:
        Together([run], launch=3)
        return lambda first, last: sum(losses for _, losses in run.advance(0, first, last))

    # Wide in float32, where a GPU may have been told to round its products to ten bits.
    tolerances = ((torch.float32, 1e-2), (torch.float64, 1e-10))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a graph that cannot be captured is told later on
            check.check(prepare, device=device, tolerances=tolerances)
    except Exception as error:  # whatever it is, the plain step remains
        return f"its check failed on {device} ({type(error).__name__}: {error})"
    return ""


def make(replay: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the step of one run: from ``x (B, D)`` and ``y (B,)`` to the mean NLL before it.

    ``replay.advance``, which :func:`lnlib.runs.train.train` calls, is the graph from here on; a
    single step, asked for by itself, is not worth one.

    Args:
        replay: A :class:`lnlib.experiments.mnist.run.Run`.
    """
    Together([replay])
    return lambda x, y: replay.together.update(x[None], y[None])[0]


class Together:
    """Runs that differ in the seed alone, advancing in one batched model.

    Their parameters, moments and running averages become views of common tensors, and each one's
    ``advance`` moves all. So their loops must be driven in turn, from one measuring point to the
    next, as ``zip`` does; measures, points and checkpoints stay each run's own, and a checkpoint
    fits a single run.

    Args:
        replays: Of equal settings, on one device and on the same data.
        launch: Updates in one graph.

    Raises:
        ValueError: If settings or data differ.
    """

    def __init__(self, replays: Sequence[Any], *, launch: int = LAUNCH) -> None:
        self.launch, first = launch, replays[0]
        for other in replays[1:]:
            if other.settings != first.settings:
                raise ValueError(
                    "Together: runs side by side must differ in the seed alone, got "
                    f"{first.settings} and {other.settings}"
                )
            if not (torch.equal(other.x, first.x) and torch.equal(other.y, first.y)):
                raise ValueError("Together: runs side by side must have the same training cases")
            for name in ("x", "y", "x_test", "y_test"):
                setattr(other, name, getattr(first, name))  # the device keeps one copy
        self.replays = list(replays)
        self.x, self.y = first.x, first.y
        self._own = [r.optimizer.param_groups[0]["params"][0] for r in replays]  # (P,) each
        self.flat, self.grad = stack(self._own), stack([p.grad for p in self._own])  # (S, P)
        for replay, own in zip(replays, self._own, strict=True):
            start = 0
            for p in replay.model.parameters():
                part = slice(start, start := start + p.numel())
                p.data, p.grad = own.data[part].view_as(p), own.grad[part].view_as(p)
        self.networks = Networks([r.model for r in replays], self.flat, self.grad)
        self.group = dict(first.optimizer.param_groups[0])  # Adam's settings
        self.moments = {n: torch.zeros_like(self.flat) for n in ("exp_avg", "exp_avg_sq")}
        self.step = self.flat.new_zeros((), dtype=torch.float32)  # updates, as Adam keeps them
        self._views: list[dict[str, Tensor]] = [{} for _ in replays]
        # Where a graph reads and writes: these stay in place.
        shape = (first.updates_per_epoch, len(replays), first.settings.batch_size)
        self.order = self.y.new_zeros(shape, dtype=torch.int64)
        self.place = self.order.new_zeros(1)
        self.total = self.flat.new_zeros(len(replays), dtype=torch.float64)
        self._capturing, self._warm, self._graphs = self.flat.is_cuda, False, {}
        # The stretch of updates last taken, who has asked for it, and its losses.
        self._stretch, self._asked, self._losses = None, set(range(len(replays))), self.total
        self._ordered: int | None = None  # the epoch whose cases `order` has
        for seed, replay in enumerate(replays):
            replay.together, replay.advance = self, functools.partial(self.advance, seed)
            # Within an epoch the first seed is ahead of what the others know of.
            replay.resumes_within_epoch = len(replays) == 1

    def advance(self, seed: int, epoch: int, first: int, last: int) -> Iterator[tuple[int, Tensor]]:
        """Take updates ``first + 1`` to ``last`` of an epoch for all; yield 50 at a time for one.

        The first run that asks for a stretch of updates has them taken; the others are given their
        sums.

        Args:
            seed: Which of the runs asks, from 0.
            epoch: From 0.
            first: Updates of the epoch that are done.
            last: Updates of the epoch that will be.

        Raises:
            RuntimeError: If a run goes ahead before the others have come to where it is.
        """
        stretch = (epoch, first, last)
        if stretch == self._stretch and seed not in self._asked:
            self._asked.add(seed)
            yield last - first, self._losses[seed]
            return
        if len(self._asked) < len(self.replays):
            raise RuntimeError(
                f"seeds side by side must be driven in turn: {stretch} (epoch, from, to update) "
                f"was asked for before all had come to {self._stretch}; zip their loops, and put "
                "those together whose checkpoints have the same epoch"
            )
        self._stretch, self._asked = stretch, {seed}
        self._losses = torch.zeros_like(self.total)
        self._gather()
        if first == 0 or epoch != self._ordered:
            self._ordered = epoch
            orders = [torch.from_numpy(r.order(epoch)) for r in self.replays]
            self.order.copy_(torch.stack([o.view(len(self.order), -1) for o in orders], dim=1))
        self.place.fill_(first)
        while first < last:
            count = min(self.launch, last - first)
            self._take(count)
            losses = self.total.clone()
            self.total.zero_()
            self._losses += losses
            yield count, losses[seed]
            first += count

    def update(self, x: Tensor, y: Tensor) -> Tensor:
        """Take one step on given cases, uncaptured; return each run's mean NLL before it, ``(S,)``.

        Args:
            x: Cases, ``(S, B, D)``.
            y: Classes, ``(S, B)``.
        """
        if len(x) != len(self.replays):
            raise ValueError(
                f"Together: {len(self.replays)} runs advance side by side, got cases for {len(x)}"
            )
        self._gather()
        losses = self.networks(x, y)
        self._adam()
        return losses

    def _gather(self) -> None:
        """Take the moments of each run's Adam in, unless they are views of ours already.

        They are not at the start, and after a checkpoint has been loaded.
        """
        rates = {r.optimizer.param_groups[0]["lr"] for r in self.replays}
        if len(rates) > 1:
            raise ValueError(f"Together: one learning rate for all runs, got {sorted(rates)}")
        if rates != {self.group["lr"]}:
            (self.group["lr"],) = rates
            self._graphs.clear()  # they have the old one
        states = [r.optimizer.state[p] for r, p in zip(self.replays, self._own, strict=True)]
        if all(
            state.get("exp_avg") is view.get("exp_avg", state)
            for state, view in zip(states, self._views, strict=True)
        ):
            return
        steps = {float(state.get("step", 0)) for state in states}
        if len(steps) > 1:
            raise ValueError(
                "Together: runs side by side must have taken equally many updates, got "
                f"{sorted(int(step) for step in steps)}"
            )
        self.step.fill_(*steps)
        for name, ours in self.moments.items():
            for row, state in zip(ours, states, strict=True):
                row.copy_(state[name]) if state else row.zero_()
        for seed, state in enumerate(states):
            self._views[seed] = {name: ours[seed] for name, ours in self.moments.items()}
            state.update({"step": self.step} | self._views[seed])

    def _take(self, updates: int) -> None:
        """Take the next updates: in one launch, or where that is not to be had, one by one."""
        for size in (self.launch, 1):
            while updates >= size:
                self._launch(size)
                updates -= size

    def _launch(self, size: int) -> None:
        # The first updates are taken without a graph: libraries set themselves up in them.
        if self._capturing and self._warm and size not in self._graphs:
            self._try_to_capture(size)
        if self._capturing and self._warm:
            self._graphs[size]()
        else:
            for _ in range(size):
                self._next()
            self._warm = True

    def _try_to_capture(self, size: int) -> None:
        """Capture so many updates; if that fails, say so, with everything as it was before."""
        buffers = (b for replay in self.replays for b in replay.model.buffers())
        state = [self.flat, *self.moments.values(), self.step, self.place, self.total, *buffers]
        kept, random = [t.clone() for t in state], _generator(self.flat.device)
        drawn = random and random.clone_state()
        try:
            self._graphs[size] = self._capture(size)
        except Exception as error:  # not PyTorch's alone
            self._capturing = False
            self._graphs.clear()
            for tensor, value in zip(state, kept, strict=True):
                tensor.copy_(value)
            if random:  # it may believe that it is being captured
                random.graphsafe_set_state(drawn)
            warnings.warn(
                f"the CUDA graph could not be captured ({type(error).__name__}: {error}); the "
                "training goes on without it, with the same numbers, more slowly",
                stacklevel=2,
            )

    def _capture(self, size: int) -> Callable[[], None]:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.flat.device)
        # Other threads, such as a live page's, may go on using the GPU.
        mode = "thread_local"
        with (
            torch.cuda.device(self.flat.device),
            # What sets the stream back where a capture fails at its end.
            torch.cuda.stream(torch.cuda.current_stream(self.flat.device)),
            torch.cuda.graph(graph, stream=stream, capture_error_mode=mode),
        ):
            for _ in range(size):
                self._next()
        return graph.replay

    def _next(self) -> None:
        """Take one update: the cases at ``place`` in ``order``. No number leaves the device."""
        cases = self.order.index_select(0, self.place).flatten()  # (S B,)
        shape = self.order.shape[1:]  # (S, B)
        x = self.x.index_select(0, cases).view(*shape, -1)
        self.total += self.networks(x, self.y.index_select(0, cases).view(shape))
        self._adam()
        self.place += 1

    def _adam(self) -> None:
        # Not an optimizer's step(), which minds whether it is captured. All runs share the count.
        adam(
            [self.flat], [self.grad], *([m] for m in self.moments.values()), [], [self.step],
            fused=True, amsgrad=False, maximize=False, weight_decay=0,
            lr=self.group["lr"], eps=self.group["eps"],
            beta1=self.group["betas"][0], beta2=self.group["betas"][1],
        )  # fmt: skip


def _generator(device: torch.device) -> torch.Generator | None:
    """Return the generator that a capture on this device takes hold of, though we draw nothing."""
    if device.type != "cuda":
        return None
    index = torch.cuda.current_device() if device.index is None else device.index
    return torch.cuda.default_generators[index]
