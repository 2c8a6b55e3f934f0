"""DRAW: whole runs by hand, in float64 from the equations, and recorded images."""

import math

import numpy as np
import pytest
import torch

from lnlab.datasets.mnist_binarized import Binarized
from lnlab.experiments.draw import model as painting
from lnlab.experiments.draw import run as runs
from lnlab.experiments.draw.run import DrawRun, Settings
from tests.cases import by_hand
from tests.cases.by_hand import check_run

NON_DEFAULT = {
    "norm": "layer", "start": "chosen", "data": "mnist_binarized", "glimpses": 3, "hidden": 6,
    "latent": 3, "read_size": 2, "write_size": 3, "input_scale": 3.0, "epochs": 2,
    "updates_per_epoch": 4, "batch_size": 4, "learning_rate": 0.02, "clip": 4.9, "gain": 0.7,
    "adam_betas": (0.8, 0.99), "adam_eps": 1e-3, "eps": 0.01, "images": 5, "keep": 2,
    "first_epoch_points": 3,
}  # fmt: skip


def made_up(train=14, val=9, test=11):
    """Images with one square each, at random positions."""
    rng, counts = np.random.default_rng(0), {"train": train, "val": val, "test": test}
    images = {}
    for split, count in counts.items():
        blank = np.zeros((count, 28, 28), np.uint8)
        for one, (x, y) in zip(blank, rng.integers(2, 16, (count, 2)), strict=True):
            one[y : y + 9, x : x + 9] = 1
        images[split] = blank.reshape(count, 784)
    return Binarized("mnist_binarized", images, "0" * 64)


DATA = made_up()


def test_windows_far_outside_the_image_have_finite_filters():
    where = painting.window(torch.tensor([[50.0, -50.0, -3.0, 0.0, 0.0]]), 3)
    for along in painting.filters(where, 3):
        torch.testing.assert_close(along.sum(-1), torch.ones(1, 3))


