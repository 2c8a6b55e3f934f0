"""The pages around the chapters: the paper, notation, references, about; and what feeds them."""

import json
import pkgutil
import re
import sys
import zipfile
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import yaml
from pybtex.database import parse_file, parse_string

import lnlib
import lnlib.nn

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
sys.path.insert(0, str(Path(__file__).parent))
from conftest import pages  # noqa: E402
from test_build import Book  # noqa: E402

PAPER = (BOOK / "paper.md").read_text("utf-8")
CHAPTERS = [name for name in pages() if (BOOK / f"{name}.ipynb").exists()]


def sources():
    """Every page's Markdown, by name."""
    for path in sorted(BOOK.glob("*.md")):
        yield path.stem, path.read_text("utf-8")
    for path in sorted(BOOK.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield path.stem, "\n\n".join(texts)


# The page of the paper.


def cards():
    """Each equation's number and the text of its card."""
    return re.findall(r"\(paper-eq-(\d+)\)=\n:::\{div\} ln-eq\n(.*?)\n:::\n", PAPER, re.S)


def test_the_paper_page_has_all_equations_in_order():
    assert [int(number) for number, _ in cards()] == list(range(1, 36))


def test_every_equation_says_its_number_its_formula_and_where_it_is_computed():
    for number, card in cards():
        assert re.match(rf"\*\*Eq\. {number}: \w", card)
        assert len(re.findall(r"^\$\$\n.+?\n\$\$$", card, re.M | re.S)) == 1, number
        assert re.search(r"^In the book: ", card.split("$$")[-1], re.M), number


def test_every_section_figure_and_table_has_an_anchor_and_a_line():
    wanted = [f"section-{n}" for n in (1, 2, 3, "3-1", 4, 5, "5-1", "5-2", "5-2-1", "5-2-2", 6)]
    wanted += [*(f"section-6-{n}" for n in range(1, 8)), "section-7", "appendix"]
    wanted += [*(f"figure-{n}" for n in range(1, 7)), *(f"table-{n}" for n in range(1, 4))]
    for name in wanted:
        assert re.search(rf"^\(paper-{name}\)=\n(#+ .+\n\n)?[A-Z*][^\n]+\.?", PAPER, re.M), name


def test_every_name_of_the_library_on_these_pages_exists():
    names = {
        name
        for page in ("paper", "notation", "about")
        for name in re.findall(r"`(lnlib(?:\.\w+)+)`", (BOOK / f"{page}.md").read_text("utf-8"))
    }
    assert names
    for name in names:
        pkgutil.resolve_name(name)  # imports what nothing has imported yet


# What its notes say, computed. Units H, inputs D, cases N; eps = 0 as in the paper.

H, D, N = 3, 4, 7
EXACT = 1e-12  # float64, measured 3e-15
BY_DIFFERENCES = 1e-8  # central differences, measured 3e-11


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def x(rng):
    return rng.normal(size=(N, D)) + 0.5


@pytest.fixture
def W(rng):
    return rng.normal(size=(H, D))


NORMS = {
    "Batch": lambda x, W: lnlib.batch_norm(x @ W.T, eps=0),
    "Weight": lnlib.weight_norm,
    "Layer": lambda x, W: lnlib.layer_norm(x @ W.T, eps=0),
}


def scaled(array, factor, row=None):
    changed = array.copy()
    changed[row if row is not None else slice(None)] *= factor
    return changed


CHANGES = {
    "Weight matrix re-scaling": lambda x, W, shift: (x, 3 * W),
    "Weight matrix re-centering": lambda x, W, shift: (x, W + shift),
    "Weight vector re-scaling": lambda x, W, shift: (x, scaled(W, 3, row=0)),
    "Dataset re-scaling": lambda x, W, shift: (3 * x, W),
    "Dataset re-centering": lambda x, W, shift: (x + shift, W),
    "Single case re-scaling": lambda x, W, shift: (scaled(x, 3, row=0), W),
}


def table_1():
    rows = re.findall(r"^\| (\w[\w\s-]+), \$.*\| (yes|no) \| (yes|no) \| (yes|no) \|$", PAPER, re.M)
    return {(row[0], norm): row[i] for row in rows for i, norm in enumerate(NORMS, 1)}


def test_table_1_of_the_page_has_18_verdicts():
    assert set(table_1()) == {(change, norm) for change in CHANGES for norm in NORMS}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_table_1_holds_when_computed(change, norm, x, W, rng):
    before = NORMS[norm](x, W)
    after = NORMS[norm](*CHANGES[change](x, W, rng.normal(size=D)))
    moved = np.abs(after - before).max()
    assert moved < EXACT if table_1()[change, norm] == "yes" else moved > 0.1


def test_a_negative_factor_flips_layer_norm(x, W):
    plain = NORMS["Layer"](x, W)
    np.testing.assert_allclose(NORMS["Layer"](-2 * x, W), -plain, atol=EXACT)  # eq. 7
    np.testing.assert_allclose(NORMS["Layer"](x, -2 * W), -plain, atol=EXACT)  # eq. 6


def test_shifting_the_data_moves_layer_norm_unless_the_rows_of_W_have_equal_sums(x, W):
    plain = NORMS["Layer"](x, W)
    assert np.abs(NORMS["Layer"](x + 2, W) - plain).max() > 0.1
    np.testing.assert_allclose(lnlib.layer_norm(x @ W.T + 2, eps=0), plain, atol=EXACT)
    equal = W - W.sum(1, keepdims=True) / D
    np.testing.assert_allclose(NORMS["Layer"](x + 2, equal), NORMS["Layer"](x, equal), atol=EXACT)


def test_a_gain_of_zero_lets_nothing_through(rng):
    x, dy = rng.normal(size=(2, N, H))
    assert np.ptp(lnlib.layer_norm(x, np.zeros(H)), axis=0).max() == 0
    assert not lnlib.layer_norm_backward(dy, x, np.zeros(H))[0].any()


def jacobian(norm, x, W, gain):
    """How each output moves with w_i, b_i, g_i of each unit: by central differences, (N, H, P)."""

    def outputs(theta):
        w, b, g = np.split(theta.reshape(H, D + 2), [D, D + 1], axis=1)
        return g[:, 0] * norm(x, w) + b[:, 0]

    theta = np.column_stack([W, np.zeros(H), gain]).ravel()
    steps = 1e-5 * np.eye(theta.size)
    return np.stack([(outputs(theta + s) - outputs(theta - s)) / 2e-5 for s in steps], axis=-1)


def fisher(J, covariance):
    """Eq. 9 for a GLM with phi = 1: the mean over the cases of J^T Cov J."""
    return np.einsum("nip,nij,njq->pq", J, covariance, J) / N


@pytest.fixture
def gain(rng):
    return 1 + 0.3 * rng.normal(size=H)


@pytest.fixture
def covariance(rng, x, W):
    """Cov[y | x] that depends on x, with outputs that are not independent."""
    p = 1 / (1 + np.exp(-(x @ W.T)))
    deviation = np.sqrt(p * (1 - p))
    correlation = np.corrcoef(rng.normal(size=(H, 2 * H)))
    return deviation[:, :, None] * correlation * deviation[:, None, :]


def blocks(F):
    """The blocks of the units: (H, H, D + 2, D + 2)."""
    return F.reshape(H, D + 2, H, D + 2).swapaxes(1, 2)


def by_eq_13(name, x, W, gain, covariance):
    a = x @ W.T
    if name == "Batch":
        mean, std = a.mean(0), a.std(0)
        dmean = np.broadcast_to(x.mean(0), (N, H, D))
        dstd = np.broadcast_to(((a - mean).T @ (x - x.mean(0)) / N) / std[:, None], (N, H, D))
    elif name == "Weight":
        mean, std = 0, np.linalg.norm(W, axis=1)
        dmean, dstd = np.zeros((N, H, D)), np.broadcast_to(W / std[:, None], (N, H, D))
    else:
        mean, std = a.mean(1, keepdims=True), a.std(1, keepdims=True)
        dmean = np.broadcast_to(x[:, None] / H, (N, H, D))
        dstd = ((a - mean) / (H * std))[:, :, None] * x[:, None]
    x_hat = (a - mean) / std
    chi = x[:, None] - dmean - x_hat[:, :, None] * dstd  # eq. 14
    q = np.concatenate(
        [(gain / std * np.ones((N, H)))[..., None] * chi, np.ones((N, H, 1)), x_hat[..., None]], -1
    )
    return np.einsum("nij,nip,njq->ipjq", covariance, q, q).reshape([H * (D + 2)] * 2) / N


@pytest.mark.parametrize("norm", NORMS)
def test_eq_13_is_exact_for_batch_and_weight_norm_and_not_for_layer_norm(
    norm, x, W, gain, covariance
):
    exact = fisher(jacobian(NORMS[norm], x, W, gain), covariance)
    off = np.abs(by_eq_13(norm, x, W, gain, covariance) - exact).max()
    assert off > 0.01 if norm == "Layer" else off < BY_DIFFERENCES


def test_a_twice_longer_weight_vector_quarters_a_block_of_batch_norm_and_halves_a_step(
    x, W, gain, covariance
):
    F = [
        blocks(fisher(jacobian(NORMS["Batch"], x, w, gain), covariance))[:, :, :D, :D]
        for w in (W, scaled(W, 2, row=0))
    ]
    np.testing.assert_allclose(F[1][0, 0], F[0][0, 0] / 4, atol=BY_DIFFERENCES)
    np.testing.assert_allclose(F[1][0, 1], F[0][0, 1] / 2, atol=BY_DIFFERENCES)
    assert np.abs(F[0][0, 1]).max() > 0.001
    assert abs(W[0] @ F[0][0, 0] @ W[0]) < BY_DIFFERENCES  # no curvature along w_i itself
    step = np.ones(D)
    lengths = [np.sqrt(step @ f[0, 0] @ step / 2) for f in F]
    np.testing.assert_allclose(lengths[1], lengths[0] / 2, atol=BY_DIFFERENCES)


def test_eq_32_drops_what_matters_unless_the_covariance_is_constant(x, W, gain, covariance):
    gains = slice(D + 1, None, D + 2)
    J = jacobian(NORMS["Batch"], x, W, gain)
    exact = fisher(J, covariance)[gains, gains]
    assert np.abs(exact - covariance.mean(0)).max() > 0.01
    constant = np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (N, H, H))
    exact = fisher(J, constant)[gains, gains]
    np.testing.assert_allclose(exact, constant.mean(0), atol=BY_DIFFERENCES)


