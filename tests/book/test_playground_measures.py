"""Measures of the playground compared with PyTorch, and how they are shown."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lnbook.widgets import playground
from tests.book.test_playground_page import BASE, CASES, parts, tensor, torch_network

SCRIPTS = playground.WEB, "lnEngine", "lnProgram", "lnWorker", "lnPlayground"
PROBE, FOLLOWED = 64, 3  # how many held-out examples are measured, from the followed one on
MAP, REACH = 40, 2.2  # number of points per side of the map of the plane, and its extent
CLOSE = 1e-9

WORKER = """([settings, digits, messages]) => {
  const engine = lnEngine(), answers = [], { data, seed } = settings[0];
  const tell = lnWorker(engine, (answer) => answers.push(answer));
  tell({ digits });
  tell({ make: { id: 1, arms: settings, data, seed, example: 3 } });
  for (const message of messages) tell(message);
  const set = data === "digits" ? engine.digits(digits) : engine.plane(data);
  const nets = settings.map((o) =>
    new engine.Network({ ...o, inputs: set.inputs, classes: set.classes, room: 128 }));
  const state = (net) => net.layers.map((L) => Object.fromEntries(
    ["W", "c", "gain", "b"].filter((k) => L[k]).map((k) => [k, Array.from(L[k])])));
  const batch = ({ x, y }) => [Array.from(x), Array.from(y)];
  const plain = ({ nets, ...rest }) => ({ ...rest, nets: nets?.map((net) => ({ ...net,
    heat: Array.from(net.heat), map: net.map && Array.from(net.map) })) });
  return {
    answers: answers.map(plain), inputs: set.inputs, starts: nets.map(state),
    test: batch(set.test),
    batches: settings.map((o) => batch(engine.examples(set.train, set.inputs, o.seed)(o.batch))),
  };
}"""


def gradient_norms(net, x, y):
    """The norm of the gradient of each layer's weight matrix."""
    F.cross_entropy(net(x), y).backward()
    return [float(parts(layer)["W"].grad.norm()) for layer in net]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
def test_activations_gradients_and_outputs_equal_those_of_pytorch(scripts, case):
    settings = BASE | case
    result = scripts.evaluate(WORKER, [[settings] * 2, playground.digits(), []])
    (answer,) = result["answers"]
    net, _ = torch_network(scripts, settings, result["starts"][0])
    x, y = (tensor(result["batches"][0][0]), torch.tensor(result["batches"][0][1]))
    shown = answer["nets"][0]
    np.testing.assert_allclose(
        shown["slopes"], gradient_norms(net, x.view(len(y), -1), y), rtol=CLOSE
    )

    torch_net = torch_network(scripts, settings, result["starts"][0])[0].eval()
    held_out = tensor(result["test"][0]).view(-1, result["inputs"])
    labels = torch.tensor(result["test"][1])
    with torch.no_grad():
        logits = torch_net(held_out)
        outputs, h = [], held_out[FOLLOWED : FOLLOWED + PROBE]
        for layer in list(torch_net)[:-1]:
            h = layer(h)
            outputs.append(h.numpy())
    assert len(labels) % 128  # a pass has at most 128 examples
    wrong = (logits.argmax(1) != labels).double().mean()
    assert shown["error"] == pytest.approx(float(wrong), abs=1e-12)
    np.testing.assert_allclose(shown["chances"], logits[FOLLOWED].softmax(0), atol=CLOSE)
    heat = np.array(shown["heat"]).reshape(len(outputs), -1)
    for layer, (h, activity) in enumerate(zip(outputs, shown["activity"], strict=True)):
        np.testing.assert_allclose(heat[layer], h[0], rtol=1e-6)  # kept in float32
        assert activity["size"] == pytest.approx(np.sqrt((h**2).mean()), rel=CLOSE)
        of_the_example = ((h - h.mean(0)) ** 2).sum() / (h**2).sum()
        assert activity["apart"] == pytest.approx(of_the_example, abs=1e-8)


IDLE = {"relu": lambda a: a == 0, "tanh": lambda a: abs(a) > 0.99, "gelu": lambda a: a != a}


@pytest.mark.parametrize(
    ("norm", "residual", "activation"),
    [("none", False, "relu"), ("none", True, "tanh"), ("layer", True, "relu"),
     ("layer", False, "gelu")],
)  # fmt: skip
def test_dead_and_saturated_units_equal_those_of_pytorch(scripts, norm, residual, activation):
    """Units are judged by the activation's output, without the residual connection."""
    settings = BASE | {
        "norm": norm, "activation": activation, "size": 4.0, "depth": 3, "width": 64,
        "residual": residual,
    }  # fmt: skip
    result = scripts.evaluate(WORKER, [[settings] * 2, playground.digits(), []])
    net = torch_network(scripts, settings, result["starts"][0])[0].eval()
    h = tensor(result["test"][0]).view(-1, result["inputs"])[FOLLOWED : FOLLOWED + PROBE]
    shares = []
    with torch.no_grad():
        for k, layer in enumerate(list(net)[:-1]):
            before, h = h, layer(h)
            a = h - before if residual and k else h
            a = a.where(a.abs() > 1e-12, 0)  # except for rounding of the difference
            shares.append(IDLE[activation](a).all(0).double().mean())
    shown = [layer["dead"] for layer in result["answers"][0]["nets"][0]["activity"]]
    np.testing.assert_allclose(shown, shares, atol=1e-12)


