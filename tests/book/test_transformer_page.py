"""The transformer widget in a browser: logits and texts compared with PyTorch, controls, state."""

import functools
import itertools

import numpy as np
import pytest
import torch

from lnbook.widgets import transformer
from lnlab import records
from lnlab.experiments.transformer import ablation
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer
from tests.cases.readouts import check_says, percent

WORDS = {"l": "on", "r": "rms", "f": "frozen", "o": "off"}
EVERY = ["".join(norms) for norms in itertools.product(WORDS, repeat=5)]
CLOSE = 1e-8  # measured: 7e-11, with all norms off, where logits are several hundred
LONG = "ROMEO:\nWhat light through yonder window breaks? It is the east, "
START = "To be, or not to be: that is the "
SENTENCES = [START, "My cat sat on the mat and slept", "What is your name? My name is"]
SCRIPTS = (
    transformer.WEB, "lnTransformer", "lnTransformerEngine", "LN_TRANSFORMER_CHALLENGES",
)  # fmt: skip
MORE = """
window.lnEngine = lnTransformerEngine();
window.lnLoaded = { "transformer/weights.js": (w) => { window.model = new lnEngine.Model(w); } };
""" + transformer.WEB.data_script("weights.js")


@pytest.fixture(scope="module")
def reader():
    return TrainedTransformer.of(records.read_all("transformer", ablate=True)[0])


def switched(reader, norms):
    return reader.switch(*(WORDS[letter] for letter in norms))


def in_every_position(reader, text, all_norms):
    """PyTorch's last logits in each setting, from one network whose norms are exchanged."""
    network = reader.switch(*["frozen"] * 5).network
    places = [m for m in network.modules() if isinstance(m, ablation.ReplacedLayerNorm)]
    for norms in all_norms:
        for place, letter in zip(places, norms, strict=True):
            place.change = ablation.SWITCHES[WORDS[letter]] or (lambda norm, x, _: norm(x))
        with torch.no_grad():
            yield network(reader.tokens(text)[None])[0, -1]


def surprise(reader, text, written):
    """The surprise of each character after a text, computed from PyTorch's logits."""
    bits = []
    for c, *_ in written:
        z = reader.logits(text[-64:])[-1].numpy()
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        bits.append(-np.log2(p[reader.characters.index(c)]))
        text += c
    return np.array(bits)


LAST = """([tokens, all]) => all.map((norms) =>
  Array.from(model.read(tokens, norms).logits.slice(-model.characters.length)))"""


@pytest.mark.parametrize(
    ("text", "all_norms"), [("Is it?", EVERY), (LONG, ["lrfol", "ooooo"]), ("\n", ["lllll"])]
)
def test_logits_equal_those_of_pytorch_for_all_switches(scripts, reader, text, all_norms):
    result = scripts.evaluate(LAST, [reader.tokens(text).tolist(), all_norms])
    every = in_every_position(reader, text, all_norms)
    for norms, logits, expected in zip(all_norms, result, every, strict=True):
        np.testing.assert_allclose(logits, expected, rtol=0, atol=CLOSE, err_msg=norms)


@pytest.mark.parametrize(
    ("norms", "temperature", "text"),
    [("llllo", 0, LONG), ("rflll", 1, START), ("lllll", 0.8, "\n")],
)
def test_generated_text_equals_that_of_pytorch(scripts, reader, norms, temperature, text):
    written = scripts.evaluate(
        """([tokens, norms, how]) => {
          const next = model.writer(tokens, norms, how);
          return Array.from({ length: 48 }, next).map(
            ({ token, bits }) => [model.characters[token], bits]);
        }""",
        [reader.tokens(text).tolist(), norms, {"temperature": temperature, "seed": 4}],
    )
    changed = switched(reader, norms)
    assert "".join(c for c, _ in written) == changed.write(
        text, 48, temperature=temperature, seed=4
    )
    result = [bits for _, bits in written]
    np.testing.assert_allclose(result, surprise(changed, text, written), atol=CLOSE)


