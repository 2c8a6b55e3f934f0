"""The playground in a browser: its computations compared with PyTorch, its controls and state."""

import re
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F

from lnbook.widgets import playground
from tests.book.conftest import go_to

SCRIPTS = playground.WEB, "lnEngine", "lnProgram", "LN_CHALLENGES"
UPDATES = 20
CLOSE = 1e-9
# Every norm, activation, optimizer and placement; residual connections and a bias before the norm.
CASES = [
    {"norm": "none", "activation": "relu", "optimizer": "adam", "residual": True},
    {"norm": "none", "activation": "gelu", "batch": 5, "size": 0.7},
    {"norm": "layer", "activation": "relu", "residual": True, "depth": 6},
    {"norm": "layer", "activation": "gelu", "bias": True, "data": "spiral"},
    {"norm": "layer", "activation": "identity", "place": "after", "data": "rings"},
    # The gradient of a bias that batch norm removes is only rounding, which Adam amplifies.
    {"norm": "batch", "activation": "relu", "bias": True},
    {"norm": "batch", "activation": "tanh", "optimizer": "adam", "batch": 12},
    {"norm": "batch", "activation": "gelu", "place": "after", "residual": True, "data": "moons"},
    {"norm": "rms", "activation": "relu", "optimizer": "adam", "place": "after"},
    {"norm": "layer", "activation": "relu", "residual": True, "width": 64},  # as many as inputs
    {"norm": "rms", "activation": "gelu", "bias": True, "rate": 0.1},
]
BASE = {
    "data": "digits", "depth": 4, "width": 16, "activation": "tanh", "norm": "layer",
    "place": "before", "residual": False, "bias": False, "size": 1.4, "batch": 16,
    "optimizer": "sgd", "rate": 0.02, "seed": 3,
}  # fmt: skip
RUN = """([o, digits, updates]) => {
  const engine = lnEngine();
  const set = o.data === "digits" ? engine.digits(digits) : engine.plane(o.data);
  const net = new engine.Network({ ...o, inputs: set.inputs, classes: set.classes });
  const next = engine.examples(set.train, set.inputs, o.seed);
  const state = () => net.layers.map((L) => Object.fromEntries(
    ["W", "c", "gain", "b"].filter((k) => L[k]).map((k) => [k, Array.from(L[k])])));
  const start = state(), batches = [], losses = [];
  for (let i = 0; i < updates; i++) {
    const { x, y } = next(o.batch);
    batches.push([Array.from(x), Array.from(y)]);
    losses.push(net.step(x, y, o.batch));
  }
  const running = net.layers.filter((L) => L.running).map((L) =>
    [Array.from(L.running.mean), Array.from(L.running.variance)]);
  const { x, y } = set.test, few = { x: x.subarray(0, 40 * set.inputs), y: y.subarray(0, 40) };
  return { start, batches, losses, end: state(), running, inputs: set.inputs,
    few: [Array.from(few.x), Array.from(few.y)], tested: net.test(few) };
}"""


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def parts(layer):
    """The parameters of a PyTorch layer, by the names in the engine."""
    linear = getattr(layer, "linear", layer)
    norm = getattr(layer, "norm", None)
    results = {"W": linear.weight, "c": linear.bias}
    if norm is not None:
        results |= {"gain": norm.weight, "b": getattr(norm, "bias", None)}
    return {name: p for name, p in results.items() if p is not None}


def program(page, settings, updates):
    return page.evaluate("([o, n]) => lnProgram(o, n)", [settings, updates])


def torch_network(page, settings, start):
    """The network of the displayed program with the given weights, and its optimizer."""
    names = {}
    exec(program(page, settings, 1).partition("for update in")[0], names)
    assert len(names["net"]) == settings["depth"] + 1
    with torch.no_grad():
        for layer, values in zip(names["net"], start, strict=True):
            ours = parts(layer)
            assert set(ours) == set(values)
            for name, p in ours.items():
                p.copy_(tensor(values[name]).view_as(p))
    return names["net"], names["optimizer"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
def test_the_engine_computes_the_same_as_the_displayed_program(scripts, case):
    settings = BASE | case
    run = scripts.evaluate(RUN, [settings, playground.digits(), UPDATES])
    net, optimizer = torch_network(scripts, settings, run["start"])
    for (x, y), loss in zip(run["batches"], run["losses"], strict=True):
        ours = F.cross_entropy(net(tensor(x).view(-1, run["inputs"])), torch.tensor(y))
        assert loss == pytest.approx(ours.item(), abs=CLOSE)
        optimizer.zero_grad()
        ours.backward()
        optimizer.step()
    for layer, end in zip(net, run["end"], strict=True):
        for name, p in parts(layer).items():
            torch.testing.assert_close(p.detach().flatten(), tensor(end[name]), rtol=0, atol=CLOSE)
    norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm1d)]
    for norm, (mean, var) in zip(norms, run["running"], strict=True):
        torch.testing.assert_close(norm.running_mean, tensor(mean), rtol=0, atol=CLOSE)
        torch.testing.assert_close(norm.running_var, tensor(var), rtol=0, atol=CLOSE)
    net.eval()
    x, y = tensor(run["few"][0]).view(-1, run["inputs"]), torch.tensor(run["few"][1])
    logits = net(x)
    assert run["tested"]["loss"] == pytest.approx(F.cross_entropy(logits, y).item(), abs=1e-7)
    assert run["tested"]["error"] == (logits.argmax(1) != y).double().mean().item()


