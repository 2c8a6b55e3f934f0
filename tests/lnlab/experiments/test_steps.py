"""The fast updates of the MNIST experiment compared with the plain one."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from lnlab.datasets import Dataset
from lnlab.experiments.mnist import NORMS, steps
from lnlab.experiments.mnist.run import MNISTRun, Settings
from lnlab.experiments.mnist.steps import compiled
from lnlab.training import train
from tests.cases.build import unoptimized
from tests.cases.points import without_time

SMALL = {"data": "digits", "hidden": (37, 21)}
# No setting has its default or a round value, so that an ignored setting is noticed.
NON_DEFAULT = {
    "learning_rate": 0.013,
    "adam_betas": (0.7, 0.95),
    "adam_eps": 1e-3,
    "eps": 1e-2,
    "momentum": 0.3,
    "initialization": "he",
}


@pytest.fixture(scope="module")
def images(digits):
    """80 images of MNIST's size: digits of scikit-learn enlarged, with a dark margin."""
    x = digits.x_train[:80].reshape(80, 8, 8).repeat(3, 1).repeat(3, 2)
    x = np.pad(x, ((0, 0), (2, 2), (2, 2))).reshape(80, 784)
    return Dataset("images", x, digits.y_train[:80], x[:10], digits.y_train[:10], "0" * 64)


@pytest.fixture
def built():
    if not compiled.available():
        pytest.skip(compiled.reason())


def pair(digits, dtype=torch.float64, **settings):
    """The plain run and one with compiled updates, both in ``dtype``."""
    both = [MNISTRun(Settings(**SMALL | settings), digits) for _ in range(2)]
    for replay in both:
        convert(replay, dtype)
    both[1]._take = compiled.make(both[1])
    return both


def convert(replay, dtype):
    replay.model.to(dtype)
    replay.x, replay.x_test = replay.x.to(dtype), replay.x_test.to(dtype)
    chosen = {k: replay.optimizer.defaults[k] for k in ("lr", "betas", "eps", "fused")}
    replay.optimizer = torch.optim.Adam([steps.flatten(replay.model)], **chosen)


def moments(replay):
    (state,) = replay.optimizer.state.values()
    return state


CASES = [
    *(("none", size, "paper", (37, 21)) for size in (1, 4, 33)),
    *(("layer", size, "paper", (37, 21)) for size in (1, 2, 5, 32)),
    *(("weight", size, "paper", (37, 21)) for size in (1, 4, 7)),
    *(("batch", size, v, (37, 21)) for size in (4, 9, 33) for v in ("biased", "unbiased")),
    *((norm, 4, "paper", hidden) for norm in NORMS for hidden in ((16,), (17, 40, 8))),
]


@pytest.mark.parametrize(("norm", "size", "variance", "hidden"), CASES)
@pytest.mark.parametrize("count", [1, 3])
def test_fast_updates_equal_plain_ones(
    monkeypatch, digits, built, count, norm, size, variance, hidden
):
    torch.set_num_threads(count)
    monkeypatch.setattr(compiled, "WORK", 1)  # the maximum number of threads for any size
    settings = {"norm": norm, "batch_size": size, "variance": variance, "hidden": hidden}
    plain, ours = pair(digits, **NON_DEFAULT | settings)
    for _, batch in zip(range(10), plain.batches(0), strict=False):
        assert_close(ours.update(batch), plain.update(batch), rtol=1e-10, atol=1e-10)
    close = {"rtol": 1e-8, "atol": 1e-10}  # gradients near 0 can differ in sign
    for name, value in plain.model.state_dict().items():
        assert_close(ours.model.state_dict()[name], value, **close)
    assert moments(ours)["step"] == 10
    for name in ("exp_avg", "exp_avg_sq"):
        assert_close(moments(ours)[name], moments(plain)[name], **close)


def test_resumed_runs_are_identical_bit_for_bit(digits, built, tmp_path):
    settings = Settings(norm="batch", batch_size=32, epochs=2, first_epoch_points=2, **SMALL)

    def run(epochs, checkpoint=None):
        replay = MNISTRun(settings, digits, step="compiled")
        points = train(replay, epochs=epochs, first_epoch_points=2, checkpoint=checkpoint)
        return without_time(points)

    run(1, tmp_path / "half.pt")
    assert run(2, tmp_path / "half.pt") == run(2)


def test_only_tiny_moments_are_set_to_zero(images, built):
    replay = MNISTRun(Settings(batch_size=4, data="mnist"), images, step="compiled")
    batch = next(replay.batches(0))
    replay.update(batch)
    moments(replay)["exp_avg"].fill_(1e-39)  # a denormal number
    replay.update((torch.zeros_like(batch[0]), batch[1]))  # no gradient for the first weights
    assert torch.all(moments(replay)["exp_avg"][: 1000 * 784] == 0)
    assert float(torch.tensor([1e-39]) * 0.5) > 0, "the switch of the processor stayed on"


def test_auto_selects_the_fastest_implementation_on_a_cpu(monkeypatch):
    cpu = torch.device("cpu")
    monkeypatch.setattr(compiled, "available", lambda: True)
    assert steps.choose("auto", 4, cpu) == "compiled"
    assert steps.choose("auto", 128, cpu) == "plain"
    assert steps.choose("auto", 4, torch.device("cuda")) == "plain"
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert steps.choose("auto", 4, cpu) == "plain"


@pytest.mark.parametrize(
    ("name", "device", "why"),
    [
        ("fast", "cpu", "step must be one of auto, plain, compiled, got 'fast'"),
        ("compiled", "cuda", "step 'compiled' runs on the CPU, got cuda; use step='auto'"),
        ("compiled", "cpu", "step 'compiled' is not available: no compiler; use step='plain'"),
    ],
)
def test_unavailable_implementations_raise_an_error(monkeypatch, name, device, why):
    monkeypatch.setattr(compiled, "available", lambda: False)
    monkeypatch.setattr(compiled, "reason", lambda: "no compiler")
    with pytest.raises(ValueError, match=why.replace("'", ".")):
        steps.choose(name, 4, torch.device(device))


def test_a_missing_library_raises_an_error(monkeypatch, digits):
    gone = compiled.Library(compiled.SOURCE, compiled._check)
    monkeypatch.setattr(compiled, "_library", gone)
    monkeypatch.setenv("LNLIB_COMPILED", "0")
    assert MNISTRun(Settings(**SMALL), digits, step="auto").step == "plain"
    with pytest.raises(ValueError, match="LNLIB_COMPILED=0"):
        MNISTRun(Settings(**SMALL), digits, step="compiled")


@pytest.mark.slow
def test_libraries_with_wrong_results_are_not_used(monkeypatch, tmp_path, built):
    source = compiled.SOURCE.read_text()
    assert "keep1 * (g - m)" in source
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", unoptimized(tmp_path))
    (tmp_path / "step.cpp").write_text(source.replace("keep1 * (g - m)", "keep1 * (g + m)"))
    wrong = compiled.Library(tmp_path / "step.cpp", compiled._check)
    monkeypatch.setattr(compiled, "_library", wrong)
    assert not compiled.available()
    assert "the numbers differ" in compiled.reason()
