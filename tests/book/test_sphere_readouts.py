"""Readouts of the sphere compared with lnlib: sentences, sliders and table."""

import math
import re

import numpy as np
import pytest

import lnlib
from lnbook.widgets.sphere import WEB
from tests.book.test_sphere_page import STATE
from tests.cases.readouts import check_says

SCRIPTS = WEB, "lnSphereScene", "lnSphere"


@pytest.mark.parametrize("stage", [0, 0.5, 1, 1.5, 2, 2.5, 3])
@pytest.mark.parametrize("eps", [0, 0.2])
def test_sentences_of_all_stages_state_the_numbers_of_the_point(scripts, stage, eps):
    for a in np.random.default_rng(3).uniform(-2, 2, size=(5, 3)).round(2):
        given = dict(zip(("a1", "a2", "a3"), a.tolist(), strict=True))
        text = scripts.evaluate(
            "(s) => lnSphereScene.say(s)", STATE | given | {"eps": eps, "stage": stage}
        )
        mean, sigma = (f"{v:.2f}".replace("-", "−") for v in (a.mean(), a.std()))
        short = f"{3**0.5 - np.linalg.norm(lnlib.layer_norm(a, eps=eps)):.2f}"
        at_the_norm = [mean, f"{eps:.2f}", short, sigma] if eps else [mean, sigma]
        numbers = (
            ["√3", mean] if stage < 1 else [mean, "√3", sigma] if stage < 2
            else at_the_norm if stage == 2 else []
        )  # fmt: skip
        check_says(text, *numbers)


SHOWN = """(states) => states.map((settings) => {
  const root = document.createElement("div");
  const close = lnSphere(root, { cloud: [], settings, live: true });
  const texts = [...root.querySelectorAll("[data-key]")].map((field) => [field.dataset.key,
    [field.nextElementSibling.textContent, field.getAttribute("aria-valuetext")]]);
  close();
  return Object.fromEntries(texts);
})"""


def test_sliders_show_their_value_and_the_next_stage(scripts):
    rng = np.random.default_rng(5)
    stages = [0, 1, 2, 3, *(np.arange(1, 30) / 10)]
    states = [
        {name: round(float(rng.uniform(low, high)), 2) for name, low, high in (
            ("a1", -2, 2), ("a2", -2, 2), ("a3", -2, 2), ("eps", 0, 0.5), ("d1", -2, 2),
            ("d2", -2, 2), ("d3", -2, 2), ("turn", -180, 180), ("tilt", 0, 90))}
        | {"stage": float(stage)}
        for stage in stages
    ]  # fmt: skip
    shown = scripts.evaluate(SHOWN, states)
    names = [texts["stage"][0] for texts in shown[:4]]
    assert len(set(names)) == 4
    for state, texts in zip(states, shown, strict=True):
        assert texts.keys() == state.keys()
        stage = state.pop("stage")
        reached = names[math.ceil(stage)]
        assert texts["stage"] == [reached if stage % 1 == 0 else f"→ {reached}"] * 2
        for name, value in state.items():
            shown, spoken = (float(t.replace("−", "-").removesuffix("°")) for t in texts[name])
            half = 0.5 if name in ("turn", "tilt") else 0.005
            assert shown == spoken == pytest.approx(value, abs=half + 1e-9), name


def as_number(cell):
    return float(cell.rpartition(" ")[2].replace("−", "-"))


@pytest.mark.parametrize("eps", [0, 0.01, 0.5])
def test_cells_of_the_table_contain_the_quantity_of_their_row(scripts, eps):
    """σ is the standard deviation of a, without eps; the removed parts are projections of d."""
    a, d = np.array([0.4, -0.3, 0.2]), np.array([1.3, -0.6, -1.4])
    gain, bias = (np.array(scripts.evaluate(f"lnSphereScene.{name}")) for name in ("GAIN", "BIAS"))
    hat = lnlib.layer_norm(a, eps=eps)
    dx = lnlib.layer_norm_backward(d, a, eps=eps)[0]
    norm = np.linalg.norm
    forward = {
        "a": (a, f"μ = {a.mean():.2f}"), "a − μ": (a - a.mean(), f"σ = {a.std():.2f}"),
        "â": (hat, f"norm {norm(hat):.2f}"), "y": (gain * hat + bias, "gain, bias"),
    }  # fmt: skip
    ones, along = np.full(3, d.mean()), hat * (d @ hat) / 3
    back = {
        "d": (d, f"norm {norm(d):.2f}"), "along 1": (ones, f"removed {norm(ones):.2f}"),
        "along â": (along, f"removed {norm(along):.2f}"), "dx": (dx, f"norm {norm(dx):.2f}"),
    }  # fmt: skip
    given = dict(zip(("a1", "a2", "a3", "d1", "d2", "d3"), [*a, *d], strict=True))
    for gradient, expected in ((False, forward), (True, back)):
        state = STATE | given | {"eps": eps, "gradient": gradient}
        rows = scripts.evaluate("(s) => lnSphereScene.numbers(s)", state)
        assert [row[1] for row in rows] == [*expected]
        for _, name, *cells, last in rows:
            values, more = expected[name]
            assert [as_number(cell) for cell in cells] == pytest.approx(values, abs=0.0051), name
            assert last.replace("−", "-") == more, name


