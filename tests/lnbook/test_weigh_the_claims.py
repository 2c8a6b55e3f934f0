"""Weigh the claims: the chart says what was found, and hides what was not chosen."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

import lnbook
from lnbook.show import pick
from lnbook.show.plots import BADGES as OF_PLOTS
from lnbook.train_with_four import figures as of_figure_6
from lnbook.weigh_the_claims import chart, landscape
from lnbook.weigh_the_claims.chart import BADGES, ClaimChart
from lnlib import claims, compare
from lnlib.claims import NOT_YET, OPEN, Finding, Weighed, numbers
from lnlib.experiments.order_embeddings import results
from lnlib.runs import record

BOOK = Path(lnbook.__file__).parents[1]


@pytest.fixture(scope="module")
def weighed():
    """The claims by the book's records, by name."""
    return {one.claim.name: one for one in claims.weigh()}


@pytest.fixture(scope="module")
def page(weighed):
    return ClaimChart(list(weighed.values()), "All claims", "weigh_the_claims.json").to_html()


def lines(page):
    """Each line of the chart: its attributes, and what it holds."""
    return re.findall(r'<details class="ln-claim"([^>]*)>(.*?)</details>', page, re.S)


def one(*shares, name="table-2", **finding):
    """A claim with one finding."""
    claim = next(c for c in claims.PAPER if c.name == name)
    d = np.array(shares, float)
    return Weighed(claim, (Finding("x", d, "of it", d, **finding),), {})


def test_every_verdict_has_its_badge_and_the_books_words():
    assert set(BADGES) == set(claims.VERDICTS)
    assert {verdict: BADGES[verdict][0] for verdict in OF_PLOTS} == OF_PLOTS
    assert (BADGES[NOT_YET][0], BADGES[OPEN][0]) == ("not yet recorded", "? open")


def test_every_claim_is_a_line_with_its_verdict_and_its_words(weighed, page):
    found = lines(page)
    assert len(found) == len(weighed)
    for one_, (_, body) in zip(weighed.values(), found, strict=True):
        text = html.unescape(re.sub("<[^>]+>", "", body))
        assert one_.claim.says in text
        assert one_.claim.quote in text
        assert BADGES[one_.verdict][0] in text
        for finding in one_.findings:
            assert claims.interval(finding) in text
        for command in one_.claim.commands:
            assert command in text
        assert f'id="claim-{one_.claim.name}"' in body


def test_a_link_leads_to_a_chapter_that_exists(page):
    pages = set(re.findall(r'<a href="(\w+)\.html">The chapter', page))
    assert pages
    assert all((BOOK / f"{name}.ipynb").exists() for name in pages)


def test_choices_show_each_line_under_all_and_under_its_own_part_and_verdict(weighed, page):
    for one_, (attributes, _) in zip(weighed.values(), lines(page), strict=True):
        told = dict(re.findall(r'data-(\w+)="([^"]*)"', attributes))
        assert told["verdict"].split() == ["any", BADGES[one_.verdict][1]]
        assert told["part"].split() == ["all", chart.part(one_)]
    for group in ("part", "verdict", "beside"):
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
    (ends,) = re.findall(r'<g class="ln-holds"><line x1="([\d.]+)%" x2="([\d.]+)%"', body)
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
    assert "undecided" in body
    alone = ClaimChart([one(np.inf, np.inf)], "A").to_html()
    assert "<circle" not in alone
    assert "does not hold" in alone


def test_measures_without_a_share_are_counted_in_words():
    rates = [Finding("x", d * np.ones(3), "powers of ten") for d in (1.0, -1.0)]
    claim = one(0.0, 0.0).claim
    body = ClaimChart([Weighed(claim, tuple(rates), {})], "A").to_html()
    assert ">2 measures, 1 of them holds</span>" in body
    alone = ClaimChart([Weighed(claim, (rates[0],), {})], "A").to_html()
    assert ">+1 powers of ten</span>" in alone


def test_what_stands_beside_is_drawn_where_all_is_asked_for_alone():
    finding = one(-0.5, -0.4)
    more = Finding("y", np.array([0.1, 0.2]), "of it", np.array([0.1, 0.2]), counts=False)
    both = Weighed(finding.claim, (*finding.findings, more), {})
    body = ClaimChart([both], "A").to_html()
    (shown,) = re.findall(r'<span data-beside="all">(.*?)</span>', body)
    assert 'class="ln-fails ln-beside"' in shown
    assert "ln-beside" not in body.replace(shown, "").replace(chart.STYLE, "")


def test_the_sentence_counts_and_the_text_has_a_line_a_claim(weighed):
    shown = ClaimChart(list(weighed.values()), "All claims")
    counted = [int(n) for n in re.findall(r"\d+", shown.sentence())]
    assert counted[0] == len(weighed) == sum(counted[1:])
    assert len(repr(shown).splitlines()) == 2 + len(weighed)
    assert "JSON" not in shown.to_html()


