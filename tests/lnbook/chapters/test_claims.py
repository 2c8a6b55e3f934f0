"""The chart says what was found, and hides what was not chosen."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

import lnbook
from lnbook.chapters.claims import chart, landscape
from lnbook.chapters.claims.chart import KINDS, ClaimChart
from lnbook.figures import css_filter
from lnbook.figures.table import badge, mark
from lnlab import claims, comparison, records
from lnlab.claims import ClaimResult, Finding, numbers
from lnlab.claims.scale import relative
from lnlab.comparison import NOT_RECORDED, Evidence
from lnlab.experiments.order_embeddings import results

BOOK = Path(lnbook.__file__).parents[1]


@pytest.fixture(scope="module")
def weighed():
    """The claims by the book's records, by name."""
    return {one.claim.name: one for one in claims.evaluate()}


@pytest.fixture(scope="module")
def page(weighed):
    return ClaimChart(list(weighed.values()), "All claims", "claims.json").to_html()


def lines(page):
    """Each line of the chart: its attributes, and what it holds."""
    return re.findall(r'<details class="ln-claim"([^>]*)>(.*?)</details>', page, re.S)


def one(*shares, name="table-2", **finding):
    """A claim with one finding."""
    claim = next(c for c in claims.PAPER if c.name == name)
    d = np.array(shares, float)
    return ClaimResult(claim, (Finding("x", d, "of it", d, **finding),), {})


def ordered(weighed):
    """The claims in the order of the chart: by kind of evidence."""
    return [one_ for of in claims.by_evidence(list(weighed.values())).values() for one_ in of]


def test_a_count_of_seeds_has_no_sign_and_no_color_of_a_verdict():
    ten = -np.arange(1.0, 11)
    of = {
        "✓ holds": (comparison.exact(np.zeros(1)), "holds"),
        "✗ does not hold": (comparison.exact(np.ones(1)), "fails"),
        "✓ supported": (comparison.label(ten), "holds"),
        "✗ contradicted": (comparison.label(-ten), "fails"),
        "≈ undecided": (comparison.label(ten - ten.mean()), "mixed"),
        "3 of 3 seeds": (comparison.label(ten[:3]), "count"),
        "not testable here: diverged": (comparison.untestable("diverged"), "late"),
    }
    for text, (label, color) in of.items():
        assert badge(label) == text
        assert mark(text) == color
    assert mark("1 to 3 of 3 seeds") == mark("all seeds in 1 of 2 measures") == "count"
    assert mark("3 seeds") == mark("holds") == ""


def test_every_claim_is_a_line_with_its_label_evidence_and_words(weighed, page):
    result = lines(page)
    assert len(result) == len(weighed)
    for one_, (_, body) in zip(ordered(weighed), result, strict=True):
        text = html.unescape(re.sub("<[^>]+>", "", body))
        assert one_.claim.statement in text
        assert one_.claim.quote in text
        assert str(one_.label).lower() in text.lower()
        head = html.unescape(re.search(r"<summary>(.*?)</summary>", body, re.S)[1])
        assert f">{one_.label.reason or badge(one_.label)}</span>" in head
        assert f"<small>{one_.evidence}</small>" in head
        for finding in one_.findings:
            assert claims.interval(finding) in text
        for command in one_.claim.commands:
            assert command in text
        assert f'id="claim-{one_.claim.name}"' in body


def test_lines_are_grouped_by_evidence_the_strongest_first(weighed, page):
    heads = re.findall(r'<p class="ln-kind"[^>]*>([^<]*)</p>', page)
    assert heads == [KINDS[kind][1] for kind in Evidence]
    parts = re.split(r'<p class="ln-kind"', page)[1:]
    for kind, body in zip(Evidence, parts, strict=True):
        assert set(
            re.findall(r'<details class="ln-claim"[^>]*data-evidence="any (\w+)"', body)
        ) == {KINDS[kind][0]}
    assert {one_.label.evidence for one_ in weighed.values()} == set(Evidence)


def test_every_dot_says_its_seeds_and_a_size_that_is_not_in_its_line(weighed, page):
    titles = re.findall(r"<title>(.*?)</title>", page)
    assert len(titles) == len(re.findall(r'<g class="ln-', page)) > 50
    for one_, (_, body) in zip(ordered(weighed), lines(page), strict=True):
        drawn = [f for f in one_.findings if f.shares is not None and not np.isnan(f.shares).all()]
        for finding in drawn:
            what = f"{finding.what[:1].upper()}{finding.what[1:]}; {finding.seeds} seeds"
            (title,) = {html.unescape(t) for t in re.findall(r"<title>(.*?)</title>", body)
                        if html.unescape(t).startswith(what)}  # fmt: skip
            size = relative(finding.runs) if finding.runs else ""
            assert title == what if size in one_.evidence else f"{what}; {size}"


def test_a_link_leads_to_a_chapter_that_exists(page):
    pages = set(re.findall(r'<a href="(\w+)\.html">The chapter', page))
    assert pages
    assert all((BOOK / f"{name}.ipynb").exists() for name in pages)


