"""Adam by the equations of Kingma & Ba (2015), for runs that are computed by hand."""

import torch


class Adam:
    """Updates parameters in place; ``settings`` have the learning rate, the betas and eps."""

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
