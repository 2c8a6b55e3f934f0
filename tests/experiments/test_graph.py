"""Seeds side by side: held against separate plain runs on a CPU; the graph itself needs a GPU."""

import math
import re

import pytest
import torch
from torch.optim.adam import adam
from torch.utils._python_dispatch import TorchDispatchMode

from lnlib import data
from lnlib.experiments._classification import Classification
from lnlib.experiments.mnist import steps
from lnlib.experiments.mnist.run import NORMS, Run, Settings
from lnlib.experiments.mnist.steps import graph
from lnlib.runs.train import train

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
SMALL = {"data": "digits", "hidden": (20, 12), "batch_size": 4, "first_epoch_points": 3}


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def seeds(digits, n=3, *, dtype=torch.float64, step="plain", device="cpu", **settings):
    """Return runs of one kind, seeds 0 to n - 1, all in ``dtype``."""
    chosen = Settings(**(SMALL | settings))
    replays = [Run(chosen, digits, seed=s, step=step, device=device) for s in range(n)]
    for replay in replays:
        replay.model.to(dtype)
        replay.x, replay.x_test = replay.x.to(dtype), replay.x_test.to(dtype)
        replay.optimizer = torch.optim.Adam(
            [steps.flatten(replay.model)], lr=chosen.learning_rate, fused=True
        )
        if step == "graph":
            graph.make(replay)
    return replays


def flat(replay):
    return replay.optimizer.param_groups[0]["params"][0]


def drive(replays, *, epochs=2, checkpoints=None):
    """Return the points of each run, their loops driven in turn."""
    runs = [
        train(
            replay,
            epochs=epochs,
            first_epoch_points=3,
            checkpoint=checkpoints and checkpoints / f"{replay.seed}.pt",
        )
        for replay in replays
    ]
    points = zip(*zip(*runs, strict=True), strict=True)
    return [
        [{k: v for k, v in point.items() if k != "wall_s" and v == v} for point in run]
        for run in points
    ]


def assert_same(found, expected, tolerance=1e-10):
    for run, other in zip(found, expected, strict=True):
        for point, wanted in zip(run, other, strict=True):
            assert point == pytest.approx(wanted, rel=tolerance, abs=tolerance)


def assert_same_state(found, expected, tolerance=1e-10):
    close = {"rtol": 0, "atol": tolerance}
    torch.testing.assert_close(found.model.state_dict(), expected.model.state_dict(), **close)
    ours, theirs = found.optimizer.state_dict(), expected.optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    torch.testing.assert_close(ours["state"], theirs["state"], **close)


@pytest.mark.parametrize("norm", NORMS)
def test_seeds_side_by_side_are_each_alone(digits, norm):
    plain, side = (seeds(digits, norm=norm) for _ in range(2))
    graph.Together(side)
    for s, replay in enumerate(plain):
        batches = list(replay.batches(0))[:20]
        expected = sum(Classification.update(replay, batch).item() for batch in batches)
        ((count, losses),) = side[s].advance(0, 0, 20)
        assert count == 20
        assert losses.item() == pytest.approx(expected, rel=1e-10)
    for replay, other in zip(side, plain, strict=True):
        assert_same_state(replay, other)


def test_one_run_alone_is_a_group_of_one(digits):
    plain, ours = seeds(digits, 1), seeds(digits, 1)
    step = graph.make(ours[0])
    for _, batch in zip(range(3), plain[0].batches(0), strict=False):
        expected = plain[0].update(batch)
        torch.testing.assert_close(step(*batch), expected, rtol=0, atol=1e-12)
    assert_same_state(ours[0], plain[0])


def test_a_group_of_a_run_that_was_alone_takes_over(digits):
    plain, side = seeds(digits, 2), seeds(digits, 2)
    for replay in side:
        graph.make(replay)
    graph.Together(side)
    assert_same(drive(side), drive(plain))


def test_updates_come_50_at_a_time_and_add_up(digits):
    (replay,) = seeds(digits, 1)
    graph.Together([replay])
    pieces = list(replay.advance(0, 0, 120)) + list(replay.advance(0, 120, 121))
    assert [count for count, _ in pieces] == [50, 50, 20, 1]
    (plain,) = seeds(digits, 1)
    batches = list(plain.batches(0))[:121]
    expected = sum(Classification.update(plain, batch).item() for batch in batches)
    assert sum(losses.item() for _, losses in pieces) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_group_broken_off_goes_on_to_the_curves_of_single_runs(digits, tmp_path, norm):
    settings = {"norm": norm, "batch_size": 16}
    for epochs in (1, 2):
        graph.Together(group := seeds(digits, **settings))
        found = drive(group, epochs=epochs, checkpoints=tmp_path)
    graph.Together(unbroken := seeds(digits, **settings))
    assert found == drive(unbroken)
    assert_same(found, drive(seeds(digits, **settings)))


