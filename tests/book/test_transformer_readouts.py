"""What the transformer page says and colors, beside PyTorch, whatever norms are switched."""

import itertools

import numpy as np
import pytest

from lnbook.widgets import transformer
from lnlab import records
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer
from tests.book.test_transformer_page import as_nats, nats, rounded, surprise, switched
from tests.cases.readouts import check_says, percent

SCRIPTS = transformer.WEB, "lnTransformer"
SWITCHBOARD = """async ([weights, settings, colors]) => {
  const { setTimeout } = window, pen = CanvasRenderingContext2D.prototype;
  const { drawImage, clearRect, fillRect, strokeRect, fillText } = pen;
  const rest = (ms) => new Promise((done) => setTimeout(done, ms)), maps = [];
  let boxes = [], frames = [], words = [], places = [];
  window.setTimeout = (act, ms) => setTimeout(act, Math.min(ms, 5)); // nothing waits for readers
  pen.drawImage = function (image, ...place) {
    const { width, height } = image;
    maps.push(Array.from(image.getContext("2d").getImageData(0, 0, width, height).data));
    places.push(place);
    drawImage.call(this, image, ...place);
  };
  pen.strokeRect = function (...place) {
    frames.push(place);
    strokeRect.apply(this, place);
  };
  pen.fillText = function (...place) {
    words.push(place);
    fillText.apply(this, place);
  };
  pen.clearRect = function (...place) {
    boxes = [], frames = [], words = [], places = [];
    clearRect.apply(this, place);
  };
  pen.fillRect = function (x, y, width, height) {
    boxes.push([this.fillStyle, x, width, y, height]);
    fillRect.call(this, x, y, width, height);
  };
  const root = document.createElement("div");
  for (const [name, color] of Object.entries(colors)) root.style.setProperty(`--ln-${name}`, color);
  document.body.append(root);
  const close = lnTransformer(root, { weights, settings, live: true });
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const written = (k) => part(`wrote-${k}`).textContent.replaceAll("↵", "\\n");
  const all = settings.norms === "lllll";
  while (written(0).length < 80 || (!all && written(1).length < 80)) await rest(10);
  await rest(50);
  const texts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map(
    (e) => [e.dataset.part, e.textContent.replace(/\\s+/g, " ").trim()]));
  const next = [...root.querySelectorAll("[data-part=next] li")].map((li) =>
    [li.querySelector("b").textContent, li.lastChild.textContent]);
  close();
  root.remove();
  window.setTimeout = setTimeout;
  Object.assign(pen, { drawImage, clearRect, fillRect, strokeRect, fillText });
  return { texts, next, written: [0, 1].map(written), maps: maps.slice(-2), boxes, frames, words,
    places };
}"""
RECORDED = {
    "lllll": "val_nll", "rrrrr": "nll_rms", "fffff": "nll_frozen", "ooooo": "nll_removed",
    "ffffl": "nll_frozen_but_last", "ooool": "nll_but_last", "llllo": "nll_last",
}  # fmt: skip
NAMES = {
    "rrrrr": "all norms RMS", "fffff": "all norms frozen", "ooooo": "all norms off",
    "ffffl": "norms 1, 2, 3, and 4 frozen", "ooool": "norms 1, 2, 3, and 4 off",
    "llllo": "norm 5 off", "llolo": "norms 3 and 5 off", "rflll": "your settings",
}  # fmt: skip
COLORS = {
    "transformer-zero": "#102030", "negative": "#f00408", "positive": "#0cf010", "kept": "#010203",
    "gray": "#040506", "transformer-ink": "#070809",
}  # fmt: skip


@pytest.fixture(scope="module")
def reader():
    return TrainedTransformer.of(records.read_all("transformer", ablate=True)[0])


def as_percent(p):
    return "> 99%" if 0.995 <= p < 1 else "< 1%" if p < 0.005 else percent(p)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("look", "norms"), [*enumerate([*RECORDED, "llolo", "rflll"])])
