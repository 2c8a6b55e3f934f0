"""The transformer widget in a browser: logits compared with PyTorch, controls, state."""

import itertools
import re
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from lnbook.widgets import transformer
from lnbook.widgets.transformer import TransformerWidget
from lnlab import records
from lnlab.experiments.transformer import ablation
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer
from tests.book.conftest import PHONE, go_to

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
const lnTransformerWeights = (w) => { window.model = new lnEngine.Model(w); };
""" + transformer.WEB.data["weights.js"]()


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
    [("lllll", 0, START), ("llllo", 0.5, LONG), ("rflll", 1, START), ("lllll", 0.8, "\n")],
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
LETTERS = dict(
    zip(EXPECTED, ("rrrrr", "ollll", "lloll", "fffff", "llllo"), strict=True)
)  # the norms


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


def test_the_first_phone_screen_shows_sentence_text_and_switches(run):
    with run(viewport=PHONE) as page:
        for place in ("textarea", "[data-part='wrote-0']", "[data-norm='4'][value='o']"):
            box = page.locator(f".ln-transformer {place}").bounding_box()
            assert 0 < box["y"] <= PHONE["height"] - box["height"], place


@pytest.mark.every_browser
def test_typing_switching_predicting_and_sharing_work(run, reader):
    with run() as page:
        # The first screen, and the sentence it starts with.
        for place in ("textarea", "[data-part='wrote-0']", "[data-part='recorded']"):
            box = page.locator(f".ln-transformer {place}").bounding_box()
            assert box["y"] + box["height"] <= 900, place
        off = switched(reader, "ooooo")
        assert part(page, "loss").inner_text() == nats(off, START)
        assert written(page) == off.write(START, 80, temperature=0.8, seed=1)
        assert written(page, 1) == reader.write(START, 80, temperature=0.8, seed=1)
        part(page, "again").click()
        again = reader.write(START, 80, temperature=0.8, seed=2)
        until(page, "wrote-1", again.replace("\n", "↵"))
        part(page, "reset").click()
        page.locator("[data-all='l']").click()
        until(page, "loss", nats(reader, START))
        assert written(page) == reader.write(START, 80, temperature=0.8, seed=1)
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
            f"document.querySelector('[role=status].ln-transformer-status').textContent.includes("
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
        long = "To be, or not to be: that is the question. Whether it is noble "
        part(page, "text").fill(long + "…")  # is read as three points: two too many
        until(page, "left-out", "the last 64 characters")
        assert len(long) == 63
        until(page, "loss", nats(off, (long + "...")[-64:]))
        until(page, "count", "64 of 64")

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


def test_challenges_show_the_result_and_whether_it_was_predicted(run, reader):
    """On the sentence that the page starts with; loss and entropy are PyTorch's."""
    with run() as page:
        challenges = page.locator(".ln-transformer [data-challenge]")
        for k, (name, outcome) in enumerate(EXPECTED.items()):
            challenges.nth(k).click()
            answers = page.locator(".ln-transformer [data-outcome]")
            texts = {a.get_attribute("data-outcome"): a.inner_text() for a in answers.all()}
            other = next(key for key in texts if key != outcome)
            for predicted, begins in ((outcome, "As you"), (other, "Not as you")):
                challenges.nth(k).click()
                page.locator(f".ln-transformer [data-outcome='{predicted}']").click()
                page.wait_for_selector(".ln-transformer-why")
                shown_text = page.locator(".ln-transformer-why").inner_text()
                assert shown_text.startswith(f"{begins} predicted: {texts[outcome]}."), name
            changed = switched(reader, LETTERS[name])
            assert f"from {nats(reader, START)} to {nats(changed, START)}" in shown_text
            if outcome == "more":
                ends = [f"{one.entropy(START):.2f}" for one in (reader, changed)]
                assert f"from {ends[0]} to {ends[1]} nats" in shown_text


def as_number(cell):
    return float(cell.replace("−", "-"))


def from_percent(percent):
    return float(percent.removesuffix("%"))


def rounded(size):
    return f"{size:.1f}" if size < 9.95 else f"{size:.0f}" if size < 1e4 else f"{size:.0e}"


