"""The C++ recurrences compared with the reference."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.testing import assert_close

from lnlab.experiments.mnist.steps import compiled as step
from lnlib.nn.kernels import reference
from lnlib.nn.kernels.cpu import build, layer_norm, recurrent
from lnlib.nn.kernels.spec import Spec
from tests.cases.recurrences import EXACT, SIZES, Case, each_kind


@pytest.mark.skipif(
    shutil.which(build._compiler()[0]) is None or build.is_switched_off(),
    reason="no C++ compiler, or unwanted",
)
@pytest.mark.parametrize(
    "library", [recurrent, layer_norm, step], ids=["recurrences", "layer norm", "step"]
)
def test_the_library_is_available_if_there_is_a_compiler(library):
    # All other tests of the library are skipped if it is missing.
    assert library.available(), library.reason()


@each_kind
def test_float32_gradients_equal_those_of_the_reference(built, kind, options):
    case = Case(kind, options, [6] * 5, 40, torch.float32)
    ours, theirs = (case.results_and_grads(module) for module in (recurrent, reference))
    # Sums over all steps: measured 1e-5 of the largest entry.
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a, b, rtol=1e-4, atol=1e-4 * float(b.detach().abs().max()))


@each_kind
@pytest.mark.parametrize("count", [2, 3])
def test_several_threads_give_the_same_results_as_one(built, monkeypatch, kind, options, count):
    monkeypatch.setattr(recurrent, "WORK", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(count), raising=False)
    case = Case(kind, options, SIZES["ending"], 70)
    torch.set_num_threads(1)
    one = case.results_and_grads(recurrent)
    torch.set_num_threads(count)
    assert recurrent._threads(70 * 70) == count
    several = case.results_and_grads(recurrent)
    assert_close(several, one, rtol=1e-11, atol=1e-11)  # the order of summation differs


@pytest.mark.parametrize(("requested", "cores", "taken"), [(4, 2, 2), (2, 4, 2), (4, 1, 1)])
def test_the_number_of_threads_is_limited_by_the_cores(monkeypatch, requested, cores, taken):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    torch.set_num_threads(requested)
    assert (recurrent._threads(1), recurrent._threads(10**12)) == (1, taken)
    assert layer_norm._threads(10**6, 10**3) == taken


def test_concurrent_calls_give_the_same_results(built, monkeypatch):
    monkeypatch.setattr(recurrent, "WORK", 1)
    torch.set_num_threads(2)

    def run(seed):
        case = Case("lstm", {}, [5] * 20, 40, seed=seed)
        return case.results_and_grads(recurrent)

    alone = [run(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert_close(list(pool.map(run, range(8))), alone, rtol=1e-11, atol=1e-11)


def test_large_shapes_use_every_block_of_the_product(built):
    # More columns, rows and terms than a block, and a rest of each.
    sizes = [19, 19]
    case = Case("lstm", {}, sizes, 307)
    ours, theirs = (case.results_and_grads(module) for module in (recurrent, reference))
    assert_close(ours, theirs, **EXACT)


def test_tanh_and_sigmoid_are_right_to_float32(built):
    x = torch.cat((torch.linspace(-86, 86, 40001), torch.logspace(-30, 0, 4001)))
    x = torch.cat((x, -x))
    B = len(x)
    zero = torch.zeros(B, 1)
    none = (None, None)
    weight = torch.zeros(3, 1)
    y, _ = recurrent.run(Spec("rnn", "parts"), x[:, None], [B], [zero], weight[:1], [none])
    # Measured: 1.6e-7 and 1.4e-7.
    assert_close(y[:, 0].double(), x.double().tanh(), rtol=3e-7, atol=0)
    # r = s(0), the candidate is tanh(50) = 1, so that h = s(z).
    inputs = torch.stack((0 * x, x, 0 * x + 50), 1)
    y, _ = recurrent.run(Spec("gru"), inputs, [B], [zero], weight, [none, none])
    assert_close(y[:, 0].double(), x.double().sigmoid(), rtol=3e-7, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("extreme", [1e4, -1e4, float("inf"), float("-inf")])
def test_gates_saturate_without_nan(built, dtype, extreme):
    inputs = torch.full((1, 3), extreme, dtype=dtype)
    zero, none = torch.zeros(1, 1, dtype=dtype), (None, None)
    y, _ = recurrent.run(Spec("gru"), inputs, [1], [zero], zero.expand(3, 1), [none, none])
    # Not exactly 0 in float32: exp is cut off at 87, where s is 1e-38.
    assert y.item() == pytest.approx(float(extreme > 0), abs=1e-37)


@each_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_nan_only_affects_later_steps_of_its_sequence(built, kind, options, dtype):
    case = Case(kind, options, [3] * 4, 20, dtype)
    with torch.no_grad():
        case.inputs[2 * 3 + 1] = float("nan")  # step 2 of sequence 1
    outputs = case.run(recurrent)[0].view(4, 3, 20)
    spoiled = torch.zeros(4, 3, dtype=torch.bool)
    spoiled[2:, 1] = True
    assert torch.equal(outputs.isnan().all(2), spoiled)
    assert torch.equal(outputs.isnan().any(2), spoiled)


FAULTS = {
    "float32": lambda y: y * 1.001 if y.dtype == torch.float32 else y,
    "float64": lambda y: y + 1e-6 if y.dtype == torch.float64 else y,
    "gradient": lambda y: y + 0.01 * (y - y.detach()),
    "NaN": lambda y: y * torch.nan,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_self_check_detects_a_fault(monkeypatch, fault):
    monkeypatch.setattr(recurrent, "run", reference.run)
    recurrent._check()
    monkeypatch.setattr(recurrent, "run", lambda *a: tuple(fault(y) for y in reference.run(*a)))
    with pytest.raises(RuntimeError, match="differ from those of the plain loop"):
        recurrent._check()


def python(code):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_forked_processes_compute_the_same_without_hanging(built):
    code = """
import os, torch
from lnlib.nn.kernels.cpu import recurrent
from lnlib.nn.kernels.spec import Spec
recurrent.WORK = 1
torch.set_num_threads(2)
x = torch.linspace(-1, 1, 6 * 4 * 80, dtype=torch.float64).reshape(24, 80)
h, w = torch.zeros(4, 20, dtype=torch.float64), torch.eye(20, dtype=torch.float64).repeat(4, 1)
run = lambda: recurrent.run(Spec("lstm"), x, [4] * 6, [h, h], w, [(None, None)] * 2)[0]
before = run()
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(run(), before) else 1)
print(os.waitpid(child, 0)[1], torch.equal(run(), before))
"""
    process = python(code)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert out == "0 True\n", err
