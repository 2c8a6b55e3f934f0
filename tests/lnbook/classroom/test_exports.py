"""Exported quizzes and glossary: complete, with correct special characters."""

import ast
import contextlib
import html
import io
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


def test_moodle_and_the_page_accept_the_same_numbers(moodle):
    every = [q for of in quizzes.quizzes().values() for q in of if q.kind == "number"]
    exported = [q for q in moodle if q.get("type") == "numerical"]
    for question, exported_question in zip(every, exported, strict=True):
        right = exported_question.find("answer[@fraction='100']")
        answer, tolerance = float(right.findtext("text")), float(right.findtext("tolerance"))
        for away in (0, 0.99 * question.atol, -0.99 * question.atol, 1.01 * question.atol):
            judged = question.judge(repr(question.answer + away))
            assert judged[0] == (abs(question.answer + away - answer) <= tolerance), question.text


@pytest.mark.parametrize(
    "text", ["*Not* `2 * 3`, but 2*3*4 < a_b_c", "0.9**10 ~~ $5$ | # & &amp; \\ <b>", "- nor this"]
)
def test_special_characters_survive_markdown(text):
    rendered = MarkdownIt("commonmark").render("- " + quizzes.escaped(text))
    plain = re.sub(r"</?(ul|li|ol|p)[^>]*>", "", rendered).strip()
    assert html.unescape(plain) == html.unescape(markup(text))


def test_markdown_contains_every_question_and_its_answer(files, every_quiz):
    rendered = html.unescape(MarkdownIt("commonmark").render(files["quizzes.md"]))
    for _, text in every_quiz:
        assert f"<p>{html.unescape(markup(text))}</p>" in rendered
    lists = re.findall(r"\n<li>\n<p>", rendered)
    assert len(lists) == 2 * len(every_quiz)  # question and answer


def test_the_deck_has_a_card_for_every_glossary_entry(files, tmp_path):
    page = (BOOK / "glossary.md").read_text("utf-8")
    block = page.partition("```{glossary}\n")[2].partition("```")[0]
    terms = [line for line in block.splitlines() if line and not line.startswith(" ")]
    with zipfile.ZipFile(io.BytesIO(files["glossary.apkg"])) as package:
        path = package.extract("collection.anki2", tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as collection:
        notes = [fields for (fields,) in collection.execute("select flds from notes")]
    fronts = re.split(r"\n|<br>", "\n".join(note.split("\x1f")[0] for note in notes))
    assert [html.unescape(re.sub("<[^>]+>", "", front)) for front in fronts] == terms


def test_cards_have_formulas_for_anki_and_no_myst_markup():
    for _, _, back in glossary.cards():
        assert not re.search(r"\$|\{\w|`", back.replace(r"\mathbf{", "").replace(r"\mathbb{", ""))
        assert back.count(r"\(") == back.count(r"\)")
        ET.fromstring(f"<p>{back}</p>")  # every tag is closed, every sign written


def test_one_command_writes_all_exports(tmp_path, capsys):
    assert main(["export", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out.split()
    assert [Path(path).name for path in text] == list(exports.FILES)
    assert all(Path(path).stat().st_size > 10_000 for path in text)


def test_moodle_xml_contains_every_question_once_with_feedback_and_one_right_answer(
    moodle, every_quiz
):
    wanted = sorted((KINDS[kind], f"<p>{markup(text)}</p>") for kind, text in every_quiz)
    got = [(q.get("type"), q.findtext("questiontext/text")) for q in moodle]
    assert sorted((kind, text.split("<p>(in ")[0]) for kind, text in got) == wanted
    assert len({q.findtext("idnumber") for q in moodle}) == len(moodle)
    for question in moodle:
        answers = question.findall("answer")
        assert [a.get("fraction") for a in answers].count("100") == 1
        assert len({a.findtext("text") for a in answers}) == len(answers) >= 2
        for answer in answers:
            assert re.fullmatch("<p>.+</p>", answer.findtext("feedback/text"))