def test_choices_show_each_line_under_all_and_under_its_own_part_and_evidence(weighed, page):
    for one_, (attributes, _) in zip(ordered(weighed), lines(page), strict=True):
        attributes_of = dict(re.findall(r'data-(\w+)="([^"]*)"', attributes))
        assert attributes_of["evidence"].split() == ["any", KINDS[one_.label.evidence][0]]
        assert attributes_of["part"].split() == ["all", chart.part(one_)]
    for group in ("part", "evidence", "beside"):
        values = re.findall(rf'name="ln-of-paper-{group}" value="(\w+)"', page)
        assert values
        for value in values:  # the rule of the style sheet that hides the others
            assert f'[name="ln-of-paper-{group}"][value="{value}"]:checked) [data-{group}]' in page


def test_parts_are_mathematics_recurrent_networks_and_others(weighed):
    of = {name: chart.part(one_) for name, one_ in weighed.items()}
    assert {of["table-1"], of["curvature"], of["variable-lengths"]} == {"exact"}
    assert {of[n] for n in ("table-2", "draw-twice", "hidden-dynamics", "training-time")} == {
        "recurrent"
    }
    assert {of[n] for n in ("robust", "conv-batch", "covariate-shift", "long-weights")} == {"other"}


def test_a_dot_stands_at_the_mean_and_its_bar_goes_from_bound_to_bound():
    body = ClaimChart([one(-0.5, -0.25, -0.15)], "A").to_html()
    mark_ = r'<g class="ln-count"><title>.*?</title><line x1="([\d.]+)%" x2="([\d.]+)%"'
    (ends,) = re.findall(mark_, body)
    (at,) = re.findall(r'<circle cx="([\d.]+)%"', body)
    # A share of 1 is 46 percent of the strip from its middle.
    places = [float(v) for v in (ends[0], at, ends[1])]
    np.testing.assert_allclose(places, 50 + 46 * np.array([-0.5, -0.3, -0.15]), atol=0.06)


def test_a_share_beyond_the_scale_stays_within_the_strip():
    body = ClaimChart([one(30.0, 40.0)], "A").to_html()
    places = [float(v) for v in re.findall(r'(?:cx|x1|x2)="([\d.]+)%"', body)]
    assert 0 <= min(places) <= max(places) <= 100


def test_what_was_never_reached_has_no_dot_at_a_mean_and_says_never():
    body = ClaimChart([one(-0.5, np.inf)], "A").to_html()
    assert body.count("<circle") == 1
    assert ">never</text>" in body
    assert "1 of 2 seeds" in body
    alone = ClaimChart([one(np.inf, np.inf)], "A").to_html()
    assert "<circle" not in alone
    assert "0 of 2 seeds" in alone


def test_measures_without_a_share_are_counted_in_words():
    rates = [Finding("x", d * np.ones(3), "powers of ten") for d in (1.0, -1.0)]
    claim = one(0.0, 0.0).claim
    body = ClaimChart([ClaimResult(claim, tuple(rates), {})], "A").to_html()
    assert ">2 measures, in the line</span>" in body
    alone = ClaimChart([ClaimResult(claim, (rates[0],), {})], "A").to_html()
    assert ">+1 powers of ten</span>" in alone


def test_what_stands_beside_is_drawn_where_all_is_asked_for_alone():
    finding = one(-0.5, -0.4)
    more = Finding("y", np.array([0.1, 0.2]), "of it", np.array([0.1, 0.2]), counts=False)
    both = ClaimResult(finding.claim, (*finding.findings, more), {})
    body = ClaimChart([both], "A").to_html()
    (shown,) = re.findall(r'<span data-beside="all">(.*?)</span>', body)
    assert 'class="ln-count ln-beside"' in shown
    assert "ln-beside" not in body.replace(shown, "").replace(chart.STYLE, "")


def test_the_sentence_counts_and_the_text_has_a_line_a_claim(weighed):
    shown = ClaimChart(list(weighed.values()), "All claims")
    counted = [int(n) for n in re.findall(r"\d+", shown.sentence())]
    tested = len(claims.comparisons(list(weighed.values())))
    assert counted[0] == len(weighed) == sum(counted[1:-1])
    assert counted[-1] == tested
    printed = repr(shown)
    for one_ in weighed.values():
        assert one_.claim.statement in printed
    assert "JSON" not in shown.to_html()


def test_the_style_comes_once_a_page(weighed):
    few = list(weighed.values())[:2]
    assert chart.STYLE in ClaimChart(few, "A").to_html()
    bare = ClaimChart(few, "A", name="few", styled=False).to_html()
    assert chart.STYLE not in bare
    assert css_filter.STYLE not in ClaimChart(few, "A").to_html()  # the book's pages load it
    assert css_filter.STYLE in ClaimChart(few, "A").widget().children[0].value
    assert '[name="ln-of-few-part"]' in bare  # its own rules remain


# Beside what other pages say.


