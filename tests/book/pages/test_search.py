"""The first page and the search."""

import json

import pytest

RESULT = "#search-results li a"
# Typical queries, and part of the title of a section with the answer.
ANSWERS = {
    "warmup": "Training with and without warm-up", "fp16": "float16",
    "autocast": "Which dtype does a normalization layer return",
    "mixed precision": "mixed precision", "InstanceNorm": "Group norm, instance norm, and RMS norm",
    "CNN": "convolutional network", "gamma": "gain", "elementwise_affine": "affine parameters",
    "normalized_shape": "normalized_shape", "nn.LayerNorm": "layer normalization",
    "running_mean": "running average", "SyncBatchNorm": "LayerNorm needs no SyncBatchNorm",
    "pre-LN": "pre-norm", "QK-norm": "QK norm, adaptive layer norm",
    "AdaLN": "adaptive layer normalization", "RMSNorm": "RMSNorm", "GPT-2": "GPT-2",
    "epsilon": "eps", "weight decay": "Should weight decay apply to norm weights?",
    "layer norm padding": "Padding, layer norm", "BatchNorm": "batch normalization",
    "eval mode": "inference, eval mode", "residual connection": "residual connection",
    "vanishing gradients": "vanishing gradient", "NaN": "Which layer returns NaN first?",
    "LSTM": "Replacing nn.LSTM", "learning rate": "effective learning rate",
    "kaiming": "He initialization", "LayerScale": "LayerScale",
    "covariate shift": "internal covariate shift", "RoPE": "RoPE", "gradient penalty": "WGAN-GP",
    "LayerNormFp32": "LayerNormFp32", "target network": "arget network",
    "track_running_stats": "Batch norm is lost", "loss scaling": "loss scaling, GradScaler",
    "requires_grad=False": "validation accuracy drifts", "final norm": "Do you need a final norm?",
    "NCHW": "LayerNorm on NCHW images", "load checkpoint": "Loading checkpoints",
    "F.normalize": "NaN gradient although eps is set",
    "must be divisible by num_groups": "divisible by num_groups", "weight_norm": "weight_norm of",
    "hidden_states[-1]": "hidden_states[-1]", "forward_sync_buffers": "DDP",
    "batch norm vs layer norm": "Batch norm and layer norm compared",
    "weight decay gamma beta": "Should weight decay", "syncbatchnorm deadlock": "Training hangs",
    "replace layernorm with rmsnorm": "Replacing LayerNorm", "pre-LN warmup": "warm-up",
    "layernorm torch.compile": "LayerNorm and RMSNorm under torch.compile",
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