def test_a_run_begun_in_a_group_goes_on_alone_and_back(digits, tmp_path):
    settings = {"norm": "batch", "batch_size": 16}
    graph.Together(group := seeds(digits, **settings))
    drive(group, epochs=1, checkpoints=tmp_path)
    for replay in seeds(digits, **settings):
        drive([replay], epochs=2, checkpoints=tmp_path)
    graph.Together(group := seeds(digits, **settings))
    found = drive(group, epochs=3, checkpoints=tmp_path)
    assert_same(found, drive(seeds(digits, **settings), epochs=3))


def test_a_checkpoint_of_a_group_holds_one_run(digits, tmp_path):
    sizes = {}
    for n in (1, 3):
        graph.Together(group := seeds(digits, n, batch_size=128))
        drive(group, epochs=1, checkpoints=tmp_path / str(n))
        sizes[n] = (tmp_path / str(n) / "0.pt").stat().st_size
    assert sizes[3] == pytest.approx(sizes[1], rel=0.01)


def test_a_run_that_goes_ahead_of_the_others_is_refused(digits):
    graph.Together(group := seeds(digits))
    list(group[0].advance(0, 0, 5))
    with pytest.raises(RuntimeError, match=r"driven in turn: \(0, 5, 9\) .* come to \(0, 0, 5\)"):
        list(group[0].advance(0, 5, 9))


def test_checkpoints_of_different_epochs_are_refused(digits, tmp_path):
    for seed, epochs in ((0, 1), (1, 2)):
        drive([seeds(digits, batch_size=128)[seed]], epochs=epochs, checkpoints=tmp_path)
    graph.Together(group := seeds(digits, 2, batch_size=128))
    with pytest.raises(ValueError, match=r"equally many updates, got \[11, 22\]"):
        drive(group, epochs=3, checkpoints=tmp_path)


def test_the_same_stretch_again_trains_again(digits):
    (replay,) = seeds(digits, 1)
    graph.Together([replay])
    list(replay.advance(0, 0, 5))
    before = flat(replay).detach().clone()
    list(replay.advance(0, 0, 5))
    assert not torch.equal(flat(replay), before)


def test_runs_that_differ_in_more_than_the_seed_are_refused(digits):
    (first,), (other,) = seeds(digits, 1), seeds(digits, 1, learning_rate=0.1)
    with pytest.raises(ValueError, match="must differ in the seed alone"):
        graph.Together([first, other])
    second = seeds(digits, 1)[0]
    second.x = second.x + 1
    with pytest.raises(ValueError, match="the same training cases"):
        graph.Together([first, second])


def test_a_new_learning_rate_is_taken_over(digits):
    plain, ours = seeds(digits, 1), seeds(digits, 1)
    step = graph.make(ours[0])
    for rate, batch in zip((0.01, 0.1), plain[0].batches(0), strict=False):
        for replay in (*plain, *ours):
            replay.optimizer.param_groups[0]["lr"] = rate
        plain[0].update(batch)
        step(*batch)
    assert_same_state(ours[0], plain[0])


def test_a_seed_of_a_group_does_not_step_alone(digits):
    group = seeds(digits, 2)
    step = graph.make(group[0])
    graph.Together(group)
    with pytest.raises(ValueError, match="2 runs advance side by side, got cases for 1"):
        step(*next(group[0].batches(0)))


def test_a_loss_that_is_not_finite_stops_the_group(digits):
    graph.Together(group := seeds(digits, norm="none", learning_rate=1e20, dtype=torch.float32))
    with pytest.raises(RuntimeError, match="a smaller learning rate is the likely cure"):
        drive(group)


class TritonError(Exception):
    """As compilers raise it: no RuntimeError."""


@pytest.mark.parametrize("taken", [0, 1, 7], ids="after {} updates".format)
@pytest.mark.parametrize("error", [RuntimeError, TritonError, AttributeError, MemoryError])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_a_capture_that_fails_is_told_once_and_changes_no_number(
    digits, monkeypatch, norm, error, taken
):
    def fails(self, size):
        for _ in range(taken):
            self._next()
        raise error("operation not permitted")

    monkeypatch.setattr(graph.Together, "_capture", fails)
    plain, ours = (seeds(digits, 2, norm=norm, batch_size=16) for _ in range(2))
    graph.Together(ours)._capturing = True
    said = rf"could not be captured \({error.__name__}: operation not .* goes on without it"
    with pytest.warns(UserWarning, match=said) as warned:
        found = drive(ours)
    assert len(warned) == 1
    assert_same(found, drive(plain))
    for replay, other in zip(ours, plain, strict=True):
        assert_same_state(replay, other)