def test_the_map_shows_the_class_that_pytorch_predicts(scripts):
    settings = [BASE | {"data": "spiral", "norm": norm} for norm in ("none", "layer")]
    result = scripts.evaluate(WORKER, [settings, playground.digits(), []])
    middle = REACH * ((np.arange(MAP) + 0.5) * 2 / MAP - 1)
    points = np.stack([*np.meshgrid(middle, -middle)], axis=-1).reshape(-1, 2)  # top row first
    for k, shown in enumerate(result["answers"][0]["nets"]):
        net = torch_network(scripts, settings[k], result["starts"][k])[0].eval()
        with torch.no_grad():
            classes = net(tensor(points.tolist())).argmax(1)
        assert shown["map"] == classes.tolist()


def test_diverged_networks_show_no_readouts_but_the_update(scripts):
    """Its logits are infinite or NaN: no class is right by accident."""
    settings = [BASE | {"norm": norm, "activation": "identity", "rate": rate}
                for norm, rate in (("none", 1e150), ("layer", 0.02))]  # fmt: skip
    messages = [{"train": 30, "full": True, "budget": 60_000}]
    result = scripts.evaluate(WORKER, [settings, playground.digits(), messages])
    start, end = result["answers"]
    losses = np.array([np.nan if v is None else v for v in end["losses"][0]], float)
    lost = next(k for k, v in enumerate(losses, 1) if not v < 1e12)
    assert start["lost"] == [0, 0]
    assert end["lost"] == [lost, 0]
    assert np.isnan(losses[lost:]).all()  # training has stopped
    assert end["nets"][0]["error"] == 1
    assert end["nets"][1]["error"] < 0.9
    assert np.isfinite(end["losses"][1]).all()


# Figures and texts of these measures.

SHOW = """window.lnShow = async (settings, digits, how, watch, look) => {
  const { updates = 0, colors = {} } = how;
  const pen = CanvasRenderingContext2D.prototype, own = {};
  for (const [name, told] of Object.entries(watch)) {
    own[name] = pen[name];
    pen[name] = function (...given) {
      told(this, ...given);
      own[name].apply(this, given);
    };
  }
  const rest = () => new Promise((done) => setTimeout(done, 20));
  const root = document.createElement("div");
  for (const [name, color] of Object.entries(colors)) root.style.setProperty(`--ln-${name}`, color);
  root.style.width = "1200px";
  document.body.append(root);
  const close = lnPlayground(root, { live: true, settings, digits: async () => digits });
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  for (let n = 0; n <= updates; n++) {
    if (n) part("step").click();
    while (!part("status").textContent.startsWith(`After ${n} update`)) await rest();
  }
  const found = await look(part, rest);
  close();
  root.remove();
  Object.assign(pen, own);
  return found;
};"""
MORE = SHOW
OPEN = """([settings, digits, updates]) => lnShow(settings, digits, { updates }, {},
  async (part, rest) => {
  part("numbers").open = true;
  while (!part("table").querySelector("td")) await rest();
  const cells = (row) => [...row.children].map((cell) => cell.textContent);
  return [...part("table").querySelectorAll("tr")].map(cells);
})"""
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def as_number(text):
    """Format a number as the table does."""
    if result := re.fullmatch(r"(\d+)\s×\s10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text):
        return float(f"{result[1]}e{result[2].translate(SUPERSCRIPTS)}")
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


@pytest.mark.parametrize(("activation", "size", "depth"), [("tanh", 4, 5), ("relu", 0.1, 5)])
def test_the_table_labels_each_measure_correctly(scripts, activation, size, depth):
    """For two different networks, as the worker measures them."""
    chosen = {"depth": depth, "width": 16, "size": size, "activation": activation, "seed": 2,
              "rate": 0.02, "batch": 16}  # fmt: skip
    arms = [BASE | chosen | {"norm": norm} for norm in ("none", "layer")]
    steps = 2
    messages = [{"train": 1, "full": True}] * steps
    measured = scripts.evaluate(WORKER, [arms, playground.digits(), messages])["answers"][-1]
    words = {name: str(value) for name, value in chosen.items()}
    head, *rows = scripts.evaluate(OPEN, [words, playground.digits(), steps])
    idle = "saturated units" if activation == "tanh" else "dead units"
    names = {"RMS activation": "size", "varies with the digit": "apart", idle: "dead"}
    assert head == ["network", "layer", *names, "gradient norm"]
    for k, net in enumerate(measured["nets"]):
        own = [dict(zip(head, row, strict=True)) for row in rows if row[0] == "AB"[k]]
        assert [row["layer"] for row in own] == [str(k + 1) for k in range(depth)]
        for row, layer, slope in zip(own, net["activity"], net["slopes"][:-1], strict=True):
            values = {name: layer[key] for name, key in names.items()} | {"gradient norm": slope}
            for name, value in values.items():
                close = {"rel": 0.5} if "×" in row[name] else {"rel": 0.051, "abs": 0.0051}
                assert as_number(row[name]) == pytest.approx(value, **close), (k, name)


COLORED = """async ([settings, colors]) => {
  const lines = [], letters = [];
  return lnShow(settings, null, { colors }, { stroke: (pen) => {
    if (pen.canvas.dataset.part !== "curves") return;
    lines.push([pen.strokeStyle, pen.getLineDash().length > 0]);
  }, fillText: ({ canvas, fillStyle }, text) => {
    if (canvas.dataset.part === "curves" && /^[AB]$/.test(text)) letters.push([text, fillStyle]);
  } }, (part) => ({ lines: lines.slice(-4), letters: letters.slice(-2), cards: [0, 1].map((k) =>
    part(`net-${k}`).style.getPropertyValue("--ln-playground-mine")) }));
}"""
COLORS = {name: f"#00000{k}" for k, name in
          enumerate(("none", "layer", "batch", "rms", "sgd", "adam"), start=1)}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"differs": "norm", "a": "rms", "b": "layer"}, ("rms", "layer")),
        ({"differs": "depth", "a": "2", "b": "3", "norm": "rms"}, ("rms", "rms")),
    ],
)
def test_networks_have_the_color_of_the_setting_in_which_they_differ(scripts, settings, shown):
    """Otherwise both have the color of their norm, and B is dashed."""
    small = {"data": "moons", "depth": "2", "width": "8"}
    result = scripts.evaluate(COLORED, [small | settings, COLORS])
    assert result["cards"] == [COLORS[name] for name in shown]
    own = [COLORS[name] for name in shown]
    dashed = own[0] == own[1]
    assert result["lines"] == [[own[0], False], [own[1], dashed]] * 2
    assert result["letters"] == [["A", own[0]], ["B", own[1]]]