@pytest.mark.parametrize("norm", ["Layer", "Weight"])
def test_eqs_33_and_34_are_the_gain_blocks(norm, x, W, gain, covariance):
    gains = slice(D + 1, None, D + 2)
    x_hat = NORMS[norm](x, W)
    by_paper = (covariance * x_hat[:, :, None] * x_hat[:, None, :]).mean(0)
    exact = fisher(jacobian(NORMS[norm], x, W, gain), covariance)[gains, gains]
    np.testing.assert_allclose(exact, by_paper, atol=BY_DIFFERENCES)


def test_eq_35_is_one_term_of_the_form_on_its_left(x, W, covariance):
    x_1 = np.column_stack([x, np.ones(N)])
    F = np.einsum("nij,np,nq->ipjq", covariance, x_1, x_1).reshape([H * (D + 1)] * 2) / N  # eq. 12
    step, units = np.array([0.3, 0.7, 0.0]), W / np.linalg.norm(W, axis=1, keepdims=True)
    u = np.column_stack([step[:, None] * units, np.zeros(H)]).ravel()
    a = x @ units.T
    terms = np.outer(step, step) / 2 * (covariance * a[:, :, None] * a[:, None, :]).mean(0)
    np.testing.assert_allclose(u @ F @ u / 2, terms.sum(), atol=EXACT)
    assert abs(terms.sum() - terms[0, 1]) > 0.01


