"""The first page and the search."""

import json
import sys

import pytest

from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import search_sections

sys.path.pop(0)
RESULT = "#search-results li a"
# Typical queries, and part of the title of a section with the answer.
ANSWERS = {
    "warmup": "Training with and without warm-up", "fp16": "float16",
    "autocast": "Which dtype does a normalization layer return",
    "mixed precision": "mixed precision", "InstanceNorm": "Group norm, instance norm, and RMS norm",
    "Bessel": "Bessel", "CNN": "convolutional network", "gamma": "gain", "beta": "bias",
    "affine": "affine parameters", "elementwise_affine": "affine parameters",
    "normalized_shape": "normalized_shape", "nn.LayerNorm": "layer normalization",
    "running_mean": "running average", "SyncBatchNorm": "LayerNorm needs no SyncBatchNorm",
    "sync batch norm": "SyncBatchNorm", "pre-LN": "pre-norm", "preln": "pre-norm",
    "QK-norm": "QK norm, adaptive layer norm", "AdaLN": "adaptive layer normalization",
    "DiT": "DiT", "FiLM": "FiLM", "RMSNorm": "RMSNorm", "Llama": "Llama", "GPT-2": "GPT-2",
    "bfloat16": "bfloat16", "epsilon": "eps",
    "weight decay": "Should weight decay apply to norm weights?", "momentum": "momentum",
    "padding": "Padding", "layer norm padding": "Padding, layer norm",
    "BatchNorm": "batch normalization", "GroupNorm": "Group norm, instance norm, and RMS norm",
    "eval mode": "inference, eval mode", "post-norm": "Pre-norm and post-norm",
    "residual connection": "residual connection", "vanishing gradients": "vanishing gradient",
    "NaN": "NaN or zeros in float16", "batch size 1": "batch", "ConvNeXt": "ConvNeXt", "T5": "T5",
    "LSTM": "Replacing nn.LSTM", "GRU": "layer-normalized GRU",
    "learning rate": "effective learning rate", "kaiming": "He initialization",
    "dropout": "dropout", "ViT": "ViT", "DeepNorm": "DeepNorm", "LayerScale": "LayerScale",
    "Peri-LN": "peri-LN", "residual scaling": "residual scaling",
    "curse of depth": "curse of depth", "covariate shift": "internal covariate shift",
    "overfitting": "overfitting", "EMA": "EMA", "federated": "federated",
    "differential privacy": "differential privacy", "SmoothQuant": "SmoothQuant",
    "bf16": "bfloat16", "RoPE": "RoPE", "norm after modulation": "norm after the modulation",
    "contrastive": "Contrastive losses", "gradient penalty": "WGAN-GP", "QK-clip": "QK-clip",
    "softcapping": "soft-capping", "RevIN": "RevIN", "streaming": "Streaming",
    "LayerNormFp32": "LayerNormFp32", "Core ML": "Core ML", "target network": "arget network",
    "Polyak": "arget network", "inplace operation": "inplace operation", "tiled VAE": "tiles",
    "masked batch norm": "Padding", "track_running_stats": "Batch norm is lost",
    "GradScaler": "GradScaler", "loss scaling": "loss scaling, GradScaler",
    "loss spike": "Very large values, and loss spikes",
    "frozen weights": "validation accuracy drifts",
    "requires_grad=False": "validation accuracy drifts", "final norm": "Do you need a final norm?",
    "NCHW": "LayerNorm on NCHW images", "no_decay": "weight decay", "Missing key": "Missing key(s)",
    "load checkpoint": "Loading checkpoints", "RMSNormGated": "ated RMSNorm",
    "MC dropout": "Monte Carlo dropout", "frozen teacher": "frozen teachers",
    "NaN gradient": "NaN gradient although eps is set",
    "F.normalize": "NaN gradient although eps is set",
    "spatial element": "Expected more than 1 spatial element",
    "OrderedDict mutated": "OrderedDict mutated",
    "must be divisible by num_groups": "divisible by num_groups", "weight_norm": "weight_norm of",
    "weight_g": "weight_g and weight_v", "logit lens": "logit lens",
    "hidden_states[-1]": "hidden_states[-1]", "EAGLE": "before or after the final norm",
    "expected input tensor to be on GPU": "convert SyncBatchNorm back",
    "forward_sync_buffers": "DDP", "batch norm vs layer norm": "Batch norm and layer norm compared",
}  # fmt: skip
TYPE = """word => {
  const field = document.querySelector(".bd-search-container input[type=search]");
  field.value = word;
  field.dispatchEvent(new Event("input"));
  return [...document.querySelectorAll("#search-results li a")].map((a) => a.textContent);
}"""


