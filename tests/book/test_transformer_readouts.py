"""What the transformer page says, compared with PyTorch, for several settings of its norms."""

import itertools

import numpy as np
import pytest

from lnbook.widgets import transformer
from lnlab import records
from lnlab.experiments.transformer.trained_transformer import TrainedTransformer
from tests.book.test_transformer_page import as_nats, nats, switched
from tests.cases.readouts import check_says, percent

SCRIPTS = transformer.WEB, "lnTransformer"
SWITCHBOARD = """async ([weights, settings]) => {
  const { setTimeout } = window;
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  window.setTimeout = (act, ms) => setTimeout(act, Math.min(ms, 5)); // nothing waits for readers
  const root = document.createElement("div");
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
  return { texts, next, written: written(0) };
}"""
RECORDED = {
    "lllll": "val_nll", "rrrrr": "nll_rms", "fffff": "nll_frozen", "ooooo": "nll_removed",
    "ffffl": "nll_frozen_but_last", "ooool": "nll_but_last", "llllo": "nll_last",
}  # fmt: skip


@pytest.fixture(scope="module")
def reader():
    return TrainedTransformer.of(records.read_all("transformer", ablate=True)[0])


def as_percent(p):
    return "> 99%" if 0.995 <= p < 1 else "< 1%" if p < 0.005 else percent(p)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("norms", [*RECORDED, "rflll"])
def test_losses_and_next_characters_equal_those_of_pytorch_for_the_set_norms(
    scripts, reader, norms
):
    text = "What is your name? My"
    settings = {"text": text, "norms": norms, "heat": "0", "at": "5"}
    result = scripts.evaluate(SWITCHBOARD, [transformer.weights(), settings])
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
    assert result["written"] == changed.write(text, 80, temperature=0, seed=1)