# Notation, references, about.


def test_every_glossary_term_in_use_is_defined():
    glossary = re.search(r"```\{glossary\}\n(.*?)```", dict(sources())["notation"], re.S)[1]
    defined = [line for line in glossary.splitlines() if line and not line.startswith(" ")]
    assert len(set(defined)) == len(defined) > 50
    used = {
        re.sub(r".*<(.+)>", r"\1", term)
        for _, text in sources()
        for term in re.findall(r"\{term\}`([^`]+)`", text, re.S)
    }
    assert {term.lower() for term in used} <= {term.lower() for term in defined}


BIB = parse_file(BOOK / "references.bib")  # a key given twice is an error here


@pytest.mark.parametrize("key", list(BIB.entries))
def test_every_reference_is_whole_and_has_a_doi(key):
    entry = BIB.entries[key]
    assert entry.persons["author"]
    assert {"title", "year"} <= set(entry.fields)
    first = entry.persons["author"][0]
    name = [part[0].upper() + part[1:] for part in (*first.prelast_names, first.last_names[0])]
    assert key == re.sub(r"\W", "", "".join(name)) + entry.fields["year"]
    # One that has no DOI says so in its note.
    assert re.fullmatch(r"10\.\d{4,9}/\S+", entry.fields.get("doi", "")) or (
        "no DOI" in entry.fields.get("note", "")
    )
    if "eprint" in entry.fields and "arXiv." in entry.fields["doi"]:
        assert entry.fields["doi"] == f"10.48550/arXiv.{entry.fields['eprint']}"