@pytest.mark.every_browser
def test_search_finds_a_page(visit, site):
    with visit(site, "search", "?q=normalization") as v:
        v.page.wait_for_selector(RESULT)
        assert (v.outside, v.complaints) == ([], [])


def test_typical_queries_find_a_section_with_the_answer(visit, built_book):
    with visit(built_book.as_uri(), "search", "?q=mean") as v:
        v.page.wait_for_selector(RESULT)
        first = {word: v.page.evaluate(TYPE, word)[:3] for word in ANSWERS}
        missed = {w: got for w, got in first.items() if not any(ANSWERS[w] in one for one in got)}
        assert missed == {}
        assert v.page.evaluate(TYPE, "normalisierungsschicht") == []
        assert "Nothing found" in v.page.inner_text("#search-results [role=status]")


@pytest.mark.every_browser
def test_a_result_links_to_the_words_in_their_section(visit, built_book):
    with visit(built_book.as_uri(), "search", "?q=convert_sync_batchnorm") as v:
        assert (
            "convert_sync_batchnorm" in v.page.locator("#search-results li mark").first.inner_text()
        )
        v.page.locator(RESULT).first.click()
        v.page.wait_for_url(
            "**/error_messages.html?highlight=convert_sync_batchnorm#syncbatchnorm-expected*"
        )
        v.page.wait_for_function("CSS.highlights?.get('ln-search')?.size > 0")
        v.page.wait_for_function("""() => {
            const section = document.getElementById(location.hash.slice(1));
            const hits = [...CSS.highlights.get('ln-search')];
            const first = hits.find((range) => section.contains(range.startContainer));
            const { top, bottom } = first.getBoundingClientRect();
            return top > 0 && bottom < innerHeight;
        }""")
        assert (v.outside, v.complaints) == ([], [])


def test_a_section_has_its_own_text_and_a_glossary_its_synonyms():
    page = """<article class="bd-article"><section id="a"><h1>A<a class="headerlink">#</a></h1>
    <p>One.</p><p>Two <span class="math">\\(\\mu_i\\)</span>.</p><svg><text>no</text></svg>
    <section id="b"><h2>B</h2><ul><li>three</li></ul></section></section>
    <section id="g"><h2>G</h2><dl class="glossary"><dt id="t1">warm-up</dt><dt id="t2">warmup</dt>
    <dd>Slow.</dd><dt id="t3">eps</dt><dd>Small.</dd></dl></section></article>"""
    assert list(search_sections.sections(page)) == [
        ("t1", "warm-up, warmup", "Slow."),
        ("t3", "eps", "Small."),
        ("a", "A", "One. Two μ_i."),
        ("b", "B", "three"),
        ("g", "G", ""),
    ]


def test_every_section_in_the_index_is_on_its_page(built_book):
    text = (built_book / "_static/search/sections.js").read_text("utf-8")
    pages = json.loads(text.removeprefix("lnSearch(").removesuffix(");\n"))
    assert {"introduction", "which_norm", "glossary"} <= {page["page"] for page in pages}
    for page in pages:
        source = (built_book / f"{page['page']}.html").read_text("utf-8")
        lost = [anchor for anchor, _, _ in page["parts"] if f'id="{anchor}"' not in source]
        assert lost == [], page["page"]


def test_the_index_page_redirects_to_the_first_page(visit, site):
    with visit(site, "index") as v:
        v.page.wait_for_url("**/introduction.html")
        v.page.wait_for_load_state()
        assert v.page.locator("article h1").first.is_visible()
        assert (v.outside, v.complaints) == ([], [])
