"""What runs computed by hand share: a GRU with layer norm, Adam, and the points of a curve."""

import itertools
import math

import numpy as np
import torch

from lnlab.training import train
from tests.cases.points import are_close


def check_run(run_class, by_hand, small, changes, data, prepare=lambda run: None, abs=1e-20):
    """Compare a run with one computed by hand, and see that the changed settings change it."""

    def points(**settings):
        run = run_class(run_class.experiment.settings(**settings), data, seed=3)
        prepare(run)
        s = run.settings
        return list(train(run, epochs=s.epochs, first_epoch_points=s.first_epoch_points))

    result, default = points(**small | changes), points(**small)
    chosen = run_class.experiment.settings(**small | changes)
    expected = list(by_hand(chosen, data, 3).points())
    assert are_close(result, expected, rel=1e-6, abs=abs)  # rounding affects a share of 0
    default = [{name: point[name] for name in expected[0] if name in point} for point in default]
    assert not are_close(result, default, rel=1e-6)


class ByHand:
    """A run computed from the equations, with the settings as documented.

    A subclass defines ``setup``, which sets ``params``; ``loss`` of a batch; ``batches``, all of
    the run; ``values`` at a measuring point; and what else differs.
    """

    loss_name = "batch_nll"

    def __init__(self, s, data, seed):
        self.s, self.seed = s, seed
        self.generator = torch.Generator().manual_seed(seed)
        self.setup(data)
        for p in self.params:
            p.requires_grad_()
        self.adam = Adam(self.params, s)

    def each(self):
        return self.s.updates_per_epoch

    def uniform(self, bound, *shape):
        return torch.empty(*shape).uniform_(-bound, bound, generator=self.generator)

    def orthogonal(self, size, count):
        """Orthogonal matrices below each other, one for each gate."""
        squares = [torch.empty(size, size) for _ in range(count)]
        for square in squares:
            torch.nn.init.orthogonal_(square, generator=self.generator)
        return torch.cat(squares)

    def clip(self, gradients, batch):
        if getattr(self.s, "clip", None) is None:
            return gradients
        length = math.sqrt(sum(float(g.square().sum()) for g in gradients))
        return [g * min(1.0, self.s.clip / (length + 1e-6)) for g in gradients]

    def step(self, gradients):
        self.adam.update(gradients)

    def update(self, batch):
        loss = self.loss(batch)
        gradients = torch.autograd.grad(loss, self.params, materialize_grads=True)
        self.step(self.clip(gradients, batch))
        return float(loss.detach())

    def points(self):
        """Yield the values at all measuring points."""
        each, K, losses = self.each(), self.s.first_epoch_points, []
        stops = {0, *(max(1, round(each * (k / K) ** 2)) for k in range(1, K + 1))}
        batches = itertools.islice(self.batches(), each * self.s.epochs)
        for k, batch in enumerate(itertools.chain([None], batches)):
            losses += [] if batch is None else [self.update(batch)]
            if k % each == 0 or k in stops:
                loss = {self.loss_name: np.mean(losses) if losses else math.nan}
                yield {"epoch": k / each} | loss | self.values()
                losses = []


class Adam:
    """Adam by the equations of Kingma & Ba (2015); ``settings`` have rate, betas and eps."""

    def __init__(self, params, settings):
        self.params, self.s, self.steps = list(params), settings, 0
        self.moments = [[torch.zeros_like(p), torch.zeros_like(p)] for p in self.params]

    @torch.no_grad()
    def update(self, gradients, rate=None):
        s, rate = self.s, self.s.learning_rate if rate is None else rate
        self.steps += 1
        for p, g, moments in zip(self.params, gradients, self.moments, strict=True):
            for k, (beta, new) in enumerate(zip(s.adam_betas, (g, g * g), strict=True)):
                moments[k] = beta * moments[k] + (1 - beta) * new
            m, v = (moments[k] / (1 - s.adam_betas[k] ** self.steps) for k in (0, 1))
            p -= rate * m / (v.sqrt() + s.adam_eps)


def gru_step(gru, x, h, s):
    """One step of the paper's GRU; beside both weights, ``gru`` has gains and biases, or biases."""
    (W, U, *rest), H = gru, len(h)

    def norm(a, gain, bias):
        a = a - a.mean()
        return gain * a / (a.square().mean() + s.eps).sqrt() + bias

    x, y = W @ x, U @ h
    if s.norm == "layer":
        i, i_bias, n, n_bias, hh, hh_bias, hn, hn_bias = rest
        gates = norm(x[: 2 * H], i, i_bias) + norm(y[: 2 * H], hh, hh_bias)
        x_n, y_n = norm(x[2 * H :], n, n_bias), norm(y[2 * H :], hn, hn_bias)
    else:
        x, y = x + rest[0], y + rest[1]
        gates, x_n, y_n = (x + y)[: 2 * H], x[2 * H :], y[2 * H :]
    r, z = gates.sigmoid().split(H)
    return (1 - z) * h + z * (x_n + r * y_n).tanh()


def gru_start(H, s):
    """Gains and biases of LN_i, LN_in, LN_h and LN_hn, or the two biases without a norm."""
    if s.norm != "layer":
        return [torch.zeros(3 * H), torch.zeros(3 * H)]
    widths = (2 * H, H, 2 * H, H)
    return [p for n in widths for p in (torch.full((n,), float(s.gain)), torch.zeros(n))]