def test_of_figure_1_three_recalls_in_percent_are_added_up():
    (total,) = (row for row in numbers.rows("figure-1", claims.Records()) if "R@1" in row.what)
    for arm, here in zip(("none", "layer"), total.here, strict=True):
        rate = {"none": 0.003, "layer": 0.01}[arm]
        runs = records.read_all("order_embeddings", norm=arm, learning_rate=rate)
        runs = [run for run in runs if not run["settings"].get("keep")]
        best = [max(sum(100 * run["curves"][f"val_image_recall_{k}"][point] for k in (1, 5, 10))
                    for point in range(len(run["curves"]["epoch"]))) for run in runs]  # fmt: skip
        assert 100 < float(here) < 300
        assert float(here) == pytest.approx(np.mean(best), abs=0.06)


def test_the_numbers_beside_table_2_are_the_means_of_its_experiment():
    rows = results.rows(records.read_all("order_embeddings"))
    attributes_of = numbers.rows("table-2", claims.Records())
    ours = [(f"{row.none.mean():.1f}", f"{row.layer.mean():.1f}") for row in rows]
    assert [row.here for row in attributes_of] == ours[4:] + ours[
        :4
    ]  # captions come first in the paper
    assert attributes_of[0].paper == ("46.6", "48.5")


def test_the_paper_page_asks_for_every_number_and_gets_not_yet_recorded_where_there_is_none(
    tmp_path,
):
    cited = re.findall(
        r"^<!-- here: ([\w-]+) -->$", (BOOK / "equations.md").read_text("utf-8"), re.M
    )
    assert set(cited) == {*numbers.OF, "figure-6"}
    for name in numbers.OF:
        rows = numbers.rows(name, claims.Records(tmp_path))
        assert {row.cells[-1] for row in rows} <= {NOT_RECORDED, "not among the tasks"}
        assert all(len(row.cells) == 5 for row in rows)
    with pytest.raises(ValueError, match="rows: name must be one of figure-1"):
        numbers.rows("table-9", claims.Records(tmp_path))


# The landscape.


def made(norm, seed, smooth, shifts=(0.5, 2.0)):
    curves = {"epoch": [0, 1], "smoothness": smooth, "shift_1": [shifts[0]] * 2,
              "shift_2": [shifts[1]] * 2}  # fmt: skip
    return {"settings": {"norm": norm, "learning_rate": 0.1}, "seed": seed, "curves": curves}


def test_the_sentence_has_the_geometric_mean_over_training_and_seeds():
    runs = landscape.Runs([made("layer", 0, [1.0, 4.0]), made("layer", 1, [16.0, None])])
    assert landscape.typical(runs, "layer", 0.1, "smoothness") == pytest.approx(4.0)
    text = landscape.describe(runs, "effective smoothness", 0.1)
    assert text.endswith("over training and 2 seeds: layer norm 4.")
    assert landscape.typical(runs, "layer", 0.1, "shift") == pytest.approx(1.0)  # of both layers


def test_the_figure_has_a_line_a_norm_and_leaves_out_points_that_a_seed_lacks():
    runs = landscape.Runs([made("layer", 0, [1.0, 4.0]), made("layer", 1, [16.0, None]),
                           made("none", 0, [2.0, 3.0])])  # fmt: skip
    figure = landscape.draw(runs, "effective smoothness", 0.1)
    drawn = {trace.name: list(trace.x) for trace in figure.data if "edge" not in trace.name}
    assert drawn == {"layer norm": [0], "no norm": [0, 1]}


def test_labels_are_compares_with_p_values_corrected_for_all_comparisons(weighed):
    tested = claims.comparisons(list(weighed.values()))
    corrected = comparison.holm([comparison.p_value(f.differences) for f in tested])
    np.testing.assert_allclose([f.corrected for f in tested], corrected)
    for finding, p in zip(tested, corrected, strict=True):
        assert finding.label == comparison.label(finding.differences, p)


def test_a_seed_without_a_number_is_not_drawn_as_one_that_was_never_reached():
    (_, body), *_ = lines(ClaimChart([one(-0.5, np.nan, -0.3)], "x").to_html())
    drawn = re.search(r"<svg.*?</svg>", body, re.S)[0]
    assert "never" not in drawn
    assert ">no number</text>" in drawn
    (_, body), *_ = lines(ClaimChart([one(np.nan, np.nan)], "x").to_html())
    assert ">no number</text>" in body


def test_no_word_in_a_chart_covers_another(page):
    """Two seeds of two measures that were never reached: a word in each row."""
    never = (0.2, np.inf)
    claim = one(*never).claim
    findings = tuple(Finding(f"{k}", np.array(never), "of it", np.array(never)) for k in range(3))
    both = page + ClaimChart([ClaimResult(claim, findings, {})], "Claims", "").to_html()
    strips = [re.findall(r'<text [^>]*y="(\d+)"', svg) for svg in re.findall("<svg.*?</svg>", both)]
    several = [sorted(map(int, heights)) for heights in strips if len(heights) > 1]
    assert several
    assert min(np.diff(heights).min() for heights in several) >= 12  # pixels, a word's height
    for svg, heights in zip(re.findall("<svg.*?</svg>", both), strips, strict=True):
        room = int(re.match(r'<svg height="(\d+)"', svg)[1])
        assert all(int(y) < room for y in heights)