def test_every_cited_key_exists_and_every_entry_is_cited():
    cited = {
        key
        for _, text in sources()
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    assert cited == set(BIB.entries)


def about_entries():
    text = "".join(re.findall(r"```bibtex\n(.*?)```", dict(sources())["about"], re.S))
    return parse_string(text, "bibtex").entries


def test_cite_this_agrees_with_the_citation_file():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    (book,) = (entry for key, entry in about_entries().items() if key != "Ba2016")
    assert book.fields["title"] == cff["title"]
    assert book.fields["version"] == cff["version"]
    assert book.fields["year"] == str(cff["date-released"].year)
    authors = [" ".join(person.last_names).strip("{}") for person in book.persons["author"]]
    assert authors == [author["name"] for author in cff["authors"]]


def test_cite_this_gives_the_paper_as_the_references_do():
    assert about_entries()["Ba2016"] == BIB.entries["Ba2016"]


# The extensions, in a book of a few lines.

CHAPTER = """# Chapter of eq. 15

FIRST: eq. 15, Equation 15, eqs. 3, 15 and 16, eqs. 15-16, and, at a line's end, section
6.6 and sections 2
and 6.6; figure 6, table 1.

CODE: `eq. 15`, $x$, [section 6.6](https://example.org).

ELSEWHERE: {cite:t}`Ioffe2015`, section 3, and eq. 2 of {cite:t}`Ioffe2015`; section&nbsp;3.

OWN: {cite:t}`Ba2016`, section 2.

NUMBERS: subsection 2, section two, eqs. 3, 55,000 cases.

```
eq. 15
```
"""
ANCHORS = ("eq-3", "eq-15", "eq-16", "section-2", "section-6-6", "figure-6", "table-1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A book with the paper's anchors, two chapters and the page about it, built once."""
    book = Book(tmp_path_factory.mktemp("tiny"))
    book.add("chapter", CHAPTER, "print('eq. 15')")
    book.add("other", "# Other\n\nText.", "print(1)")
    for name, text in {
        "paper": "# Paper\n\n" + "".join(f"(paper-{a})=\nPlace {a}.\n\n" for a in ANCHORS),
        "about": "# About\n\n```{last-run}\n```\n\n```{notebooks}\n```",
    }.items():
        (book.folder / "book" / f"{name}.md").write_text(text)
        book.pages.append(name)
    done = book.build()
    assert done.returncode == 0, done.stdout
    return book


def links(html, start):
    """What the paragraph that starts so links into the paper: the words and the anchors."""
    paragraph = re.search(rf"<p>{start}: (.*?)</p>", html, re.S)[1]
    found = re.findall(r'<a class="ln-paper[^"]*" href="([^"]+)">([^<]+)</a>', paragraph)
    return [(re.sub(r"\s+", " ", words), target) for target, words in found]


def test_places_of_the_paper_become_links(tiny):
    to = "paper.html#paper-".__add__
    assert links(tiny.html("chapter"), "FIRST") == [
        ("eq. 15", to("eq-15")),
        ("Equation 15", to("eq-15")),
        ("eqs. 3", to("eq-3")),
        ("15", to("eq-15")),
        ("16", to("eq-16")),
        ("eqs. 15", to("eq-15")),
        ("16", to("eq-16")),
        ("section 6.6", to("section-6-6")),
        ("sections 2", to("section-2")),
        ("6.6", to("section-6-6")),
        ("figure 6", to("figure-6")),
        ("table 1", to("table-1")),
    ]
    assert links(tiny.html("chapter"), "OWN") == [("section 2", to("section-2"))]


def test_code_headings_links_and_other_works_stay_as_they_are(tiny):
    html = tiny.html("chapter")
    assert links(html, "CODE") == []
    assert links(html, "ELSEWHERE") == []
    assert links(html, "NUMBERS") == [("eqs. 3", "paper.html#paper-eq-3")]
    assert re.search(r"<h1>Chapter of eq. 15<a", html)
    assert len(re.findall('class="ln-paper', html)) == 14


def test_a_number_that_the_paper_has_not_fails_the_build(tiny):
    faulty = tiny.folder / "book" / "faulty.md"
    faulty.write_text("# Faulty\n\nSee eq. 99.\n\nSee section 9.9.\n")
    tiny.pages.append("faulty")
    try:
        done = tiny.build()
    finally:
        tiny.pages.remove("faulty")
        faulty.unlink()
    assert done.returncode != 0
    for words, label in (("eq. 99", "paper-eq-99"), ("section 9.9", "paper-section-9-9")):
        said = f"'{words}': the page of the paper has no anchor ({label})="
        assert any("faulty.md" in line and said in line for line in done.stdout.splitlines())


def rows(html):
    """The table of runs: cells of each row, without markup."""
    table = re.search(r'<table class="[^"]*ln-last-run[^"]*">(.*?)</table>', html, re.S)[1]
    plain = re.sub(r"<(?!/?t[rd])[^>]*>", "", table)
    return [
        [cell.strip() for cell in re.findall(r"<td>(.*?)</td>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", plain, re.S)[1:]
    ]


def when(cell):
    return datetime.strptime(cell, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def test_last_run_has_every_chapter_its_date_time_and_machine(tiny):
    table = rows(tiny.html("about"))
    assert [row[0] for row in table] == ["Start", "Chapter of eq. 15", "Other"]
    for _, date, seconds, result in table[1:]:
        assert 0 <= (datetime.now(UTC) - when(date)).total_seconds() < 24 * 3600
        assert 0 < float(seconds) < 600
        assert result == "ran to its end"
    assert re.search(rf"All ran on: \S.*, \d+ cores, .*NumPy {np.__version__}", tiny.html("about"))


def test_last_run_never_gives_a_cached_result_this_machines_name(tiny):
    (path,) = tiny.folder.glob("_build/.jupyter_cache-*/last_run.json")
    notes = json.loads(path.read_text())
    (note,) = notes["chapter"].values()
    here = note["processor"]
    note |= {"processor": "Another processor", "date": "2001-02-03 04:05"}
    path.write_text(json.dumps(notes))
    tiny.add("other", "# Other\n\nText.", "print(2)")  # the only page that runs again
    tiny.add("chapter", CHAPTER + "\nMore.", "print('eq. 15')")  # read again, from the cache
    assert tiny.build().returncode == 0
    by_name = {row[0]: row for row in rows(tiny.html("about"))}
    assert by_name["Chapter of eq. 15"][1] == "2001-02-03 04:05"
    html = unescape(tiny.html("about"))
    machines = re.findall(r"<li><p>([^<]+ cores, [^<]+)</p></li>", html)
    assert machines[int(by_name["Chapter of eq. 15"][4]) - 1].startswith("Another processor")
    assert machines[int(by_name["Other"][4]) - 1].startswith(here)

    path.unlink()  # as if the cache came from somewhere else, without its notes
    tiny.add("other", "# Other\n\nText.", "print(3)")
    tiny.add("chapter", CHAPTER, "print('eq. 15')")
    assert tiny.build().returncode == 0
    by_name = {row[0]: row for row in rows(tiny.html("about"))}
    assert by_name["Chapter of eq. 15"][1::3] == ["not known", "not known"]
    assert by_name["Other"][4] == "1"
    assert "Another processor" not in tiny.html("about")


# The built book.


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_leads_to_the_page_of_the_paper(built_book, name):
    html = (built_book / f"{name}.html").read_text("utf-8")
    targets = set(re.findall(r'href="paper\.html#(paper-[^"]+)"', html))
    assert targets
    ids = set(re.findall(r'id="([^"]+)"', (built_book / "paper.html").read_text("utf-8")))
    assert targets <= ids


def test_about_lists_every_chapter_with_its_run(built_book):
    html = (built_book / "about.html").read_text("utf-8")
    table = rows(html)
    linked = re.findall(r'<td><p><a class="reference internal" href="(\w+)\.html">', html)
    assert linked == CHAPTERS
    for row in table:
        assert row[1] == "not known" or when(row[1]) <= datetime.now(UTC)
        assert float(row[2]) > 0
        assert row[3] == "ran to its end"
    assert not re.search(r"/work/|/root/|/home/|/tmp/", re.sub(r"<[^>]*>", "", html))


def test_every_notebook_can_be_taken_as_it_is_stored(built_book):
    html = (built_book / "about.html").read_text("utf-8")
    files = re.findall(r'<a class="reference download[^"]*" download="" href="([^"]+)">', html)
    assert files == [*(f"_sources/{name}.ipynb" for name in CHAPTERS), "_downloads/chapters.zip"]
    for name in CHAPTERS:
        stored = (BOOK / f"{name}.ipynb").read_bytes()
        assert (built_book / "_sources" / f"{name}.ipynb").read_bytes() == stored
        with zipfile.ZipFile(built_book / "_downloads" / "chapters.zip") as archive:
            assert archive.read(f"{name}.ipynb") == stored
            assert len(archive.namelist()) == len(CHAPTERS)


def test_archive_is_saved_from_a_folder_and_from_a_server(visit, site):
    with visit(site, "about") as v, v.page.expect_download() as download:
        v.page.locator("a.download", has_text="archive").click()
    assert download.value.suggested_filename == "chapters.zip"


@pytest.mark.parametrize(("name", "suffix"), [(CHAPTERS[0], ".ipynb"), ("paper", ".md")])
def test_download_button_gives_the_source_of_its_page(visit, built_book, name, suffix):
    with visit(built_book.as_uri(), name) as v:
        v.page.locator(".dropdown-download-buttons > button").click()
        with v.page.context.expect_page() as opened:
            v.page.locator(".btn-download-source-button").click()
        opened.value.wait_for_load_state()
        assert opened.value.url.endswith(f"/_sources/{name}{suffix}")
        shown = opened.value.locator("body").inner_text()
    assert shown.split() == (BOOK / f"{name}{suffix}").read_text("utf-8").split()


def test_no_formula_of_the_paper_is_cut_off_on_a_phone(visit, built_book):
    with visit(built_book.as_uri(), "paper", viewport={"width": 390, "height": 844}) as v:
        v.page.evaluate("MathJax.startup.promise")
        cut = v.page.evaluate(
            "() => [...document.querySelectorAll('.ln-eq mjx-container[display]')]"
            ".filter(e => e.scrollWidth > e.clientWidth)"
            ".map(e => e.closest('.ln-eq').textContent.slice(0, 40))"
        )
        assert cut == []
        assert v.complaints == []


def test_a_shared_link_has_a_title_a_description_and_a_picture(built_book, chapter):
    source = (built_book / f"{chapter}.html").read_text("utf-8")
    found = dict(re.findall(r'<meta property="(og:[a-z:]+)" content="([^"]+)">', source))
    (heading,) = re.findall(r"<title>(.+?)(?: &#8212;.*)?</title>", source)
    assert found["og:title"] == heading.strip()
    assert 40 <= len(found["og:description"]) <= 160
    assert f'<meta name="description" content="{found["og:description"]}">' in source
    picture = built_book / found["og:image"]
    assert picture.read_bytes()[1:4] == b"PNG"
    assert picture.stat().st_size < 150_000


def test_code_is_out_of_sight_until_it_is_asked_for_and_stays_so_on_the_next_page(
    visit, built_book
):
    seen = (
        "() => [...document.querySelectorAll('details.above-input')]"
        ".map(e => [e.checkVisibility(), e.open])"
    )
    with visit(built_book.as_uri(), "start") as v:
        button = v.page.get_by_role("button", name="Show code", exact=True)
        folded = v.page.evaluate(seen)
        assert folded
        assert all(one == [False, False] for one in folded)
        button.click()
        assert all(one == [True, True] for one in v.page.evaluate(seen))
        v.page.goto(f"{built_book.as_uri()}/choose_the_axis.html")
        assert all(one == [True, True] for one in v.page.evaluate(seen))
        v.page.get_by_role("button", name="Hide code", exact=True).click()
        v.page.reload()
        assert all(one == [False, False] for one in v.page.evaluate(seen))
    with visit(built_book.as_uri(), "start", java_script_enabled=False) as v:
        bars = v.page.locator("details.above-input > summary")
        assert bars.first.is_visible()
        assert not v.page.locator(".ln-show-code").first.is_visible()


def test_paper_has_hints_and_solutions_open_and_no_bars_of_source(visit, built_book):
    shown = (
        "sel => [...document.querySelectorAll(sel)].map("
        "e => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }))"
    )
    with visit(built_book.as_uri(), "start") as v:
        assert not any(
            v.page.evaluate(
                shown, ".exercise details p, article .solution p:not(.admonition-title)"
            )
        )
        v.page.emulate_media(media="print")
        v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        hints = v.page.evaluate(shown, ".exercise details p")
        assert hints
        assert all(hints)
        assert all(v.page.evaluate(shown, "article .solution p"))
        assert not any(v.page.evaluate(shown, "details.above-input, .ln-show-code"))
        v.page.evaluate("dispatchEvent(new Event('afterprint'))")
        v.page.emulate_media(media="screen")
        assert not any(v.page.evaluate(shown, "article .solution p:not(.admonition-title)"))