@pytest.mark.parametrize("eps", [0, 0.01, 0.5])
def test_the_sentence_states_the_removed_and_the_remaining_gradient(scripts, eps):
    def say(**given):
        state = STATE | {"eps": eps, "gradient": True} | given
        return scripts.evaluate("(s) => lnSphereScene.say(s)", state).replace("\u00a0", " ")

    a, d = np.array([0.4, -0.3, 0.2]), np.array([1.3, -0.6, -1.4])
    text = say(**dict(zip(("a1", "a2", "a3", "d1", "d2", "d3"), [*a, *d], strict=True)))
    hat, dx = lnlib.layer_norm(a, eps=eps), lnlib.layer_norm_backward(d, a, eps=eps)[0]
    lost = [f"{np.linalg.norm(v):.2f}" for v in (np.full(3, d.mean()), hat * (d @ hat) / 3)]
    assert f"{lost[0]} along (1, 1, 1) and {lost[1]} along â" in text
    match = re.search(r"The rest, divided by (.*) = (\d+\.\d+), is dx, with norm (\d+\.\d+)", text)
    assert match[1] == ("√(σ² + eps)" if eps else "σ")
    assert float(match[2]) == pytest.approx(np.sqrt(a.var() + eps), abs=0.0051)
    assert float(match[3]) == pytest.approx(np.linalg.norm(dx), abs=0.0051)
    if not eps:
        assert "Nothing is left" in say(d1=1, d2=1, d3=1)


UP, X, Y = (np.array(v) / np.linalg.norm(v) for v in ((1, 1, 1), (1, -1, 0), (1, 1, -2)))


def seen_at(points, turn, tilt):
    """The pixels of points in space: 59 pixels per unit, with 0 at (220, 198)."""
    turn, tilt = np.radians([turn, tilt])
    right, away = np.cos(turn) * X - np.sin(turn) * Y, np.sin(turn) * X + np.cos(turn) * Y
    up = np.cos(tilt) * UP + np.sin(tilt) * away
    points = np.asarray(points)
    return np.stack([220 + 59 * points @ right, 198 - 59 * points @ up], -1)


SHAPES = """(svg) => { // the points of each shape and the place of each word, by class
  const found = {}, holder = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  holder.innerHTML = svg;
  for (const e of holder.children) {
    const at = (...names) => names.map((name) => Number(e.getAttribute(name)));
    const points = e.localName === "circle" ? [at("cx", "cy")] : e.localName === "text"
      ? [at("x", "y")] : [...e.getAttribute("d").matchAll(/(-?[\\d.]+) (-?[\\d.]+)/g)].map(
        ([, x, y]) => [Number(x), Number(y)]);
    const name = e.getAttribute("class").replace("ln-sphere-", "") + e.textContent;
    (found[name] ??= []).push(...points);
  }
  return found;
}"""