COST = """([all, norms]) => all.map((tokens) => {
  const { bits, entropy } = lnEngine.costs(
    model.read(tokens, norms).logits, tokens, model.characters.length);
  const mean = (v) => v.reduce((a, b) => a + b) / v.length;
  return [Math.LN2 * mean(bits), mean(entropy)];
})"""
# What the model does after each challenge, on the sentence that the page starts with: how much the
# loss rises, or what becomes of the entropy. Of other sentences the page says what it finds.
EXPECTED = {
    "All RMS": "hardly", "Norm 1 off": "some", "Norm 3 off": "much", "All frozen": "some",
    "Final norm off": "more",
}  # fmt: skip


def test_challenges_end_as_described(scripts, reader):
    challenges = scripts.evaluate("LN_TRANSFORMER_CHALLENGES")
    assert [c["name"] for c in challenges] == [*EXPECTED]
    all_tokens = [reader.tokens(text).tolist() for text in SENTENCES]
    baseline = np.array(scripts.evaluate(COST, [all_tokens, "lllll"]))
    expected = [[reader.loss(text), reader.entropy(text)] for text in SENTENCES]
    np.testing.assert_allclose(baseline, expected, atol=CLOSE)
    for c in challenges:
        loss, entropy = np.transpose(scripts.evaluate(COST, [all_tokens, c["norms"]]) - baseline)
        result = {
            "hardly": loss < 0.1,
            "some": (loss >= 0.1) & (loss < 1),
            "much": loss > 1,
            "more": entropy < -0.1,
        }[EXPECTED[c["name"]]]
        assert result[0], c["name"]
        if EXPECTED[c["name"]] != "some":
            assert result.all(), c["name"]


# What the page shows.

SHOW = """async ([weights, settings]) => {
  const { setTimeout } = window;
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  window.setTimeout = (act, ms) => setTimeout(act, Math.min(ms, 5)); // nothing waits for readers
  const root = document.createElement("div");
  document.body.append(root);
  const close = lnTransformer(root, { weights, settings, live: true });
  const written = (k) => root.querySelector(`[data-part="wrote-${k}"]`).textContent;
  while (written(0).length < 80) await rest(10);
  await rest(50);
  const texts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map(
    (e) => [e.dataset.part, e.textContent.replace(/\\s+/g, " ").trim()]));
  const next = [...root.querySelectorAll("[data-part=next] li")].map((li) =>
    [li.querySelector("b").textContent, li.lastChild.textContent]);
  const result = { texts, next, written: written(0).replaceAll("↵", "\\n") };
  close();
  root.remove();
  window.setTimeout = setTimeout;
  return result;
}"""
RECORDED = {
    "lllll": "val_nll", "rrrrr": "nll_rms", "fffff": "nll_frozen", "ooooo": "nll_removed",
    "ffffl": "nll_frozen_but_last", "ooool": "nll_but_last", "llllo": "nll_last",
}  # fmt: skip


def as_percent(p):
    return "> 99%" if 0.995 <= p < 1 else "< 1%" if p < 0.005 else percent(p)


def nats(reader, text):
    """A loss as the page writes it."""
    return as_nats(reader.loss(text))


def as_nats(loss):
    return f"{loss:.2f}" if loss < 9.995 else f"{loss:.1f}" if loss < 99.95 else f"{loss:.0f}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("norms", [*RECORDED, "rflll"])
def test_losses_and_next_characters_equal_those_of_pytorch_for_the_set_norms(
    scripts, reader, norms
):
    text = "What is your name? My"
    settings = {"text": text, "norms": norms, "heat": "0", "at": "5"}
    result = scripts.evaluate(SHOW, [transformer.weights(), settings])
    changed, texts = switched(reader, norms), result["texts"]
    with_all_on = [] if norms == "lllll" else [nats(reader, text)]
    assert texts["loss"] == nats(changed, text)
    check_says(texts["loss-says"], *with_all_on)
    span = []
    if norms in RECORDED:
        runs = records.read_all("transformer", ablate=True)
        seeds = [run["curves"][RECORDED[norms]][-1] for run in runs]
        span = [len(seeds), *(as_nats(end) for end in (min(seeds), max(seeds)))]
    check_says(texts["recorded"], *span, f"{np.log(65):.2f}")
    following = changed.next_characters(text, 65)
    shown = {"space": " ", "line": "\n"}
    assert [(shown.get(name, name), p) for name, p in result["next"]] == [
        (name, as_percent(p)) for name, p in itertools.islice(following.items(), 8)
    ]
    assert result["written"] == changed.write(text, 80, temperature=0, seed=1)


