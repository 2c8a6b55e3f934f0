"""What runs computed by hand share: a GRU with layer norm, Adam, and the points of a curve."""

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


def points(s, each, batches, update, measure):
    """Yield ``measure(epoch, losses)`` at the points of a run with ``each`` updates per epoch."""
    yield measure(0.0, [])
    K, losses = s.first_epoch_points, []
    stops = {max(1, round(each * (k / K) ** 2)) for k in range(1, K + 1)}
    for k, batch in zip(range(1, each * s.epochs + 1), batches, strict=False):
        losses.append(update(batch))
        if k % each == 0 or k in stops:
            yield measure(k / each, losses)
            losses = []
