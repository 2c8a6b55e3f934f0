"""The small transformer: whole runs by hand in float64, ablations, records, and baselines.

The network is that of the library, which has its own tests.
"""

import collections
import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
import torch

from lnlab import records
from lnlab.experiments._weights import pack, unpack
from lnlab.experiments.transformer import ABLATIONS, EXPERIMENT, ablation, weights
from lnlab.experiments.transformer import run as transformer
from lnlab.experiments.transformer.baselines import baselines
from lnlab.experiments.transformer.run import Settings, TransformerRun, model, nll
from lnlab.runner import record_runs
from lnlib.nn.transformer import Transformer
from tests.cases import by_hand
from tests.cases.by_hand import check_run
from tests.cases.parameters import perturb
from tests.cases.transformer import SMALL, words


@pytest.fixture(scope="module")
def text():
    return words()


def normalized(kind, x, p, at, eps):
    """Apply a norm by its name, with the parameters at a given position."""
    if kind == "rms":
        return p[f"{at}.weight"] * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    x = x - x.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return p[f"{at}.weight"] * x + p[f"{at}.bias"]


def forward(p, tokens, s, norm=None):
    """Logits, and the stream before and after each block; ``norm(x, at)`` replaces the norms."""
    names = ("depth", "width", "heads", "length", "norm", "qk_norm", "eps")
    given = {n: getattr(s, n) for n in names} | {"placement": s.place}
    given["last_norm"] = s.last_norm and s.place != "post"
    made, stream = Transformer(len(p["token.weight"]), **given), []
    made.blocks[0].register_forward_pre_hook(lambda m, x: stream.append(x[0]))
    for block in made.blocks:
        block.register_forward_hook(lambda m, x, y: stream.append(y))
    for at, module in made.named_modules() if norm else ():
        if "norm" in at and at[-2:] not in ("_q", "_k"):
            module.register_forward_hook(lambda m, x, y, at=at: norm(x[0], at))
    return torch.func.functional_call(made, p, (tokens,)), stream


def loss_of(p, windows, s, norm=None):
    logits, stream = forward(p, windows[:, :-1], s, norm)
    return -logits.log_softmax(-1).gather(-1, windows[:, 1:, None]).mean(), stream


class ByHand(by_hand.ByHand):
    """The run from its definition; the network is the library's."""

    def setup(self, text):
        s, alphabet = self.s, sorted({*text.train, *text.val})
        self.train, self.val = ([alphabet.index(c) for c in t] for t in (text.train, text.val))
        # The same weights for all norms and placements, drawn as for the plain pre-norm model.
        plain = dataclasses.replace(s, norm="layer", place="pre", qk_norm="none", last_norm=True)
        drawn = dict(model(plain, len(alphabet), seed=self.seed).state_dict())
        self.p = {}
        for name, value in model(s, len(alphabet), seed=self.seed + 1).state_dict().items():
            if "norm" not in name:
                self.p[name] = drawn[name].clone()
            elif name.endswith("alpha"):
                self.p[name] = torch.full((1,), 0.5)
            else:
                self.p[name] = torch.full(value.shape, float(name.endswith("weight")))
        self.params = [*self.p.values()]

    def windows(self, text, starts):
        return torch.tensor([text[k : k + self.s.length + 1] for k in starts])

    def even(self, text, count):
        room = len(text) - self.s.length - 1
        return self.windows(text, [room * k // (count - 1) if count > 1 else 0
                                   for k in range(count)])  # fmt: skip

    def loss(self, windows):
        return loss_of(self.p, windows, self.s)[0]

    def step(self, gradients):
        s, done = self.s, self.adam.steps
        rate = s.learning_rate * ((done + 1) / s.warm_up if done < s.warm_up else 1)
        if s.decay:
            rate *= 0.5 + 0.5 * math.cos(math.pi * min(done, s.decay) / s.decay)
        self.adam.update(gradients, rate)

    def values(self):
        val_nll = self.loss(self.even(self.val, self.s.windows)).item()
        results = {"val_nll": val_nll, "broken_updates": 0.0}
        loss, stream = loss_of(self.p, self.even(self.train, 16), self.s)
        last = [self.p[f"blocks.{k}.contract.weight"] for k in range(self.s.depth)]
        for k, g in enumerate(torch.autograd.grad(loss, last), 1):
            results[f"gradient_{k}"] = math.sqrt(float((g**2).sum()))
        for k, x in enumerate(stream):
            rows = x.detach().flatten(0, 1)
            mean = rows.mean(1)
            squares = (rows - mean[:, None]).square().mean(1)
            results[f"deviation_{k}"] = math.sqrt(float(squares.mean()))
            results[f"mean_share_{k}"] = float((mean**2 / (rows**2).mean(1)).mean())
        return results

    def batches(self):
        for epoch in range(self.s.epochs):
            rng = np.random.default_rng([self.seed, epoch])
            for _ in range(self.s.updates_per_epoch):
                starts = rng.integers(0, len(self.train) - self.s.length, self.s.batch_size)
                yield self.windows(self.train, starts)