def test_readouts_equal_those_of_pytorch_for_the_set_norms(scripts, reader, look, norms):
    """Losses, recorded losses, next characters, the spoken sentence, stds, colors by sign."""
    text, look = "What is your name? My", look % 5
    settings = {"text": text, "norms": norms, "look": str(look), "heat": "0", "at": "5"}
    result = scripts.evaluate(SWITCHBOARD, [transformer.weights(), settings, COLORS])
    changed, texts = switched(reader, norms), result["texts"]
    loss = nats(changed, text)
    with_all_on = [] if norms == "lllll" else [nats(reader, text)]
    assert texts["loss"] == loss
    check_says(texts["loss-says"], *with_all_on)
    blind, span = f"{np.log(65):.2f}", []
    if norms in RECORDED:
        runs = records.read_all("transformer", ablate=True)
        seeds = [run["curves"][RECORDED[norms]][-1] for run in runs]
        span = [len(seeds), *(as_nats(end) for end in (min(seeds), max(seeds)))]
    check_says(texts["recorded"], *span, blind)
    following = changed.next_characters(text, 65)
    shown = {"space": " ", "line": "\n"}
    assert [(shown.get(name, name), p) for name, p in result["next"]] == [
        (name, as_percent(p)) for name, p in itertools.islice(following.items(), 8)
    ]
    likely, p = next(iter(following.items()))
    goes_on = changed.write(text, 80, temperature=0, seed=1)
    assert result["written"][0] == goes_on
    character = {" ": "space", "\n": "new line"}.get(likely, f"“{likely}”")
    both = [changed] if norms == "lllll" else [reader, changed]
    wrote = [one.write(text, 80, temperature=0, seed=1) for one in both]
    own = [surprise(one, text, own).mean() for one, own in zip(both, wrote, strict=True)]
    read = [one.loss(text) / np.log(2) for one in both]
    means = [as_nats(bits) for bits in (*read, *own)]
    name = [] if norms == "lllll" else [NAMES[norms]]
    check_says(texts["verdict"], *means[: len(both)], *name, *means[len(both) :])
    # The status repeats it.
    check_says(
        texts["status"].removeprefix(f"Mean surprise. {texts['verdict']}"),
        character, as_percent(p), *(" ".join(own.split()) for own in wrote),
    )  # fmt: skip
    before, after = changed.inside(text)[look]
    sizes = [float(x[5].std(correction=0)) for x in (before, after)]
    check_says(
        texts["says"].partition(" Character ")[2],
        6, "“i”", f"{before[5].mean():.2f}".replace("-", "−"),
        *map(rounded, [*sizes, float(reader.deviations[look])]),
    )  # fmt: skip
    ground, below, above, *_ = (
        np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) for color in COLORS.values()
    )
    constant = float(reader.deviations[look])
    deviations = [x.numpy().std(-1) for x in (before, after)]
    most = np.repeat([max(constant, *deviations[0]), max(deviations[1])], len(text))
    grounds = [k for k, box in enumerate(result["boxes"]) if box[0] == COLORS["transformer-zero"]]
    bars = np.array([[box[1:3] for box in result["boxes"][k : k + 2]] for k in grounds])
    (left, strip), wide = bars[0, 0], bars[:, 1, 1]
    np.testing.assert_allclose(wide / strip, np.concatenate(deviations) / most, atol=1e-6)
    line = [x + 1 for color, x, *_ in result["boxes"] if color == COLORS["kept"]]  # 2 pixels wide
    assert line == pytest.approx([left + strip * constant / most[0]], abs=1e-6)
    for values, pixels in zip((before, after), result["maps"], strict=True):
        values = values.numpy()[..., None]
        share = np.minimum(1, abs(values) / (3 * np.sqrt((values**2).mean())))
        wanted = ground + share * (np.where(values < 0, below, above) - ground)
        drawn = np.reshape(pixels, (*wanted.shape[:2], 4))[..., :3]
        np.testing.assert_allclose(drawn, wanted, atol=1)
    # The frame is around the character, a mark under each of four outliers, its map above it.
    for x, name, place, frame in zip(
        (before, after), ("Before the norm", "After the norm"), result["places"], result["frames"],
        strict=True,
    ):  # fmt: skip
        left, top, wide, tall = place
        row = tall / len(text)
        assert frame == pytest.approx([left - 1, top + 5 * row - 0.5, wide + 2, row + 1])
        assert [name, left, top - 7] in result["words"]
        of_features = x.square().mean(0).sqrt().numpy()
        times = of_features / np.median(of_features)
        most = sorted(k for k in (-times).argsort()[:4] if times[k] > 5)
        marks = [x + 0.75 - left for color, x, wide_, y, _ in result["boxes"]
                 if color == COLORS["transformer-ink"] and wide_ == 1.5
                 and y == top + tall and left <= x < left + wide]  # fmt: skip
        middles = (np.array(most) + 0.5) * wide / x.shape[1]
        np.testing.assert_allclose(marks, middles, atol=1e-6)