CURVES = """async ([settings, digits, updates]) => {
  let log;
  const acts = { clearRect: () => { log = { lines: [], texts: {} }; },
    beginPath: () => log.lines.push([]), moveTo: (...at) => log.lines.at(-1).push(at),
    lineTo: (...at) => log.lines.at(-1).push(at),
    fillText: (text, ...at) => { log.texts[text] = at; } };
  const watch = Object.fromEntries(Object.entries(acts).map(([name, act]) => [name,
    ({ canvas }, ...given) => { if (canvas.dataset.part === "curves") act(...given); }]));
  return lnShow(settings, digits, { updates }, watch, () => log);
}"""


def test_both_curves_are_drawn_at_the_measured_points(scripts):
    """The loss is a bias-corrected running mean in which each update has a weight of 1/10."""
    chosen = {"depth": 2, "width": 16, "size": 1.4, "seed": 2, "rate": 0.05, "batch": 16}
    arms = [BASE | chosen | {"norm": norm} for norm in ("none", "layer")]
    steps = 5
    answers = scripts.evaluate(
        WORKER, [arms, playground.digits(), [{"train": 1, "full": True}] * steps]
    )["answers"]
    words = {name: str(value) for name, value in chosen.items()}
    drawn = scripts.evaluate(CURVES, [words, playground.digits(), steps])
    texts, lines = drawn["texts"], [np.array(line) for line in drawn["lines"][-4:]]
    (loss,) = (at for text, at in texts.items() if text.startswith("Training loss"))
    (error,) = (at for text, at in texts.items() if text.startswith("Error"))
    update = (texts["200 updates"][0] - error[0]) / 200  # pixels
    weights = 0.9 ** np.arange(steps)
    for k in (0, 1):
        x, y = lines[k].T
        np.testing.assert_allclose((x - loss[0]) / update, range(1, steps + 1), atol=1e-6)
        losses = np.array([answer["losses"][k][0] for answer in answers[1:]])
        means = [np.average(losses[: n + 1], weights=weights[: n + 1][::-1]) for n in range(steps)]
        one = texts["1"][1] - texts["2"][1]  # a nat, in pixels
        np.testing.assert_allclose(1 + (texts["1"][1] - 4 - y) / one, means, rtol=1e-6)
        x, y = lines[2 + k].T
        np.testing.assert_allclose((x - error[0]) / update, range(steps + 1), atol=1e-6)
        half = texts["50%"][1] - texts["100%"][1]
        errors = [answer["nets"][k]["error"] for answer in answers]
        shown = 0.5 + 0.5 * (texts["50%"][1] - 4 - y) / half
        np.testing.assert_allclose(shown, errors, atol=1e-6)