def test_the_displayed_program_runs_and_learns(scripts, capsys):
    settings = BASE | {"data": "rings", "rate": 0.1, "depth": 2, "bias": True, "size": 1}
    exec(program(scripts, settings, 400), {})
    assert float(capsys.readouterr().out.split()[-1]) < 0.4  # chance: 0.5 to 0.9


OUTCOMES = """([run, digits, start, seeds]) => {
  const engine = lnEngine(), c = LN_CHALLENGES[run] || run, s = { ...start, ...c.settings };
  const set = s.data === "digits" ? engine.digits(digits) : engine.plane(s.data);
  return seeds.map((seed) => ["a", "b"].map((k) => {
    const o = { ...s, [s.differs]: s[k] };
    for (const name of ["residual", "bias"]) o[name] = o[name] === "yes";
    const net = new engine.Network({ ...o, seed, inputs: set.inputs, classes: set.classes });
    const next = engine.examples(set.train, set.inputs, seed);
    for (let n = 0; n < c.updates; n++) {
      const { x, y } = next(o.batch);
      net.step(x, y, o.batch);
    }
    return net.test(set.test).error;
  }));
}"""
START = {k: "yes" if v is True else "no" if v is False else v for k, v in BASE.items()} | {
    "depth": 10, "width": 32, "size": 0.41, "rate": 0.01, "differs": "norm", "a": "none",
    "b": "layer",
}  # fmt: skip
# Which of A and B end below an error of 0.2, according to the sentence of each challenge.
EXPECTED = {
    "Fading": (False, True), "Exploding": (False, True), "Batch of 2": (False, True),
    "Batch of 1": (False, True), "He initialization": (True, True), "30 layers": (False, False),
    "Residual connections": (False, True), "Scale invariance": (True, False),
    "Bias before the norm": (False, True), "Nonlinear boundary": (False, True),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EXPECTED)
def test_challenges_end_as_described(scripts, name):
    names = scripts.evaluate("LN_CHALLENGES.map((c) => c.name)")
    assert names == list(EXPECTED)
    errors = outcomes(scripts, names.index(name))
    assert [tuple(e < 0.2 for e in pair) for pair in errors] == [EXPECTED[name]] * 2, errors


# The results stated under "Your own settings": common settings of A and B, the setting in which
# they differ, number of updates, and which of them have learned.
SEEN = {
    "no norm": ({"norm": "none", "differs": "depth", "a": 1, "b": 4}, 500, (True, False)),
    "layer norm": ({"norm": "layer", "differs": "depth", "a": 15, "b": 30}, 500, (True, False)),
    "size": ({"norm": "layer", "differs": "size", "a": 0.41, "b": 2}, 500, (True, False)),
}  # fmt: skip


PLACE = {"norm": "layer", "depth": 20, "residual": "yes", "differs": "place", "a": "before",
         "b": "after"}  # fmt: skip


def outcomes(page, run):
    return page.evaluate(OUTCOMES, [run, playground.digits(), START, [1, 2]])  # starts at seed 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SEEN)
def test_statements_about_results_are_true(scripts, name):
    settings, updates, learned = SEEN[name]
    errors = outcomes(scripts, {"settings": settings, "updates": updates})
    assert [tuple(e < 0.2 for e in pair) for pair in errors] == [learned] * 2, errors


def test_before_activation_learns_sooner_and_ends_with_the_same_error(scripts):
    for updates, least, most in ((30, 0.05, 0.5), (500, -0.03, 0.03)):
        errors = outcomes(scripts, {"settings": PLACE, "updates": updates})
        assert all(least < after - before < most for before, after in errors), errors


# In the pages of the book.

SMALL, FULL = "introduction", "playground"


@pytest.fixture(scope="module")
def play(use):
    """``with play(name, query) as w``: a playground after its first response."""

    @contextmanager
    def opened(name=FULL, query=""):
        with use(name, "playground", query, reduced_motion="no-preference") as w:
            w.part("status").filter(has_text=re.compile("^After")).wait_for(state="attached")
            yield w

    return opened


def button(w, name):
    return w.root.get_by_role("button", name=name, exact=True)


def updates(w):
    return int(w.text("count").replace(",", ""))


AT = """(n) => document.querySelector(".ln-playground [data-part=status]").textContent
  .startsWith(`After ${n} update`)"""
AT_REST = """() => {
  const root = document.querySelector(".ln-playground"), at = (name) =>
    root.querySelector(`[data-part=${name}]`).textContent;
  return root.dataset.running === "no" && at("status").startsWith(`After ${at("count")} update`);
}"""