def test_a_second_capture_that_fails_takes_the_first_one_back(digits, monkeypatch):
    def one_alone(self, size):
        if size > 1:
            raise TritonError("no")
        return lambda: [self._next() for _ in range(size)]

    monkeypatch.setattr(graph.Together, "_capture", one_alone)
    (plain,), (ours,) = seeds(digits, 1), seeds(digits, 1)
    together = graph.Together([ours])
    together._capturing = True
    with pytest.warns(UserWarning, match="could not be captured"):
        found = drive([ours])
    assert not together._graphs
    assert_same(found, drive([plain]))


def test_a_capture_that_fails_leaves_the_generator_as_it_was(digits, monkeypatch):
    class Generator:
        """A device's generator, which a capture takes hold of."""

        state = "free"

        def clone_state(self):
            return self.state

        def graphsafe_set_state(self, state):
            self.state = state

    def fails(self, size):
        generator.state = "captured"
        raise TritonError("no")

    generator = Generator()
    monkeypatch.setattr(graph, "_generator", lambda device: generator)
    monkeypatch.setattr(graph.Together, "_capture", fails)
    (ours,) = seeds(digits, 1)
    graph.Together([ours])._capturing = True
    with pytest.warns(UserWarning, match="could not be captured"):
        drive([ours], epochs=1)
    assert generator.state == "free"


# Before the first use on a device.


@pytest.fixture
def unasked():
    """Forget what was found out about devices, before and after."""
    found_out = graph.problem
    found_out.cache_clear()
    yield
    found_out.cache_clear()


def test_on_a_device_that_computes_right_there_is_no_problem(unasked):
    assert graph.problem(torch.device("cpu")) == ""


def forgets_eps(*args, eps, **options):
    adam(*args, eps=1e-8, **options)


def forgets_a_moment(params, grads, first, second, *rest, **options):
    kept = second[0].clone()
    adam(params, grads, first, second, *rest, **options)
    second[0].copy_(kept)


def fails_to_build(*_, **__):
    raise TritonError("no kernel image")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (forgets_eps, r"RuntimeError: the numbers differ"),
        (forgets_a_moment, r"RuntimeError: the numbers differ"),
        (fails_to_build, r"TritonError: no kernel image"),
    ],
)
def test_a_fused_step_with_wrong_numbers_is_not_used(monkeypatch, unasked, wrong, why):
    monkeypatch.setattr(graph, "adam", wrong)
    said = graph.problem(torch.device("cpu"))
    assert re.fullmatch(rf"its check failed on cpu \({why}.*\)", said)
    on_gpu = torch.device("cuda:0")
    monkeypatch.setattr(graph, "problem", lambda device: said)
    monkeypatch.setattr(graph, "seeds_together", lambda device: 16)
    with pytest.warns(UserWarning, match=r"'graph' is not used, as its check failed.*'plain'"):
        assert steps.choose("auto", 4, on_gpu) == "plain"
    with pytest.raises(ValueError, match=r"'graph' is not at hand: its check .* take step='plain'"):
        steps.choose("graph", 4, on_gpu)
    assert Run.side_by_side(on_gpu, step="auto") == 1


def test_a_replay_that_was_captured_wrong_is_not_used(monkeypatch, unasked):
    """A graph that leaves out an update, as a capture on another stream would."""

    def capture(self, size):
        return lambda: [self._next() for _ in range(size - (size > 1))]

    made = graph.Together.__init__

    def captures(self, *args, **options):
        made(self, *args, **options)
        self._capturing = True

    monkeypatch.setattr(graph.Together, "__init__", captures)
    monkeypatch.setattr(graph.Together, "_capture", capture)
    assert "the numbers differ" in graph.problem(torch.device("cpu"))


def test_seeds_go_side_by_side_where_the_graph_is_right(monkeypatch):
    monkeypatch.setattr(graph, "problem", lambda device: "")
    monkeypatch.setattr(graph, "seeds_together", lambda device: 16)
    on_gpu = torch.device("cuda:0")
    found = [Run.side_by_side(on_gpu, step=step) for step in ("auto", "graph", "manual")]
    assert [*found, Run.side_by_side(torch.device("cpu"), step="auto")] == [16, 16, 1, 1]