@pytest.mark.parametrize("eps", [0, 0.2])
@pytest.mark.parametrize("stage", [0.5, 1.5, 2, 2.5, 3, "gradient"])
def test_shapes_are_drawn_at_their_coordinates(scripts, stage, eps):
    """Points, their paths, arrows and labels, for every rotation."""
    rng = np.random.default_rng(7)
    gain, bias = (np.array(scripts.evaluate(f"lnSphereScene.{name}")) for name in ("GAIN", "BIAS"))
    gradient, share = stage == "gradient", 0 if stage == "gradient" else max(0, stage - 2)
    for turn, tilt in ((-25, 24), (100, 70), (10, 0)):
        a, d = rng.uniform(-2, 2, size=(2, 3)).round(2)
        given = dict(zip(("a1", "a2", "a3", "d1", "d2", "d3"), [*a, *d], strict=True))
        given |= {"eps": eps, "turn": turn, "tilt": tilt, "gradient": gradient}
        given["stage"] = 1 if gradient else stage
        result = scripts.evaluate(f"(s) => ({SHAPES})(lnSphereScene.draw(s, []))", STATE | given)

        def has(name, *points, found=result, turn=turn, tilt=tilt, off=(0, 0)):
            for place in seen_at(points, turn, tilt) + off:
                near = np.abs(np.array(found[name]) - place).max(-1).min()
                assert near < 0.11, name

        centered, hat = a - a.mean(), lnlib.layer_norm(a, eps=eps)
        y = gain * hat + bias
        now = (
            centered + (0 if stage in (2, "gradient") else max(0, 1 - stage)) * a.mean()
            if not gradient and stage < 1
            else centered + (stage - 1) * (hat - centered) if not gradient and stage < 2
            else hat + share * (y - hat)
        )  # fmt: skip
        dim = " ln-sphere-dim" if gradient else ""
        has("a", a)
        has("a-namea", a, off=(0, -14))
        has("shadow" + dim, centered)
        has("fall" + dim, a, now if not gradient and stage < 1 else centered)
        for k, name in enumerate("₁₂₃"):
            has("axis-namea" + name, 2.5 * np.eye(3)[k], off=(0, 4))
        angles = np.radians(5 * np.arange(72))
        ring = np.sqrt(3) * (np.outer(np.cos(angles), X) + np.outer(np.sin(angles), Y))
        has("ring", *(ring + share * (gain * ring + bias - ring)))
        if eps and (gradient or stage > 1):
            short = ring * np.linalg.norm(hat) / np.sqrt(3)
            has("short", *(short + share * (gain * short + bias - short)))
        if gradient:
            ones, dx = np.full(3, d.mean()), lnlib.layer_norm_backward(d, a, eps=eps)[0]
            rest = dx * np.sqrt(a.var() + eps)
            has("in", hat, hat + d)
            has("in ln-sphere-head", hat + d)
            has("dx", hat, hat + dx)
            if "dx ln-sphere-head" in result:  # a short arrow has no head
                has("dx ln-sphere-head", hat + dx)
            has("out-namedx", hat + dx, off=(0, 20))
            has("tip", hat + d)
            has("a-named", hat + d, off=(12, -6))
            has("fall", hat + d, hat + d - ones)
            has("divide", hat + d - ones, hat + rest)
        elif stage > 1:
            has("divide", centered, now if stage < 2 else hat)
            has("out", hat if stage >= 2 else now)
        if share:
            has("affine", hat, now)
            has("y", now)
        assert ("y-namey" in result) == (stage == 3)
        if stage == 3:
            has("y-namey", y, off=(0, -13))


ACTS = """async ([settings, act]) => {
  const root = document.createElement("div"), frames = () => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done)));
  document.body.append(root);
  const close = lnSphere(root, { cloud: [], settings, live: true });
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  if (act.startsWith("Arrow")) {
    part("stage").dispatchEvent(new KeyboardEvent("keydown", { key: act }));
  } else root.querySelector(`[data-act="${act}"], [data-way="${act}"]`).click();
  await frames();
  const values = [...root.querySelectorAll("[data-key]")].map((field) => [field.dataset.key,
    Number(field.getAttribute("aria-valuetext").replace("−", "-").replace("°", ""))]);
  const pressed = ["no", "yes"].map((way) => root.querySelector(`[data-way=${way}]`).ariaPressed);
  const away = ["forward", "back"].map((name) => part(name).classList.contains("ln-sphere-away"));
  close();
  root.remove();
  return [Object.fromEntries(values.filter(([key]) => key !== "stage")), pressed, away];
}"""


def until_the_edge(point, target):
    """The largest step toward a point with numbers from -2 to 2."""
    shares = np.linspace(0, 1, 100_001)[:, None]
    path = point + shares * (target - point)
    return path[np.abs(path).max(-1) <= 2 + 1e-9][-1]


def test_buttons_and_arrow_keys_change_the_labeled_quantity(scripts):
    start = {"a": [1.2, -0.4, 0.7], "d": [0.5, -0.6, 1.4]}
    for a in (start["a"], [-1.2, 0.3, 0.6], [0.4, 0.2, -0.3]):
        a, d = np.array(a), np.array(start["d"])
        names = [f"{name}{k}" for name in "ad" for k in (1, 2, 3)]
        given = dict(zip(names, [*a.tolist(), *d.tolist()], strict=True))
        given |= {"eps": 0.1, "turn": 178, "tilt": 88}

        def points(a=a, d=d, names=names):
            return dict(zip(names, [*a, *d], strict=True))

        shifted = a + (-1 if a.min() > -1 else 1)
        scaled = a * (0.5 if abs(a).max() > 1 else 2)
        wanted = {
            "shift": points(until_the_edge(a, shifted)), "scale": points(until_the_edge(a, scaled)),
            "equal": points(np.full(3, a.mean())), "ones": points(d=np.ones(3)),
            "along": points(d=until_the_edge(d, lnlib.layer_norm(a, eps=0.1))),
            "above": {"tilt": 90}, "side": {"tilt": 0}, "back": {}, "no": {}, "yes": {},
            "ArrowLeft": {"turn": 173}, "ArrowRight": {"turn": -177},
            "ArrowUp": {"tilt": 90}, "ArrowDown": {"tilt": 83},
        }  # fmt: skip
        for act, changed in wanted.items():
            values, pressed, away = scripts.evaluate(ACTS, [given, act])
            expected = given | changed
            for name, value in values.items():
                assert value == pytest.approx(expected[name], abs=0.0051), (act, name)
            assert pressed == (["false", "true"] if act == "yes" else ["true", "false"])
            assert away == ([True, False] if act == "yes" else [False, True])