# Wait until status and address agree, because a late response changes them one after the other.
AGREED = """() => { const text = document.querySelector("[data-part=status]").textContent;
  const at = /&at=(\\d+)/.exec(location.hash)?.[1];
  return text.startsWith(`After ${at} updates`) && [text, location.href]; }"""


def until(w, count):
    """Run until this number of updates, and pause."""
    button(w, "Start").click()
    w.page.wait_for_function(
        """(n) => Number(document.querySelector(".ln-playground [data-part=count]")
        .textContent.replace(",", "")) >= n""",
        arg=count,
    )
    button(w, "Pause").click()
    w.page.wait_for_function(AT_REST)  # a response could be pending


def status(w):
    return w.part("status").text_content()


def wrong(w):
    """The errors of A and B in percent, as shown in the status."""
    return [int(n) for n in re.findall(r"misclassifies (\d+)%", status(w))]


def choose(w, key, value):
    w.root.locator(f"select[data-key='{key}']").select_option(value)


def test_the_playground_of_the_first_page_starts_and_stops_by_itself(play):
    with play(SMALL) as w:
        w.page.wait_for_function(AT, arg=800)
        assert w.root.get_attribute("data-running") == "no"
        a, b = (int(w.part(f"error-{k}").inner_text().split()[0]) for k in (0, 1))
        assert a < 40
        assert b > 80
        text = w.part("verdict").inner_text()
        assert [int(n) for n in re.findall(r"reads (\d+)", text)] == [a, b]


@pytest.mark.every_browser
def test_step_takes_one_update_and_reset_undoes_all(play):
    with play() as w:
        before = status(w)
        for count in (1, 2):
            button(w, "Step").click()
            w.page.wait_for_function(AT, arg=count)
        assert status(w) != before
        button(w, "Reset").click()
        w.page.wait_for_function(AT, arg=0)
        assert status(w) == before


def test_the_address_carries_settings_and_update(play):
    with play() as w:
        choose(w, "differs", "rate")
        choose(w, "a", "0.05")
        choose(w, "b", "0.2")
        choose(w, "activation", "gelu")
        choose(w, "norm", "rms")
        until(w, 60)
        text, address = w.page.wait_for_function(AGREED).json_value()
    with play(query="#" + address.partition("#")[2]) as w:
        w.page.wait_for_function(
            "said => document.querySelector('[role=status]').textContent === said", arg=text
        )
        assert w.page.locator("select[data-key='b']").input_value() == "0.2"
        assert w.page.locator("select[data-key='rate']").is_hidden()


def chosen(w):
    """The selected value of every menu, and the status."""
    lists = w.root.locator("select[data-key]").all()
    return [status(w), *(one.input_value() for one in lists)]


def test_addresses_restore_the_update_and_ignore_invalid_parts(play):
    with play() as w:
        start = chosen(w)
    wrong = "#play&depth=999&a=__proto__&differs=data&at=-5&batch=&norm=%E0%A4%A"
    with play(query=wrong) as w:
        assert chosen(w) == start
        go_to(w.page, "#play&data=moons&batch=1&width=8&differs=depth&a=1&b=2&at=12345")
        w.page.wait_for_function(AT, arg="12,345")
        w.page.wait_for_function(AT_REST)
        assert updates(w) == 12345
        assert w.page.url.endswith("at=12345")
        go_to(w.page, wrong)  # also on a page that has been used
        w.page.wait_for_function(AT, arg=0)
        assert chosen(w) == start


def test_every_setting_changes_the_run(play):
    with play(query="#play&norm=layer&differs=optimizer&a=sgd&b=adam&at=3") as w:
        w.page.wait_for_function("document.querySelector('[data-part=count]').textContent === '3'")
        observed = set()
        numbers = w.page.locator("[data-part='numbers'] summary")
        numbers.click()
        table = w.part("table")

        def now():
            w.page.wait_for_function("document.querySelectorAll('[data-part=table] td').length > 0")
            return table.inner_text() + status(w)

        observed.add(now())
        for key, value in {
            "data": "moons", "depth": "4", "width": "8", "activation": "relu", "bias": "yes",
            "norm": "batch", "place": "after", "residual": "yes", "size": "2", "batch": "2",
            "rate": "0.1", "seed": "4",
        }.items():  # fmt: skip
            choose(w, key, value)
            w.page.wait_for_function(AT, arg=0)  # what is shown is no longer that of the run before
            for _ in range(2):  # the second one while the first is pending
                button(w, "Step").click()
            w.page.wait_for_function(AT, arg=2)
            result = now()
            assert result not in observed, key
            observed.add(result)


def test_a_challenge_asks_for_a_prediction_before_showing_the_result(play):
    with play() as w:
        choose(w, "pace", "0")
        button(w, "Bias before the norm").click()
        ask = w.part("ask")
        assert updates(w) == 0
        button(w, "both").click()
        w.page.wait_for_selector(".ln-playground-why")
        text = ask.inner_text()
        assert "You predicted both. Result: only B." in text
        w.page.wait_for_function(AT_REST)
        a, b = wrong(w)
        assert f"A misclassifies {a}%, B {b}%." in text
        assert updates(w) == 1500
