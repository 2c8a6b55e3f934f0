"""Readouts and sentences of the playground compared with the measurements; its speed."""

import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lnbook.widgets import playground
from tests.book.test_playground_measures import BOX_COLORS, FOLLOWED, REACH, SHOW, WORKER
from tests.book.test_playground_page import BASE
from tests.cases.readouts import check_says, percent

SCRIPTS = playground.WEB, "lnEngine", "lnWorker", "lnPlayground"
MORE = SHOW


def test_digits_equal_those_of_scikit_learn(scripts):
    pixels, labels = scripts.evaluate(
        """(digits) => { const { train, test } = lnEngine().digits(digits);
        return [[...train.x, ...test.x], [...train.y, ...test.y]]; }""",
        playground.digits(),
    )
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    assert np.array_equal(labels, data.target[order])
    assert np.allclose(np.reshape(pixels, (-1, 64)) * 6.017 + 4.884, data.data[order], atol=1e-12)
    assert len(gzip.compress(json.dumps(playground.digits()).encode())) < 60_000


READOUTS = """async ([settings, digits, how]) => {
  const logs = {}, of = ({ canvas }) => logs[canvas.dataset.part];
  return lnShow(settings, digits, how, {
    clearRect: ({ canvas }) => {
      logs[canvas.dataset.part] = { boxes: [], rings: [], lines: [], texts: {} };
    },
    fillRect: (pen, ...place) => of(pen).boxes.push([pen.fillStyle, ...place]),
    arc: (pen, ...place) => of(pen).rings.push(place),
    beginPath: (pen) => of(pen).lines.push([]),
    moveTo: (pen, ...at) => of(pen).lines.at(-1).push(at),
    lineTo: (pen, ...at) => of(pen).lines.at(-1).push(at),
    fillText: (pen, text, ...at) => { of(pen).texts[text] = at; },
  }, async (part, rest) => {
    const programs = [];
    for (const k of how.small ? [] : ["1", "0"]) {
      part("code").open = true;
      await rest(); // for the event
      part("which").value = k;
      part("which").dispatchEvent(new Event("change", { bubbles: true }));
      programs.push(part("program").textContent);
    }
    const names = ["error-0", "error-1", "says-0", "says-1", "status", "verdict", "follow"];
    return { programs, nets: [logs["canvas-0"], logs["canvas-1"]], curves: logs.curves,
      texts: Object.fromEntries(names.map((name) => [name, part(name)?.textContent])),
      labels: [0, 1].map((k) => part(`canvas-${k}`).ariaLabel) };
  });
}"""
READOUT_COLORS = BOX_COLORS | {
    name: f"#0001{k:02}" for k, name in enumerate(("rms", "first", "second", "third"), start=1)
}


def readouts(scripts, settings, updates, differs, values, **how):
    """What the page shows for two networks that differ in a setting, and the measurements."""
    arms = [BASE | settings | {differs: value} for value in values]
    words = {name: str(value) for name, value in settings.items()}
    words |= {"differs": differs, **dict(zip("ab", map(str, values), strict=True))}
    digits, how = playground.digits(), {"updates": updates, "colors": READOUT_COLORS} | how
    messages = [{"train": 1, "full": True}] * updates
    answers = scripts.evaluate(WORKER, [arms, digits, messages])["answers"]
    return answers, scripts.evaluate(READOUTS, [words, digits, how])