class ByHand(by_hand.ByHand):
    """Section 6.4 from the equations; parameters have the names of the model's."""

    loss_name = "batch_bound"

    def setup(self, data):
        s, H = self.s, self.s.hidden
        self.images = {k: torch.from_numpy(v).double() for k, v in data.images.items()}
        shapes = {
            "encoder.weight_ih": (4 * H, 2 * s.read_size**2 + H),
            "encoder.weight_hh": (4 * H, H),
            "decoder.weight_ih": (4 * H, s.latent),
            "decoder.weight_hh": (4 * H, H),
            "code.weight": (2 * s.latent, H),
            "look.weight": (10 + s.write_size**2, H),
        }
        p = {name: self.uniform(H**-0.5, *shape) for name, shape in shapes.items()}
        for lstm in ("encoder", "decoder"):
            if s.start == "chosen":
                p[f"{lstm}.weight_ih"] *= s.input_scale
                p[f"{lstm}.weight_hh"] = self.orthogonal(H, 4)
            p[f"{lstm}.bias"] = torch.zeros(4 * H)
            if s.norm == "layer":
                p[f"{lstm}.layernorm_c.weight"] = torch.full((H,), s.gain)
                p[f"{lstm}.layernorm_c.bias"] = torch.zeros(H)
        p["code.bias"] = torch.zeros(2 * s.latent)
        p["look.bias"] = torch.zeros(10 + s.write_size**2)
        self.p, self.params, self.done = p, [*p.values()], 0

    def lstm(self, name, x, state):
        """Eqs. 29-31."""
        p, (h, c) = self.p, state
        gates = x @ p[f"{name}.weight_ih"].T + h @ p[f"{name}.weight_hh"].T + p[f"{name}.bias"]
        i, f, g, o = gates.split(self.s.hidden, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        inner = c
        if self.s.norm == "layer":
            off = c - c.mean(1, keepdim=True)
            scaled = off / (off.square().mean(1, keepdim=True) + self.s.eps).sqrt()
            inner = scaled * p[f"{name}.layernorm_c.weight"] + p[f"{name}.layernorm_c.bias"]
        return o.sigmoid() * inner.tanh(), c

    def filters(self, given, size):
        pixels, steps = torch.arange(1.0, 29), torch.arange(1.0, size + 1) - size / 2 - 0.5
        results = []
        for k in (0, 1):
            m = 14.5 * (given[:, k, None] + 1) + steps * 27 / (size - 1) * given[:, 3:4].exp()
            bell = (-((pixels - m[..., None]) ** 2) / 2 / given[:, 2].exp()[:, None, None]).exp()
            results.append(bell / bell.sum(2, keepdim=True))
        return *results, given[:, 4].exp()[:, None, None]

    def bound(self, x, noise):
        s, B = self.s, len(x)
        x, canvas, kl = x.reshape(B, 28, 28), torch.zeros(B, 28, 28), 0
        zeros = torch.zeros(B, s.hidden)
        encoded, decoded = (zeros, zeros), (zeros, zeros)
        look = self.p["look.weight"], self.p["look.bias"]
        for t in range(s.glimpses):
            text = decoded[0] @ look[0].T + look[1]
            fx, fy, intensity = self.filters(text[:, :5], s.read_size)
            parts = [
                (intensity * torch.einsum("bia,bac,bjc->bij", fy, image, fx)).reshape(B, -1)
                for image in (x, x - 1 / (1 + (-canvas).exp()))
            ]
            encoded = self.lstm("encoder", torch.cat([*parts, decoded[0]], 1), encoded)
            code = encoded[0] @ self.p["code.weight"].T + self.p["code.bias"]
            mean, log_var = code[:, : s.latent], code[:, s.latent :]
            kl = kl + 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum(1)
            decoded = self.lstm("decoder", mean + (log_var / 2).exp() * noise[t], decoded)
            text = decoded[0] @ look[0].T + look[1]
            fx, fy, intensity = self.filters(text[:, 5:10], s.write_size)
            patch = text[:, 10:].reshape(B, s.write_size, s.write_size)
            canvas = canvas + torch.einsum("bia,bij,bjc->bac", fy, patch, fx) / intensity
        white = 1 / (1 + (-canvas).exp())
        right = torch.where(x == 1, white, 1 - white)
        return kl - right.log().sum((1, 2)), kl

    def loss(self, batch):
        return self.bound(*batch)[0].mean()

    @torch.no_grad()
    def measured(self, split, chosen):
        """Mean bound and KL term of some images; noise is drawn for a few at a time."""
        generator, result = torch.Generator().manual_seed(0), []
        for k in range(0, len(chosen), runs.EVAL_BATCH_SIZE):
            part = self.images[split][chosen[k : k + runs.EVAL_BATCH_SIZE]]
            noise = torch.randn(self.s.glimpses, len(part), self.s.latent, generator=generator)
            result.append(torch.stack(self.bound(part, noise)))
        return torch.cat(result, 1).mean(1).tolist()

    def values(self):
        results, at_end = {}, self.done == self.s.epochs * self.s.updates_per_epoch
        for split, chosen in (("val", [0, 2, 4, 6, 8]), ("test", [1, 3, 5, 7, 9])):
            results[f"{split}_bound"], results[f"{split}_kl"] = self.measured(split, chosen)
            every = range(len(self.images[split]))
            of_all = self.measured(split, [*every])[0] if at_end else math.nan
            results[f"{split}_bound_of_all"] = of_all
        return results

    def batches(self):
        s, count = self.s, len(self.images["train"])
        a_pass = count // s.batch_size
        for update in range(s.epochs * s.updates_per_epoch):
            if update % s.updates_per_epoch == 0:
                rng = np.random.default_rng([self.seed, 0, update // s.updates_per_epoch])
            order = np.random.default_rng([self.seed, 1, update // a_pass]).permutation(count)
            k, self.done = update % a_pass * s.batch_size, update + 1
            noise = rng.standard_normal((s.glimpses, s.batch_size, s.latent), np.float32)
            images = self.images["train"][order[k : k + s.batch_size]]
            yield images, torch.tensor(noise).double()


CHANGES = [{"clip": 4.5}, {"clip": None}, {"norm": "none", "gain": 1.0}, {"start": "usual"}]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.usefixtures("double")
def test_runs_follow_the_equations(changes, monkeypatch):
    monkeypatch.setattr(runs, "EVAL_BATCH_SIZE", 3)
    check_run(DrawRun, ByHand, NON_DEFAULT, changes, DATA)


@pytest.mark.usefixtures("double")
def test_recorded_canvases_and_windows_reproduce_the_drawing():
    run = DrawRun(Settings(**NON_DEFAULT), DATA, seed=1)
    with torch.inference_mode():
        result = run.recorded_images()
        generator = torch.Generator().manual_seed(1)
        noise = torch.randn(3, 2, 3, generator=generator)
        images = run.images["test"][[2, 8]].double()
        painted = run.model(images, noise, keep=True)
    assert result["canvas"].shape == result["dream_canvas"].shape == (2, 3, 28, 28)
    assert result["canvas"].dtype == torch.uint8
    shades = 15 / (1 + (-painted.canvas).exp())
    assert (result["canvas"][:, -1] - shades).abs().max() <= 0.5
    for name, windows in (("read_window", painted.reads), ("write_window", painted.writes)):
        assert (result[name].dtype, result[name].shape) == (torch.float16, (2, 3, 5))
        last = windows[2]
        expected = [*last.center[1], last.stride[1, 0], last.variance[1, 0] ** 0.5,
                    last.intensity[1, 0]]  # fmt: skip
        torch.testing.assert_close(result[name][1, 2].double(), torch.stack(expected), rtol=1e-3,
                                   atol=1e-3)  # fmt: skip


@pytest.mark.usefixtures("double")
def test_samples_only_depend_on_the_noise():
    run = DrawRun(Settings(**NON_DEFAULT), DATA, seed=1)
    noise = torch.randn(3, 2, 3, generator=torch.Generator().manual_seed(0))
    for part in (run.model.code.weight, run.model.code.bias):
        part.data.zero_()  # then the code is the noise for any image
    dreamt = run.model.dream(noise)
    painted = run.model(run.images["test"][:2].double(), noise)
    assert torch.equal(dreamt.canvas, painted.canvas)
    assert len(dreamt.canvases) == len(dreamt.writes) == 3
    assert not painted.kl.any()
