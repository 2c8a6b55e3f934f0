"""The transformer widget in a browser: logits compared with PyTorch, controls, state."""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from lnbook.widgets import transformer
from lnlab import records
from lnlab.experiments.transformer import ablation
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer

WORDS = {"l": "on", "r": "rms", "f": "frozen", "o": "off"}
EVERY = ["".join(norms) for norms in itertools.product(WORDS, repeat=5)]
# Every pair of norms has each pair of letters once: an orthogonal array over the field of order 4.
TIMES = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
PAIRS = [
    "".join([*WORDS][k] for k in (a, b, *(a ^ TIMES[c][b] for c in (1, 2, 3))))
    for a in range(4)
    for b in range(4)
]
CLOSE = 1e-8  # measured: 7e-11, with all norms off, where logits are several hundred
LONG = "ROMEO:\nWhat light through yonder window breaks? It is the east, "
START = "To be, or not to be: that is the "
SENTENCES = [START, "My cat sat on the mat and slept", "What is your name? My name is"]


SCRIPTS = (
    transformer.WEB, "lnTransformerEngine", "LN_TRANSFORMER_CHALLENGES",
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
    ("text", "all_norms"), [("Is it?", EVERY), (LONG, PAIRS), ("\n", ["lllll", "ooooo"])]
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


# On its page.


@pytest.fixture
def run(visit, built_book):
    """``with run(query) as page``: the page once the model has answered."""

    @contextmanager
    def opened(query="", **options):
        with visit(built_book.as_uri(), "transformer_ablation", query, **options) as v:
            v.page.wait_for_function(
                "document.querySelector('.ln-transformer')?.dataset.ready === 'yes'"
            )
            yield v.page
            assert not v.complaints
            assert not v.outside

    return opened


def nats(reader, text):
    """A loss as the page writes it."""
    return as_nats(reader.loss(text))


def as_nats(loss):
    return f"{loss:.2f}" if loss < 9.995 else f"{loss:.1f}" if loss < 99.95 else f"{loss:.0f}"


def part(page, name):
    return page.locator(f".ln-transformer [data-part='{name}']")


def until(page, name, text):
    page.wait_for_function(
        """([name, text]) => document.querySelector(`.ln-transformer [data-part="${name}"]`)
        .textContent.includes(text)""",
        arg=[name, text],
    )


def written(page, which=0):
    """What the model has written, once it has written all."""
    name = f"wrote-{which}"
    page.wait_for_function(
        """(name) => document.querySelector(`[data-part="${name}"]`).textContent.length === 80""",
        arg=name,
    )
    return part(page, name).text_content().replace("↵", "\n")


@pytest.mark.every_browser
def test_typing_switching_predicting_and_sharing_work(run, reader):
    with run() as page:
        off = switched(reader, "ooooo")
        assert part(page, "loss").inner_text() == nats(off, START)
        assert written(page) == off.write(START, 80, temperature=0.8, seed=1)
        assert written(page, 1) == reader.write(START, 80, temperature=0.8, seed=1)
        page.locator("[data-all='l']").click()
        until(page, "loss", nats(reader, START))
        val = [one["curves"]["val_nll"][-1] for one in records.read_all("transformer", ablate=True)]
        assert f"{min(val):.2f} to {max(val):.2f}" in part(page, "recorded").inner_text()

        # A switch, by keyboard: its norm is shown, the loss and the next character change.
        page.locator("[data-norm='4'][value='l']").focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        off = switched(reader, "llllo")
        until(page, "loss", nats(off, START))
        assert part(page, "look").input_value() == "4"
        assert written(page, 1) == reader.write(START, 80, temperature=0.8, seed=1)
        assert written(page) == off.write(START, 80, temperature=0.8, seed=1)
        page.wait_for_function(
            f"document.querySelector('.ln-transformer [role=status].ln-hush').textContent.includes("
            f"'{as_nats(off.loss(START) / np.log(2))} with norm 5 off')"
        )

        # Typing; what the model does not know is said.
        part(page, "text").fill("It’s 7 o’clock, é")
        until(page, "left-out", "“7” and “é”")
        assert "“’” is read as “'”" in part(page, "left-out").inner_text()
        read = "It's  o'clock, "
        until(page, "loss", nats(off, read))
        part(page, "text").fill("")
        until(page, "left-out", "starts after a")
        assert part(page, "loss").inner_text() == "–"

        # The character that is looked at, by keyboard.
        part(page, "text").fill("Who is it?")
        until(page, "count", "10 of 64")
        part(page, "look").select_option("3")
        part(page, "at").focus()
        page.keyboard.press("Home")
        text = part(page, "says").inner_text()
        assert "Character 1, “W”: mean " in text

        # The address brings it all back.
        address, wrote = page.url, written(page)
    with run("#" + address.partition("#")[2]) as page:
        assert part(page, "text").input_value() == "Who is it?"
        assert written(page) == wrote
        assert part(page, "says").inner_text() == text


def test_a_challenge_shows_the_result_and_whether_it_was_predicted(run, reader):
    """On the sentence that the page starts with; loss and entropy are PyTorch's."""
    with run() as page:
        challenge = page.locator(".ln-transformer [data-challenge]").last
        right = "[data-outcome='more']"
        for predicted, begins in ((right, "As you"), (f":not({right})", "Not as you")):
            challenge.click()
            page.locator(f".ln-transformer [data-outcome]{predicted}").first.click()
            page.wait_for_selector(".ln-transformer-why")
            shown_text = page.locator(".ln-transformer-why").inner_text()
            assert shown_text.startswith(f"{begins} predicted: ")
        changed = switched(reader, "llllo")
        assert f"from {nats(reader, START)} to {nats(changed, START)}" in shown_text
        ends = [f"{one.entropy(START):.2f}" for one in (reader, changed)]
        assert f"from {ends[0]} to {ends[1]} nats" in shown_text


def test_the_slider_of_characters_announces_its_position(run):
    text = "Who is it?"
    with run(f"#run&text={text.replace(' ', '+')}") as page:
        until(page, "count", f"{len(text)} of")
        slider = part(page, "at")
        for k in (0, 3, len(text) - 1):
            slider.fill(str(k))
            character = "space" if text[k] == " " else f"“{text[k]}”"
            spoken = slider.get_attribute("aria-valuetext")
            assert spoken == f"{k + 1} of {len(text)}: {character}"
            assert f"Character {k + 1}, {character}: mean" in part(page, "says").inner_text()


def test_the_model_also_runs_without_a_worker(run, reader):
    def forbid(page):
        page.add_init_script("delete window.Worker;")

    with run("#run&norms=rrrrr", before=forbid) as page:
        assert part(page, "loss").inner_text() == nats(switched(reader, "rrrrr"), START)
