"""Handwriting: window, network and likelihood compared with plain loops; batches; measures."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from lnlab.datasets.handwriting_lines import Line, Lines
from lnlab.experiments.handwriting import model as models
from lnlab.experiments.handwriting.run import POOL, HandwritingRun, Settings
from lnlab.experiments.handwriting.window import WindowLSTM
from lnlib.nn import LayerNormLSTMCell
from tests.cases.parameters import perturb

SMALL = {"hidden": 6, "mixture": 3, "window_components": 2, "length": 20, "batch_size": 3,
         "epochs": 1, "updates_per_epoch": 3, "lines": 4, "first_epoch_points": 1}  # fmt: skip


def made_up(seed=5):
    """Lines of letters, each of which is written in its own way."""
    rng = np.random.default_rng(seed)
    ways = {c: rng.normal(size=(5, 2)) for c in "abc"}

    def line(count):
        text = "".join(rng.choice(list("abc"), count))
        offsets = np.concatenate([ways[c] + rng.normal(size=(5, 2)) / 8 for c in text])
        ends = np.tile([0, 0, 0, 0, 1], count)
        strokes = np.c_[np.round(offsets * 64) / 64, ends].astype(np.float32)
        return Line(text, strokes, "x", np.repeat(np.arange(count), 5))

    sizes = {"train": 12, "val_seen": 3, "val_new": 4, "test_new": 2}
    splits = {s: tuple(line(rng.integers(3, 8)) for _ in range(n)) for s, n in sizes.items()}
    return Lines("omniglot_lines", splits, 1 / 64, "7" * 64)


LINES = made_up()


def random(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def window_by_loop(module, x, text):
    """Eqs. 46-51 of Graves, number by number, with a cell that has its own tests."""
    (T, B, _), (_, U, C), K = x.shape, text.shape, len(module.components.bias) // 3
    steps = []
    for b in range(B):
        h = c = torch.zeros(1, module.cell.hidden_size)
        k, w = [torch.zeros(())] * K, torch.zeros(C)
        for t in range(T):
            h, c = module.cell(torch.cat((x[t, b], w))[None], (h, c))
            out = module.components.weight @ h[0] + module.components.bias
            a, s, step = out[:K].exp(), out[K : 2 * K].exp(), out[2 * K :].exp()
            k = [k[j] + step[j] for j in range(K)]
            phi = [sum(a[j] * (-s[j] * (k[j] - u) ** 2).exp() for j in range(K)) for u in range(U)]
            w = sum(phi[u] * text[b, u] for u in range(U))
            steps.append((b, t, h[0], w, torch.stack(phi)))
    return [
        torch.stack([torch.stack([s[part] for s in steps if s[1] == t]) for t in range(T)])
        for part in (2, 3, 4)
    ]


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_the_window_and_its_gradient_equal_a_scalar_loop(norm, double):
    cell = nn.LSTMCell(4 + 3, 6) if norm == "none" else LayerNormLSTMCell(4 + 3, 6, eps=0.2)
    module = perturb(WindowLSTM(cell, 2))
    x, text = random(4, 2, 4).requires_grad_(), random(2, 5, 3, seed=2).abs()
    result, expected = module(x, text), window_by_loop(module, x, text)
    torch.testing.assert_close(list(result), expected)
    weights = [random(*part.shape, seed=k) for k, part in enumerate(expected[:2])]
    gradients = [
        torch.autograd.grad(
            sum((w * p).sum() for w, p in zip(weights, parts, strict=False)),
            [x, *module.parameters()],
        )
        for parts in (result, expected)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-11)
    state = module.start(text)
    for t in range(4):
        state, share = module.step(x[t], text, state)
        torch.testing.assert_close(state.h, expected[0][t])
        torch.testing.assert_close(state.window, expected[1][t])
        torch.testing.assert_close(share, expected[2][t])


@pytest.mark.parametrize(
    "overrides", [{"norm": "none"}, {"constant": False}, {"layers": 2, "eps": 0.3}], ids=str
)
def test_layers_receive_pen_window_and_the_layer_below(overrides, double):
    made = perturb(models.HandwritingNetwork(Settings(**SMALL | overrides), 3))
    points, text = random(7, 2, 3), random(2, 4, 3, seed=3).abs()
    pen = (
        points
        if overrides.get("constant") is False
        else torch.cat((points, torch.ones(7, 2, 1)), 2)
    )
    hidden, window, share = made.first(pen, text)
    layers = [hidden]
    for lstm in made.others:
        layers.append(lstm(torch.cat((layers[-1], pen, window), 2))[0])
    assert len(layers) == overrides.get("layers", 3)
    texts, at = made(points, text)
    torch.testing.assert_close(
        texts, torch.cat(layers, 2) @ made.output.weight.T + made.output.bias
    )
    torch.testing.assert_close(at, share)
    assert any(isinstance(m, nn.LSTM) for m in made.modules()) == (overrides.get("norm") == "none")
    # No point is known in advance.
    changed = points.clone()
    changed[4] += 1
    torch.testing.assert_close(made(changed, text)[0][:4], texts[:4])
    assert not torch.allclose(made(changed, text)[0][4], texts[4])


def start(**settings):
    generator = torch.Generator().manual_seed(4)
    return models.model(Settings(**SMALL | settings), 3, 0.04, generator=generator)


def test_the_initial_window_moves_at_the_average_pace():
    made = start()
    height, sharp, step = made.first.components.bias.exp().chunk(3)
    torch.testing.assert_close(height.sum(), torch.tensor(1.0))
    torch.testing.assert_close(sharp, torch.ones(2))
    torch.testing.assert_close(step, torch.full((2,), 0.04))


def test_the_likelihood_is_a_mixture_of_gaussians_and_a_bernoulli(double):
    text, points = random(5, 1 + 6 * 4), random(5, 3, seed=2)
    points[:, 2] = torch.tensor([0.0, 1, 0, 1, 1])
    lift, weight, mean_x, mean_y, log_x, log_y, rho = text.split([1, 4, 4, 4, 4, 4, 4], 1)
    rho = 0.999 * rho.tanh()
    a, b = log_x.exp(), log_y.exp()
    covariance = torch.stack((a * a, rho * a * b, rho * a * b, b * b), 2).unflatten(2, (2, 2))
    mixture = MixtureSameFamily(
        Categorical(logits=weight), MultivariateNormal(torch.stack((mean_x, mean_y), 2), covariance)
    )
    p = lift.sigmoid()[:, 0]
    lifted = torch.where(points[:, 2] == 1, p, 1 - p).log()
    torch.testing.assert_close(models.nll(text, points), -mixture.log_prob(points[:, :2]) - lifted)


def test_extreme_stds_give_a_finite_loss():
    text = torch.full((2, 7), 300.0)
    text[1] *= -1
    assert models.nll(text, torch.zeros(2, 3)).isfinite().all()


@pytest.mark.parametrize("before", [-1.2, 0.9])
def test_sampled_points_have_the_std_and_correlation_of_the_gaussian(before, double):
    text = torch.tensor([[0.0, 0.0, 2.0, -3.0, 0.4, -0.3, before]]).expand(40_000, -1)
    x, y = models.draw(text, torch.Generator().manual_seed(3)).T[:2]
    # Five standard errors: 1 / sqrt(2 n) for a std, at most 1 / sqrt(n) for the correlation.
    assert float(x.std()) == pytest.approx(math.exp(0.4), rel=0.018)
    assert float(y.std()) == pytest.approx(math.exp(-0.3), rel=0.018)
    result = float(torch.corrcoef(torch.stack((x, y)))[0, 1])
    assert result == pytest.approx(0.999 * math.tanh(before), abs=0.025)


def test_generated_points_are_sampled_from_predictions_of_earlier_points(double):
    made = perturb(start(norm="layer"))
    text = random(2, 4, 3, seed=3).abs()
    points, window = made.write(text, 6, torch.Generator().manual_seed(1))
    before = torch.cat((torch.zeros(1, 2, 3), points[:-1]))
    texts, share = made(before, text)
    generator = torch.Generator().manual_seed(1)
    torch.testing.assert_close(points, torch.stack([models.draw(s, generator) for s in texts]))
    torch.testing.assert_close(window, (share * torch.arange(4)).sum(2) / share.sum(2))


def test_points_are_standardized_with_noise_of_their_resolution():
    wide = np.float32([4, 4, 1])  # so that a unit is no number near 1
    splits = {
        split: tuple(dataclasses.replace(line, strokes=line.strokes * wide) for line in lines)
        for split, lines in LINES.splits.items()
    }
    run = HandwritingRun(Settings(**SMALL), dataclasses.replace(LINES, splits=splits))
    offsets = np.concatenate([line.strokes[:, :2] for line in splits["train"]])
    assert run.unit == pytest.approx(offsets.std(), rel=1e-5)
    pieces = run.pieces["train"][:3]
    points, text, mask = run.batch(pieces, np.random.default_rng(0))
    for k, piece in enumerate(pieces):
        n = len(piece.strokes)
        assert mask[:, k].tolist() == [True] * n + [False] * (len(points) - n)
        assert points[0, k, :2].tolist() == [0, 0]  # the first offset of a segment is 0
        off = points[1:n, k, :2] * run.unit - torch.from_numpy(piece.strokes[1:, :2])
        assert 0.3 / 64 < off.abs().max() <= 0.501 / 64
        assert points[:n, k, 2].tolist() == piece.strokes[:, 2].tolist()
        texts = ["abc"[row.argmax() - 1] for row in text[k] if row.any()]
        assert "".join(texts) == piece.text
    assert run.encode(["a?"])[0].sum(1).tolist() == [1, 0]


def test_batches_depend_on_seed_and_epoch_and_have_similar_lengths():
    def batches(seed, epoch, **settings):
        return list(HandwritingRun(Settings(**SMALL | settings), LINES, seed=seed).batches(epoch))

    def points(*given, **settings):
        return [b.points.tolist() for b in batches(*given, **settings)]

    reference = points(0, 1)
    assert len(reference) == 3
    assert reference == points(0, 1, norm="none", hidden=3, learning_rate=0.5)
    assert reference not in (points(0, 2), points(1, 1))
    many = batches(0, 0, updates_per_epoch=POOL + 1, batch_size=2)
    assert len(many) == POOL + 1
    lengths = sorted(sorted(b.mask.sum(0).tolist()) for b in many[:POOL])
    assert all(a[-1] <= b[0] for a, b in itertools.pairwise(lengths))
    assert {b.points.shape[1] for b in many} == {2}


def test_loss_and_window_distance_are_means_over_all_points(monkeypatch):
    monkeypatch.setattr("lnlab.experiments.handwriting.run.EVAL_BATCH_SIZE", 3)
    run = HandwritingRun(Settings(**SMALL | {"length": 40}), LINES)
    perturb(run.model, 0.3, seed=1)
    pieces = sorted(run.pieces["val_new"], key=lambda piece: len(piece.strokes))
    assert len(pieces) == 4
    assert len(pieces[0].strokes) < len(pieces[2].strokes)  # shorter lines of a part are padded
    total, noise = np.zeros(3), np.random.default_rng(0)
    with torch.no_grad():
        for piece in pieces:
            alone = run.batch([piece], noise)
            texts, phi = run.model(alone.points[:-1], alone.text)
            loss, phi = models.nll(texts, alone.points[1:]), phi[:, 0].double().numpy()
            at = phi @ np.arange(phi.shape[1]) / phi.sum(1).clip(1e-9)
            distance = abs(at - piece.characters[1:]).sum()
            total += float(loss.double().sum()), distance, len(piece.strokes) - 1
        result = run.measure()
        together = run.loss(run.batch(pieces, np.random.default_rng(0)))
    assert float(together) == pytest.approx(total[0] / total[2], rel=1e-5)
    assert result["val_new_nll"] == pytest.approx(total[0] / total[2], rel=1e-5)
    assert result["val_new_window_distance"] == pytest.approx(total[1] / total[2], rel=1e-5)


@pytest.mark.parametrize("unknown", [0, -1], ids=["in the first part", "in the last part"])
def test_the_window_is_not_measured_if_characters_are_unknown(unknown, monkeypatch):
    monkeypatch.setattr("lnlab.experiments.handwriting.run.EVAL_BATCH_SIZE", 2)
    lines = sorted(LINES.splits["val_new"], key=lambda line: len(line.strokes))
    lines[unknown] = dataclasses.replace(lines[unknown], characters=None)
    splits = {"train": LINES.splits["train"], "val_new": tuple(lines)}
    run = HandwritingRun(
        Settings(**SMALL | {"length": 40}), dataclasses.replace(LINES, splits=splits)
    )
    assert sum(characters is None for _, characters in run.measured["val_new"]) == 1
    with torch.inference_mode():
        assert set(run.measure()) == {"train_nll", "train_window_distance", "val_new_nll"}


def test_generated_points_are_recorded_in_small_dtypes():
    run = HandwritingRun(Settings(**SMALL, keep=9), LINES, seed=2)
    with torch.inference_mode():
        measured, again = run.measure(), run.measure()
        text = run.encode(["the pen moves on"])
        points, window = run.model.write(text, 9, torch.Generator().manual_seed(2))
    expected = points[:, 0, :2] * run.unit * 64
    assert (measured["strokes"] - expected).abs().max() <= 0.5001
    assert (measured["strokes"].dtype, measured["strokes"].shape) == (torch.int16, (9, 2))
    assert measured["lifts"].tolist() == points[:, 0, 2].tolist()
    torch.testing.assert_close(measured["window"], window[:, 0].half())
    for name in ("strokes", "lifts", "window"):
        assert torch.equal(measured[name], again[name])