NON_DEFAULT = [
    *({"place": place} for place in ("post", "sandwich")),
    *({"norm": norm} for norm in ("none", "rms", "tanh")),
    *({"qk_norm": norm} for norm in ("layer", "rms")),
    *({"initialization": start} for start in ("normal", "pytorch", "gpt2")),
    {"last_norm": False}, {"residual_scaling": True}, {"depth": 3}, {"width": 12}, {"heads": 4},
    {"length": 3}, {"epochs": 2}, {"updates_per_epoch": 3}, {"batch_size": 2},
    {"learning_rate": 0.1}, {"warm_up": 3}, {"decay": 3}, {"adam_betas": (0.3, 0.6)},
    {"adam_eps": 0.3}, {"eps": 0.2}, {"windows": 9}, {"first_epoch_points": 3},
]  # fmt: skip


@pytest.mark.parametrize("changes", NON_DEFAULT, ids=str)
def test_settings_with_non_default_values_act_as_defined(changes, text, double, monkeypatch):
    monkeypatch.setattr(transformer, "EVAL_BATCH_SIZE", 4)  # of 6 windows
    check_run(TransformerRun, ByHand, SMALL, changes, text)


@pytest.fixture(scope="module")
def trained(text):
    """A model with changed gains and biases, and text for measurements."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    made = TransformerRun(Settings(**SMALL | {"eps": 1e-4}), text, seed=2)
    perturb(made.model, seed=1)
    torch.set_default_dtype(before)
    made.frozen = ablation.deviations(made.model, made.probes[:, :-1])
    return made


def changed_by_hand(name, p, s, frozen):
    """The norm of an ablation, for use in ``forward``."""
    places = [f"blocks.{k}.{n}" for k in range(s.depth) for n in ("norm_a", "norm_f")]
    places.append("last_norm")
    eps = {"eps_thousandth": 1e-3, "eps_hundredth": 1e-2, "eps_tenth": 1e-1, "eps_one": 1.0}

    def norm(x, at):
        last, gain, bias = at == "last_norm", p[f"{at}.weight"], p[f"{at}.bias"]
        if (name == "last" and not last) or (name.endswith("but_last") and last):
            return normalized("layer", x, p, at, s.eps)
        if name in ("removed", "but_last", "last"):
            return x
        if name == "gain_and_bias":
            return x * gain + bias
        if name == "rms":
            return normalized("rms", x, p, at, s.eps) + bias
        if name.startswith("frozen"):
            return (x - x.mean(-1, keepdim=True)) / frozen[places.index(at)] * gain + bias
        return normalized("layer", x, p, at, eps.get(name, s.eps))

    return norm


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_change_the_norms_as_described(name, trained, double):
    p = {k: v.detach() for k, v in trained.model.state_dict().items()}
    # The std of the input of each norm on training text, over all characters.
    deviations = {}

    def note(x, at):
        var = (x - x.mean(-1, keepdim=True)).square().mean(-1)
        deviations[at] = float((var + trained.settings.eps).sqrt().mean())
        return normalized("layer", x, p, at, trained.settings.eps)

    forward(p, trained.probes[:, :-1], trained.settings, note)
    assert trained.frozen.tolist() == pytest.approx(list(deviations.values()))
    made = ablation.ablated(trained.model, name, trained.frozen)
    result = float(nll(made, trained.windows).detach())
    exact = float(nll(trained.model, trained.windows).detach())
    norm = changed_by_hand(name, p, trained.settings, list(deviations.values()))
    expected = float(loss_of(p, trained.windows, trained.settings, norm)[0])
    rounded = {"float16": 3e-3, "float16_sums": 3e-3, "bfloat16": 3e-2, "int8": 3e-2}
    assert result == pytest.approx(expected, abs=rounded.get(name, 1e-12))
    assert result != exact
    assert exact == float(nll(trained.model, trained.windows).detach()), "it was to be a copy"
    if name in rounded and name != "int8":
        assert {p.dtype for p in made.parameters()} == {getattr(torch, name.split("_")[0])}


@torch.no_grad()
def test_float16_sums_overflow_earlier_than_those_of_the_layer(trained):
    large = ablation.ablated(trained.model, "eps_thousandth", trained.frozen)
    with torch.no_grad():
        large.token.weight *= 2000
    exact = float(nll(large, trained.windows))
    lasting = float(nll(ablation.ablated(large, "float16", trained.frozen), trained.windows))
    naive = float(nll(ablation.ablated(large, "float16_sums", trained.frozen), trained.windows))
    assert lasting == pytest.approx(exact, abs=0.01)
    assert not abs(naive - exact) < 0.1


@pytest.mark.parametrize(
    ("depth", "message"),
    [(3, r"scales has too few numbers for this model"), (1, r"some of matrices, scales, vec")],
)
def test_weights_of_another_model_raise_an_error(depth, message, trained):
    other = model(dataclasses.replace(trained.settings, depth=depth), len(trained.characters))
    with pytest.raises(ValueError, match=rf"unpack: .*{message}"):
        unpack(pack(trained.model), other)


def test_models_from_records_reproduce_measurements(text, made_up, tmp_path):
    chosen = Settings(**SMALL | {"ablate": True, "adam_betas": (0.5, 0.9)})
    (path,) = record_runs(EXPERIMENT, [chosen], [4], out=tmp_path, device="cpu")
    record = records.read(path)
    for point in (-1, 0):
        restored, characters = weights.restore(record, point)
        assert characters == "".join(sorted({*text.train, *text.val}))
        own = TransformerRun(chosen, text, seed=4)
        with torch.no_grad():
            result = own.val_nll(restored)
        assert result == pytest.approx(record["curves"]["nll_int8"][point], rel=1e-4)
    assert not restored.training
    names = {f"nll_{name}" for name in ABLATIONS}
    assert names <= record["curves"].keys()
    assert record["arrays"]["norm_deviations"].shape == (3, 5)


def test_a_record_without_weights_raises_an_error(text, made_up, tmp_path):
    (path,) = record_runs(EXPERIMENT, [Settings(**SMALL)], [4], out=tmp_path, device="cpu")
    with pytest.raises(ValueError, match="record must be of a run with ablate; this one has no"):
        weights.restore(records.read(path))


def test_diverged_runs_are_recorded_to_the_end(text, made_up, tmp_path):
    diverging = {"norm": "none", "learning_rate": 1e30, "epochs": 3, "first_epoch_points": 1}
    chosen = Settings(**SMALL | diverging)
    (path,) = record_runs(EXPERIMENT, [chosen], [1], out=tmp_path, device="cpu")
    curves = json.loads(path.read_text(), parse_constant=pytest.fail)["curves"]
    assert curves["epoch"] == [0, 1, 2, 3]
    assert curves["broken_updates"] == [0, 3, 4, 4]  # the first loss is the initial one
    assert curves["val_nll"][0] > 0
    for name in ("val_nll", "batch_nll", "gradient_2"):
        assert curves[name][1:] == [None] * 3


def test_unigram_and_bigram_entropies_equal_plain_counts(text):
    V = len({*text.train, *text.val})
    alone = collections.Counter(text.train)
    pairs = collections.Counter(itertools.pairwise(text.train))
    before = collections.Counter(text.train[:-1])
    unigram = [-math.log((alone[c] + 1) / (len(text.train) + V)) for c in text.val]
    bigram = [-math.log((pairs[b, c] + 1) / (before[b] + V))
              for b, c in itertools.pairwise(text.val)]  # fmt: skip
    expected = {"unigram": np.mean(unigram), "bigram": np.mean(bigram)}
    assert baselines(text) == pytest.approx(expected)


def test_without_a_norm_there_is_one_placement():
    of = EXPERIMENT.settings_of
    result = of({"norm": ("none", "layer"), "warm_up": (0,)})
    result += of({"norm": ("none",), "place": ("post",), "warm_up": (0,)})
    expected = [("pre", "none"), ("pre", "layer"), ("post", "layer"), ("post", "none")]
    assert [(s.place, s.norm) for s in result] == expected