def test_the_launches_make_up_the_updates(digits, monkeypatch):
    """What a GPU would replay: here each graph is the calls that it would have captured."""
    launched = []

    def capture(self, size):
        def replay():
            launched.append(size)
            for _ in range(size):
                self._next()

        return replay

    monkeypatch.setattr(graph.Together, "_capture", capture)
    (plain,), (ours,) = seeds(digits, 1), seeds(digits, 1)
    graph.Together([ours])._capturing = True
    assert_same(drive([ours]), drive([plain]))
    assert set(launched) == {1, 50}
    # The first launch is taken without a graph, as warm-up: here one update.
    assert sum(launched) == 2 * ours.updates_per_epoch - 1


@pytest.mark.parametrize("norm", NORMS)
def test_an_update_reads_no_number_and_brings_none(digits, norm):
    """What a capture would refuse: a number read from the device, a tensor made on the host."""

    called = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.add(func.name().split(".")[0].removeprefix("aten::"))
            return func(*args, **(kwargs or {}))

    together = graph.Together(seeds(digits, 2, norm=norm))
    together._gather()
    with Watch():
        together._next()
    assert {"bmm", "_fused_adam_", "index_select"} <= called
    assert not called & {"_local_scalar_dense", "item", "lift_fresh", "nonzero", "_to_copy"}


def test_on_a_cpu_seeds_go_one_after_the_other():
    assert graph.seeds_together(torch.device("cpu")) == 1


@pytest.mark.parametrize(("gigabytes", "n"), [(0.1, 1), (2, 4), (100, 16)])
def test_on_a_gpu_go_as_many_as_fit_up_to_16(monkeypatch, gigabytes, n):
    free = int(gigabytes * 2**30)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 2 * free))
    assert graph.seeds_together(torch.device("cuda")) == n


@gpu
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 3])
def test_a_captured_graph_computes_what_its_calls_do(digits, norm, n):
    captured, called = (seeds(digits, n, norm=norm, device="cuda") for _ in range(2))
    ours = graph.Together(captured)
    graph.Together(called)._capturing = False
    assert_same(drive(captured), drive(called), 1e-9)
    assert set(ours._graphs) == {1, graph.LAUNCH}
    for replay, other in zip(captured, called, strict=True):
        assert_same_state(replay, other, 1e-9)


@gpu
@pytest.mark.parametrize("norm", NORMS)
def test_a_gpu_trains_as_a_cpu_does(digits, norm):
    ours = seeds(digits, 2, norm=norm, device="cuda")
    graph.Together(ours)
    assert_same(drive(ours, epochs=1), drive(seeds(digits, 2, norm=norm), epochs=1), 1e-6)


@gpu
def test_a_group_on_a_gpu_goes_on_from_its_checkpoints(digits, tmp_path):
    settings = {"norm": "batch", "batch_size": 16, "device": "cuda"}
    for epochs in (1, 2):
        graph.Together(group := seeds(digits, **settings))
        found = drive(group, epochs=epochs, checkpoints=tmp_path)
    graph.Together(unbroken := seeds(digits, **settings))
    assert_same(found, drive(unbroken), 1e-9)


@gpu
def test_a_capture_that_fails_on_a_gpu_leaves_it_usable(digits, monkeypatch):
    def reads(self):
        before(self)
        if torch.cuda.is_current_stream_capturing():
            self.total.sum().item()  # what no capture allows

    before = graph.Together._next
    monkeypatch.setattr(graph.Together, "_next", reads)
    (ours,), (plain,) = seeds(digits, 1, device="cuda"), seeds(digits, 1)
    graph.Together([ours])
    stream = torch.cuda.current_stream()
    with pytest.warns(UserWarning, match="could not be captured"):
        found = drive([ours], epochs=1)
    assert_same(found, drive([plain], epochs=1), 1e-6)
    assert torch.cuda.current_stream() == stream
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.rand(3, device="cuda").isfinite().all()


@gpu
def test_a_gpu_has_no_problem_with_the_graph(unasked):
    assert graph.problem(torch.device("cuda")) == ""


@gpu
def test_a_run_on_a_gpu_takes_the_graph_by_itself(digits):
    replay = Run(Settings(**SMALL), digits, device="cuda", step="auto")
    assert replay.step == "graph"
    points = list(train(replay, epochs=2))
    assert math.isfinite(points[-1]["batch_nll"])
    assert set(replay.together._graphs) == {1, graph.LAUNCH}