def test_all_points_of_the_plane_are_drawn_and_texts_match_their_network(scripts):
    """The map and the points by class; scores, sentences, labels and code by the difference."""
    chosen = {"data": "spiral", "depth": 2, "width": 8, "norm": "rms", "seed": 2, "size": 1}
    rates = (0.5, 0.05)
    (start, end), shown = readouts(scripts, chosen, 1, "rate", rates, wide=500)
    x, y = np.reshape(start["points"]["x"], (-1, 2)), start["points"]["y"]
    classes = [READOUT_COLORS[name] for name in ("first", "second", "third")]
    errors, texts = [percent(net["error"]) for net in end["nets"]], shown["texts"]
    assert errors[0] != errors[1]
    for k, (net, drawn) in enumerate(zip(end["nets"], shown["nets"], strict=True)):
        (left, top, side), *_ = (
            (x, y, wide) for color, x, y, wide, high in drawn["boxes"]
            if color == READOUT_COLORS["playground-zero"] and wide == high
        )  # fmt: skip
        places = [box for box in drawn["boxes"] if box[0] in classes]
        cells, points = places[: -len(y)], places[-len(y) :]
        assert [box[0] for box in cells] == [classes[c] for c in net["map"]]
        assert [box[0] for box in points] == [classes[c] for c in y]

        def at(point, left=left, top=top, side=side):
            share = (np.array(point) / REACH + 1) / 2
            return np.stack([left + share[..., 0] * side, top + (1 - share[..., 1]) * side], -1)

        middles = np.array([box[1:3] for box in points]) + 1.2
        np.testing.assert_allclose(middles, at(x), atol=1e-6)
        np.testing.assert_allclose(drawn["rings"][-1][:2], at(end["input"]), atol=1e-6)
        ticks = [drawn["texts"][name][1] for name in ("10⁻⁶", "10⁻³", "10⁰", "10³")]
        np.testing.assert_allclose(np.diff(ticks), ticks[1] - ticks[0])
        assert drawn["texts"][str(chosen["depth"])][1] == drawn["texts"]["layer 1"][1]
        assert texts[f"error-{k}"] == errors[k]
        check_says(shown["labels"][k], "AB"[k], f"learning rate {rates[k]}", chosen["depth"])
        code = shown["programs"][1 - k]
        assert f"lr={rates[k]})" in code
        assert "in range(1):" in code
    text = [(f"{'AB'[k]}, learning rate {rates[k]}", errors[k], texts[f"says-{k}"]) for k in (0, 1)]
    check_says(texts["status"], 1, *text[0], *text[1])
    check_says(texts["follow"], FOLLOWED + 1)


@pytest.mark.parametrize("wide", [500, 220])
def test_the_small_playground_shows_which_digits_are_classified_correctly(scripts, wide):
    chosen = {"depth": 2, "width": 16, "size": 1, "activation": "relu", "rate": 0.05, "seed": 2}
    norms = {"none": "no normalization", "layer": "layer norm"}
    answers, shown = readouts(scripts, chosen, 3, "norm", norms, wide=wide, small=True)
    read = [net["read"] for net in answers[-1]["nets"]]
    assert read[0] != read[1]
    lines, marks = shown["curves"]["lines"][-2:], shown["curves"]["texts"]
    for k, norm in enumerate(norms):
        ground = READOUT_COLORS[norm], READOUT_COLORS["playground-zero"]
        squares = [box for box in shown["nets"][k]["boxes"] if box[3] == box[4]]
        side = max(box[3] for box in squares if box[0] == ground[0])  # inner squares are smaller
        wall = [box for box in squares if box[0] in ground and box[3] == side]
        assert [box[0] == ground[0] for box in wall] == read[k]
        assert shown["texts"][f"error-{k}"] == f"{sum(read[k])} of 100"
        height = np.array([y for _, y in lines[k]])
        half = marks["50%"][1] - marks["100%"][1]
        shares = [1 - answer["nets"][k]["error"] for answer in answers]
        np.testing.assert_allclose(0.5 + 0.5 * (marks["50%"][1] - 4 - height) / half, shares)
    a, b = norms.values()
    check_says(shown["texts"]["verdict"], 3, a, sum(read[0]), 100, b, sum(read[1]))


PACE = """async (pace) => { // updates after each tenth of a second
  const { performance, requestAnimationFrame } = window, own = performance.now;
  let clock = 0;
  performance.now = () => clock;
  window.requestAnimationFrame = (act) => setTimeout(() => act(clock));
  const rest = () => new Promise((done) => setTimeout(done, 5));
  const root = document.createElement("div");
  document.body.append(root);
  const settings = { data: "moons", depth: "1", width: "8", batch: "1", pace };
  const close = lnPlayground(root, { live: true, settings });
  const part = (name) => root.querySelector(`[data-part="${name}"]`), counts = [];
  while (!part("status").textContent) await rest();
  part("go").click();
  for (let k = 1; k <= 10; k++) {
    clock = 100 * k;
    const due = Math.floor(clock * pace / 1000);
    for (let n = 0; n < 60 && Number(part("count").textContent) < due; n++) await rest();
    await rest();
    counts.push(Number(part("count").textContent));
  }
  close();
  root.remove();
  performance.now = own;
  window.requestAnimationFrame = requestAnimationFrame;
  return counts;
}"""


@pytest.mark.parametrize("pace", [10, 30, 100])
def test_training_runs_at_the_selected_speed(scripts, pace):
    assert scripts.evaluate(PACE, str(pace)) == [pace * k // 10 for k in range(1, 11)]