# On its page.


@pytest.fixture
def run(use):
    """``with run(query) as w``: the widget once the model has answered."""
    return functools.partial(use, "transformer_ablation", "transformer")


def until(w, name, text):
    w.part(name).filter(has_text=text).wait_for()


def written(w, which=0):
    """What the model has written, once it has written all."""
    w.page.wait_for_function(
        "name => document.querySelector(`[data-part=${name}]`).textContent.length === 80",
        arg=f"wrote-{which}",
    )
    return w.part(f"wrote-{which}").text_content().replace("↵", "\n")


@pytest.mark.every_browser
def test_typing_switching_predicting_and_sharing_work(run, reader):
    with run() as w:
        off = switched(reader, "ooooo")
        assert w.text("loss") == nats(off, START)
        assert written(w) == off.write(START, 80, temperature=0.8, seed=1)
        assert written(w, 1) == reader.write(START, 80, temperature=0.8, seed=1)
        w.root.locator("[data-all='l']").click()
        until(w, "loss", nats(reader, START))

        # A switch, by keyboard: its norm is shown, the loss and the next character change.
        w.root.locator("[data-norm='4'][value='l']").focus()
        for _ in range(3):
            w.page.keyboard.press("ArrowRight")
        off = switched(reader, "llllo")
        until(w, "loss", nats(off, START))
        assert w.part("look").input_value() == "4"
        assert written(w) == off.write(START, 80, temperature=0.8, seed=1)
        w.announces(f"{as_nats(off.loss(START) / np.log(2))} with norm 5 off")

        # Typing; what the model does not know is said.
        w.part("text").fill("It’s 7 o’clock, é")
        until(w, "left-out", "“7” and “é”")
        assert "“’” is read as “'”" in w.text("left-out")
        until(w, "loss", nats(off, "It's  o'clock, "))
        w.part("text").fill("")
        until(w, "left-out", "starts after a")
        assert w.text("loss") == "–"

        # The character that is looked at, by keyboard.
        w.part("text").fill("Who & it=c+d#é'?")
        until(w, "count", "12 of 64")
        w.part("look").select_option("3")
        w.press("at", "Home")
        text = w.text("says")
        assert "Character 1, “W”: mean " in text

        # The address brings it all back.
        address, wrote = w.page.url, written(w)
    with run("#" + address.partition("#")[2]) as w:
        assert w.part("text").input_value() == "Who & it=c+d#é'?"
        assert (written(w), w.text("says")) == (wrote, text)


def test_a_challenge_shows_the_result_and_whether_it_was_predicted(run, reader):
    """On the sentence that the page starts with; loss and entropy are PyTorch's."""
    with run() as w:
        right = "[data-outcome='more']"
        for predicted, begins in ((right, "As you"), (f":not({right})", "Not as you")):
            w.root.locator("[data-challenge]").last.click()
            w.root.locator(f"[data-outcome]{predicted}").first.click()
            shown_text = w.root.locator(".ln-transformer-why").inner_text()
            assert shown_text.startswith(f"{begins} predicted: ")
        changed = switched(reader, "llllo")
        assert f"from {nats(reader, START)} to {nats(changed, START)}" in shown_text
        ends = [f"{one.entropy(START):.2f}" for one in (reader, changed)]
        assert f"from {ends[0]} to {ends[1]} nats" in shown_text


def test_the_slider_of_characters_announces_its_position(run):
    text = "Who is it?"
    with run(f"#run&text={text.replace(' ', '+')}") as w:
        until(w, "count", f"{len(text)} of")
        slider = w.part("at")
        for k in (0, 3, len(text) - 1):
            slider.fill(str(k))
            character = "space" if text[k] == " " else f"“{text[k]}”"
            spoken = slider.get_attribute("aria-valuetext")
            assert spoken == f"{k + 1} of {len(text)}: {character}"
            assert f"Character {k + 1}, {character}: mean" in w.text("says")


def test_the_model_also_runs_without_a_worker(run, reader):
    def forbid(page):
        page.add_init_script("delete window.Worker;")

    with run("#run&norms=rrrrr", before=forbid) as w:
        assert w.text("loss") == nats(switched(reader, "rrrrr"), START)