@pytest.mark.parametrize("look", [3, 4])  # a norm that is on, behind outliers; one that is off
def test_numbers_match_character_norm_and_switches(run, reader, look):
    """The table row by row; the next characters, with the line of all norms on."""
    text, norms = "Who is it?", "llolo"
    changed = switched(reader, norms)
    costs = surprise(changed, text[:1], text[1:])
    before, after = changed.inside(text)[look]
    with run(f"#run&norms={norms}&look={look}&text={text.replace(' ', '+')}") as page:
        until(page, "loss", nats(changed, text))
        page.locator("[data-part='numbers'] summary").click()
        page.wait_for_function(
            "document.querySelector('.ln-transformer [data-part=table] td')?.checkVisibility()"
        )
        rows = [row.split("\t") for row in
                page.locator("[data-part='table'] tbody tr").all_inner_texts()]  # fmt: skip
        head = page.locator("[data-part='table'] thead").inner_text().split("\t")
        says = part(page, "says").inner_text()
        marks = {name: from_percent(part(page, name).evaluate("e => e.style.left"))
                 for name in ("now", "usual", "blind")}  # fmt: skip
        bars = page.evaluate(
            """() => [...document.querySelectorAll(".ln-transformer [data-part=next] li")].map(
            (li) => [li.querySelector("b").textContent, ...["i", "u"].map((name, k) =>
              parseFloat(li.querySelector(name).style[["width", "left"][k]]))])"""
        )
    assert [h.strip() for h in head] == [
        "character", "surprise (bits)", "mean before", "std before", "mean after", "std after",
    ]  # fmt: skip
    assert len(rows) == len(text)
    for t, (character, cost, *measures) in enumerate(rows):
        assert character == ("space" if text[t] == " " else f"“{text[t]}”")
        expected = [float(f(x[t])) for x in (before, after)
                    for f in (torch.mean, lambda v: v.std(correction=0))]  # fmt: skip
        assert [as_number(m) for m in measures] == pytest.approx(expected, abs=0.0051)
        assert cost == "–" if t == 0 else as_number(cost) == pytest.approx(costs[t - 1], abs=0.0051)
    deviations = [x.std(-1, correction=0) for x in (before, after)]
    spans = [rounded(float(f(d))) for d in deviations for f in (min, max)]
    numbers = re.findall(r"\d+(?:\.\d+)?(?:e\+\d+)?", says.partition(" after it")[0])
    assert numbers == spans
    of_features = before.square().mean(0).sqrt()
    times = of_features / np.median(of_features)
    outliers = [f"{k} ({rounded(times[k])} times" for k in (-times).argsort()[:4] if times[k] > 5]
    assert [part for part in outliers if part not in says] == []
    assert says.count(" times the median RMS") == len(outliers)
    losses = {"now": changed.loss(text), "usual": reader.loss(text), "blind": np.log(65)}
    for name, loss in losses.items():  # on a ruler of 8 nats
        assert marks[name] == pytest.approx(min(100, 100 * loss / 8), abs=1e-3), name
    baseline, now = (one.next_characters(text, 65) for one in (reader, changed))
    assert len(bars) == 8
    for name, wide, left in bars:
        c = {"space": " ", "line": "\n"}.get(name, name)
        assert wide == pytest.approx(100 * now[c], abs=1e-3)
        assert left == pytest.approx(100 * baseline[c], abs=1e-3)
    assert [wide for _, wide, _ in bars] == sorted((wide for _, wide, _ in bars), reverse=True)


EDGES = [1, 2, 4, np.log2(65)]
CHARACTERS = """[1, 0].map((k) => [...document.querySelectorAll(
  `.ln-transformer [data-part="text-${k}"] [data-at]`)].map(
  (e) => [e.textContent.replace("↵", "\\n"), e.dataset.level ?? null]))"""


def readout(bits):
    """A probability and its surprise, as the page writes them."""
    p = "p < 0.001" if bits > 9.9 else f"p = {2**-bits:.{3 if bits > 3.3 else 2}f}"
    return f"{p}, {bits:.1f} bits"