def test_the_style_comes_once_a_page(weighed):
    few = list(weighed.values())[:2]
    assert chart.STYLE in ClaimChart(few, "A").to_html()
    bare = ClaimChart(few, "A", name="few", styled=False).to_html()
    assert chart.STYLE not in bare
    assert pick.STYLE not in ClaimChart(few, "A").to_html()  # the book's pages load it
    assert pick.STYLE in ClaimChart(few, "A").widget().children[0].value
    assert '[name="ln-of-few-part"]' in bare  # its own rules remain


# Beside what other pages say.


def test_verdicts_on_figure_6_are_those_of_its_own_chapter(weighed):
    table = of_figure_6.claims(of_figure_6.Runs(record.read_all("mnist")))
    rows = {row[0]: row[1] for row in table.rows}
    ours = {name: BADGES[weighed[name].verdict][0] for name in ("faster-at-4", "faster-at-128")}
    assert ours["faster-at-4"] == rows["Batches of 4: lower training NLL after 1 epoch"]
    assert ours["faster-at-128"] == rows["Batches of 128: lower training NLL after 1 epoch"]
    steady = {v for text, v in rows.items() if text.startswith("From 128 to 4")}
    assert steady == {BADGES[weighed["robust"].verdict][0]}


def test_verdicts_on_table_2_are_those_of_its_experiment(weighed):
    rows = results.rows(record.read_all("order_embeddings"))
    found = weighed["table-2"].counting
    assert [f.verdict for f in found] == [row.verdict for row in rows]
    for row, finding in zip(rows, found, strict=True):
        np.testing.assert_allclose(np.abs(finding.differences), np.abs(row.difference), atol=1e-9)


def test_of_figure_1_three_recalls_in_percent_are_added_up():
    (total,) = (row for row in numbers.rows("figure-1", claims.Records()) if "R@1" in row.what)
    for arm, here in zip(("none", "layer"), total.here, strict=True):
        rate = {"none": 0.01, "layer": 0.03}[arm]
        runs = record.read_all("order_embeddings", norm=arm, learning_rate=rate)
        runs = [run for run in runs if not run["settings"].get("keep")]
        best = [max(sum(100 * run["curves"][f"val_image_recall_{k}"][point] for k in (1, 5, 10))
                    for point in range(len(run["curves"]["epoch"]))) for run in runs]  # fmt: skip
        assert 100 < float(here) < 300
        assert float(here) == pytest.approx(np.mean(best), abs=0.06)


def test_the_numbers_beside_table_2_are_the_means_of_its_experiment():
    rows = results.rows(record.read_all("order_embeddings"))
    told = numbers.rows("table-2", claims.Records())
    ours = [(f"{row.none.mean():.1f}", f"{row.layer.mean():.1f}") for row in rows]
    assert [row.here for row in told] == ours[4:] + ours[:4]  # captions come first in the paper
    assert told[0].paper == ("46.6", "48.5")


def test_the_paper_page_asks_for_every_number_and_gets_not_yet_recorded_where_there_is_none(
    tmp_path,
):
    asked = re.findall(r"^<!-- here: ([\w-]+) -->$", (BOOK / "paper.md").read_text("utf-8"), re.M)
    assert set(asked) == {*numbers.OF, "figure-6"}
    for name in numbers.OF:
        rows = numbers.rows(name, claims.Records(tmp_path))
        assert {row.cells[-1] for row in rows} <= {NOT_YET, "not among the tasks"}
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
    said = landscape.describe(runs, "effective smoothness", 0.1)
    assert said.endswith("over training and 2 seeds: layer norm 4.")
    assert landscape.typical(runs, "layer", 0.1, "shift") == pytest.approx(1.0)  # of both layers


def test_the_figure_has_a_line_a_norm_and_leaves_out_points_that_a_seed_lacks():
    runs = landscape.Runs([made("layer", 0, [1.0, 4.0]), made("layer", 1, [16.0, None]),
                           made("none", 0, [2.0, 3.0])])  # fmt: skip
    figure = landscape.draw(runs, "effective smoothness", 0.1)
    drawn = {trace.name: list(trace.x) for trace in figure.data if "edge" not in trace.name}
    assert drawn == {"layer norm": [0], "no norm": [0, 1]}


def test_verdicts_are_compares_and_no_others(weighed):
    trained = [f for one_ in weighed.values() for f in one_.findings if not f.exact]
    finite = [f for f in trained if np.isfinite(f.differences).all()]
    assert [f.verdict for f in finite] == [compare.verdict(f.differences) for f in finite]


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
    both = page + ClaimChart([Weighed(claim, findings, {})], "Claims", "").to_html()
    strips = [re.findall(r'<text [^>]*y="(\d+)"', svg) for svg in re.findall("<svg.*?</svg>", both)]
    several = [sorted(map(int, heights)) for heights in strips if len(heights) > 1]
    assert several
    assert min(np.diff(heights).min() for heights in several) >= 12  # pixels, a word's height
    for svg, heights in zip(re.findall("<svg.*?</svg>", both), strips, strict=True):
        room = int(re.match(r'<svg height="(\d+)"', svg)[1])
        assert all(int(y) < room for y in heights)
