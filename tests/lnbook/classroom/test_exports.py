"""Exported quizzes and glossary: complete, with correct special characters."""

import ast
import contextlib
import html
import io
import json
import re
import sqlite3
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt

from lnbook.__main__ import main
from lnbook.classroom import exports, glossary, quizzes
from lnbook.widgets.quiz import choose, order
from lnbook.widgets.quiz.texts import markup

BOOK = Path(__file__).parents[3] / "book"
KINDS = {"choose": "multichoice", "order": "multichoice", "number": "numerical"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    paths = exports.write(tmp_path_factory.mktemp("x"))
    texts = (".xml", ".md")
    return {p.name: p.read_text("utf-8") if p.suffix in texts else p.read_bytes() for p in paths}


@pytest.fixture(scope="module")
def every_quiz():
    """Kind and text of every question, read from the code of the notebooks."""
    results = []
    for path in sorted(BOOK.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and cell.source.startswith("Quiz("):
                for call in ast.parse(cell.source).body[0].value.args:
                    results.append((call.func.id, ast.literal_eval(call.args[0])))
    return results


@pytest.fixture(scope="module")
def moodle(files):
    """The questions in the Moodle file, without the categories."""
    root = ET.fromstring(files["quizzes-moodle.xml"].partition("\n")[2])
    assert root.tag == "quiz"
    return [q for q in root if q.get("type") != "category"]


def test_moodle_xml_contains_every_question_once(moodle, every_quiz):
    wanted = sorted((KINDS[kind], f"<p>{markup(text)}</p>") for kind, text in every_quiz)
    got = [(q.get("type"), q.findtext("questiontext/text")) for q in moodle]
    assert sorted((kind, text.split("<p>(in ")[0]) for kind, text in got) == wanted
    numbers = [q.findtext("idnumber") for q in moodle]
    assert len(set(numbers)) == len(moodle) == len(every_quiz) > 70


def test_every_answer_has_feedback_and_one_is_right(moodle):
    for question in moodle:
        answers = question.findall("answer")
        assert [a.get("fraction") for a in answers].count("100") == 1
        assert len(answers) >= 2
        texts = [a.findtext("text") for a in answers]
        assert len(texts) == len(set(texts))
        for answer in answers:
            assert re.fullmatch("<p>.+</p>", answer.findtext("feedback/text"))


def test_moodle_and_the_page_accept_the_same_numbers(moodle):
    every = [q for of in quizzes.quizzes().values() for q in of if q.kind == "number"]
    exported = [q for q in moodle if q.get("type") == "numerical"]
    for question, exported_question in zip(every, exported, strict=True):
        right = exported_question.find("answer[@fraction='100']")
        answer, tolerance = float(right.findtext("text")), float(right.findtext("tolerance"))
        for away in (0, 0.99 * question.atol, -0.99 * question.atol, 1.01 * question.atol):
            judged = question.judge(repr(question.answer + away))
            assert judged[0] == (abs(question.answer + away - answer) <= tolerance), question.text


def test_special_characters_survive_xml_and_html():
    text = 'Is `a < b && "c"` *not* 2*3*4 > x_1, or ]]> and é?'
    question = choose(text, {"<b>": "& so.", "`</p>`": "Or *so*."}, answer="<b>")
    root = ET.Element("quiz")
    quizzes._question(root, question)
    (element,) = ET.fromstring(ET.tostring(root))
    back = element.findtext("questiontext/text")
    plain = text.replace("`", "").replace("*not*", "not")
    assert html.unescape(re.sub(r"</?(p|em|code)>", "", back)) == plain
    answers = [a.findtext("text") for a in element.findall("answer")]
    assert answers == ["&lt;b&gt;", "<code>&lt;/p&gt;</code>"]


def test_ordering_questions_include_all_known_misconceptions():
    items = ["one", "two", "three"]
    wrong = {("two", "one", "three"): "Two is more than one."}
    question = order("Least first.", items, why="Count.", hint="Count again.", misconceptions=wrong)
    options = {option: (right, why) for option, right, why in quizzes._options(question)}
    assert options["one → two → three"] == (True, "Count.")
    assert options["two → one → three"] == (False, "Two is more than one.")
    assert options["three → two → one"] == (False, "Count again.")


@pytest.mark.parametrize(
    "text",
    [
        "*Not* `2 * 3`, but 2*3*4 < a_b_c",
        "0.9**10 and x[0] ~~ $5$ | # & &amp; \\ <b>",
        "`nn.LayerNorm([T, C])` on (batch, time, channel)",
        "an *em_pha_sis* here",
        "1. not a list",
        "- nor this",
    ],
)
def test_special_characters_survive_markdown(text):
    rendered = MarkdownIt("commonmark").render("- " + quizzes.escaped(text))
    plain = re.sub(r"</?(ul|li|ol|p)[^>]*>", "", rendered).strip()
    assert html.unescape(plain) == html.unescape(markup(text))


def test_markdown_contains_every_question_and_its_answer(files, every_quiz):
    rendered = html.unescape(MarkdownIt("commonmark").render(files["quizzes.md"]))
    for _, text in every_quiz:
        assert f"<p>{html.unescape(markup(text))}</p>" in rendered
    assert rendered.count("<h3>Answers</h3>") == rendered.count("<h2>") == len(quizzes.quizzes())
    lists = [re.findall(r"\n<li>\n<p>", part) for part in rendered.split("<h3>Answers</h3>")]
    assert sum(map(len, lists)) == 2 * len(every_quiz)  # question and answer


# Anki's package: a collection in SQLite, zipped.


@pytest.fixture(scope="module")
def deck(files, tmp_path_factory):
    """The package's note types by number, its notes, and its decks' names."""
    folder = tmp_path_factory.mktemp("anki")
    with zipfile.ZipFile(io.BytesIO(files["glossary.apkg"])) as package:
        path = package.extract("collection.anki2", folder)
    with contextlib.closing(sqlite3.connect(path)) as collection:
        (models, decks), *_ = collection.execute("select models, decks from col")
        notes = collection.execute("select guid, mid, tags, flds from notes").fetchall()
    return json.loads(models), notes, [deck["name"] for deck in json.loads(decks).values()]


def test_the_deck_has_a_card_for_every_glossary_entry(deck):
    page = (BOOK / "glossary.md").read_text("utf-8")
    block = page.partition("```{glossary}\n")[2].partition("```")[0]
    defined = [line for line in block.splitlines() if line.startswith("  ")]
    terms = [line for line in block.splitlines() if line and not line.startswith(" ")]
    _, notes, _ = deck
    assert len(notes) == len(defined) > 50
    fronts = re.split(r"\n|<br>", "\n".join(note[3].split("\x1f")[0] for note in notes))
    assert [html.unescape(re.sub("<[^>]+>", "", front)) for front in fronts] == terms


def test_cards_have_formulas_for_anki_and_no_myst_markup():
    backs = {name.removeprefix("layer-norm-"): back for name, _, back in glossary.cards()}
    for back in backs.values():
        assert not re.search(r"\$|\{\w|`", back.replace(r"\mathbf{", "").replace(r"\mathbb{", ""))
        assert back.count(r"\(") == back.count(r"\)")
        ET.fromstring(f"<p>{back}</p>")  # every tag is closed, every sign written
    assert r"\(\lambda / \|W\|^2\)" in backs["effective-learning-rate"]
    assert "Ioffe and Szegedy (2015)" in backs["covariate-shift"]
    assert "(Zhang and Sennrich 2019)" in backs["rms-normalization"]
    assert "<i>What normalization costs: operations, memory, time</i>" in backs["memory-bound"]


def test_one_command_writes_all_exports(tmp_path, capsys):
    assert main(["export", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out.split()
    assert [Path(path).name for path in text] == list(exports.FILES)
    assert all(Path(path).stat().st_size > 10_000 for path in text)