@pytest.mark.parametrize("norms", ["ooooo", "llllo", "lloll"])
def test_characters_have_the_color_and_the_readout_of_their_surprise(run, reader, norms):
    """Those that are read and those that are written, in both texts; by pointer and by keyboard."""
    text = "My cat: who is it?"
    with run(f"#run&norms={norms}&text={text.replace(' ', '+')}") as page:
        both = [written(page, k) for k in (1, 0)]
        texts = page.evaluate(CHARACTERS)
        means = []
        for k, network, wrote, shown in zip(
            (1, 0), (reader, switched(reader, norms)), both, texts, strict=True
        ):
            assert "".join(c for c, _ in shown) == text + wrote
            bits = surprise(network, text[0], text[1:] + wrote)
            assert [level for _, level in shown] == [
                None, *(str(level) for level in np.digitize(bits, EDGES))
            ]  # fmt: skip
            means.append([bits[: len(text) - 1].mean(), bits[len(text) - 1 :].mean()])
            for at in (1, len(text) - 1, len(text), len(text) + 79):
                page.locator(f"[data-part='text-{k}'] [data-at='{at}']").hover()
                character = (text + wrote)[at]
                character = {" ": "space", "\n": "new line"}.get(character, f"“{character}”")
                points = part(page, "points").inner_text()
                assert points.startswith(f"Character {at + 1}, {character}: "), at
                assert readout(bits[at - 1]) in points, at
            slider = part(page, f"text-{k}")
            slider.focus()
            for key, at in (("End", len(bits)), ("ArrowLeft", len(bits) - 1), ("Home", 0),
                            ("ArrowRight", 1)):  # fmt: skip
                page.keyboard.press(key)
                value = slider.get_attribute("aria-valuetext")
                assert slider.get_attribute("aria-valuenow") == str(at + 1)
                assert readout(bits[at - 1]) in value if at else "not predicted" in value
        numbers = re.findall(r"\d+(?:\.\d+)?", part(page, "verdict").inner_text().replace(
            "norm 3", "").replace("norm 5", ""))  # fmt: skip
        read, wrote = np.transpose(means)
        assert numbers == [as_nats(mean) for mean in (*read, *wrote)]
    # What a page without JavaScript shows of the sentence is colored alike.
    still = TransformerWidget(text, norms=norms).to_html().partition("<noscript>")[2]
    for (mean, _), shown, line in zip(means, texts, still.split("<br>")[1:], strict=True):
        assert f"{mean:.3g} bits" in line
        assert f": {text[0]}<span" in line
        runs = re.findall(r'data-level="(\d)">([^<]*)<', line)
        levels = [[c, level] for level, run in runs for c in run]
        assert levels == shown[1 : len(text)], norms


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_characters_appear_one_by_one_unless_motion_is_reduced(run, motion):
    """After the page was busy for two seconds, many are waiting to be shown."""
    with run(reduced_motion=motion) as page:
        written(page)
        added = page.evaluate(
            """() => new Promise((done) => {
              const [part, again] = ["wrote-0", "again"].map(
                (name) => document.querySelector(`.ln-transformer [data-part="${name}"]`));
              const added = [];
              new MutationObserver((records) => {
                added.push(records.reduce((sum, r) => sum + r.addedNodes.length, 0));
                if (part.childElementCount === 80) done(added);
              }).observe(part, { childList: true });
              again.click();
              const end = performance.now() + 2000;
              while (performance.now() < end);
            })"""
        )
    assert sum(added) == 80
    assert (max(added) == 1) == (motion == "no-preference")


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
            # Under the pointer is its row: 15 pixels high, below 22 of words.
            part(page, "canvas").hover(position={"x": 100, "y": 22 + 15 * (k + 0.5)})
            assert slider.input_value() == str(k)
            part(page, "canvas").hover(position={"x": 100, "y": 22 + 15 * ((k + 4) % 10 + 0.5)})
            assert slider.input_value() == str((k + 4) % 10)


def test_invalid_parts_of_an_address_are_ignored(run):
    def shown(page):
        letters = [e.input_value() for e in page.locator("[data-norm]:checked").all()]
        return [
            *letters,
            *(part(page, name).input_value() for name in ("text", "heat", "at", "look")),
        ]

    with run() as page:
        start = shown(page)
    wrong = "#run&norms=llllx&look=9&heat=2&at=-1"
    with run(wrong) as page:
        assert shown(page) == start
        # On a page that has been used it is the same.
        go_to(page, "#run&text=Who&norms=rfolo&look=4&heat=1&at=1")
        until(page, "count", "3 of 64")
        go_to(page, wrong)
        until(page, "count", f"{len(START)} of 64")  # with the slider, once the model answers
        assert shown(page) == start


def test_the_model_also_runs_without_a_worker(run, reader):
    def forbid(page):
        page.add_init_script("delete window.Worker;")

    with run("#run&norms=rrrrr", before=forbid) as page:
        assert part(page, "loss").inner_text() == nats(switched(reader, "rrrrr"), START)
