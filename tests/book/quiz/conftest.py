"""A quiz with three questions in a browser, and its reader."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from lnbook.show import Quiz, choose
from lnbook.widgets.quiz import WEB
from lnbook.widgets.quiz.texts import NOT_YET, RIGHT, plain_text
from tests.book.conftest import DESK, PATIENCE
from tests.cases.quiz_questions import LAST, STEPS

STATIC = Path(__file__).parents[3] / "book" / "_static"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><style>
html {{ color-scheme: light dark; font: 16px/1.6 sans-serif; --pst-color-text-base: #222832;
  --pst-color-text-muted: #48566b; --pst-color-background: #fff }}
html[data-theme="dark"] {{ --pst-color-text-base: #ced6dd; --pst-color-text-muted: #9ca4af;
  --pst-color-background: #121212 }}
* {{ box-sizing: border-box }} body {{ margin: 0 auto; padding: 1rem; max-width: 50rem;
  background: var(--pst-color-background); color: var(--pst-color-text-base) }}</style>
<style>{style}</style>
<script>document.documentElement.dataset.theme =
  matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"</script>
<script>{script}</script></head>
<body class="bd-article"><main><h1>A page</h1>{quizzes}</main></body></html>"""
MEANS = choose(
    "How many *means* has `x[:32]`?",
    {
        "1": "One mean over the <table> would mix examples.",
        "`32`": "One for each example, if x < 2 & y.",
        "100, which is rather a long option, so that on a phone it takes two lines or more": "That "
        "is *batch norm*.",
    },
    answer="`32`",
)
KEPT = "Your answers stay in this browser and are not sent anywhere."
LOST = (
    "This browser cannot store answers: they last until you leave this page and are not sent "
    "anywhere."
)
NO_NUMBER = "Write a number, such as 0.25, 1/4, −3, or 2e-3."


@pytest.fixture
def write(tmp_path, monkeypatch):
    """``write(quiz, …)``: a page at a fixed address; with ``plain`` it has no script."""
    monkeypatch.setenv("LNLIB_STATIC", "1")

    style = (STATIC / "custom.css").read_text("utf-8") + WEB.complete_style()
    script = WEB.book()

    def to_file(*quizzes, plain=False):
        path = tmp_path / "page.html"
        html = "".join(quiz._repr_mimebundle_()["text/html"] for quiz in quizzes)
        path.write_text(
            PAGE.format(style=style, script="" if plain else script, quizzes=html), "utf-8"
        )
        return path.as_uri()

    return to_file


@pytest.fixture
def reader(browser):
    """``with reader(**options) as page``: the browser of one reader, with its own storage."""

    @contextmanager
    def read(**options):
        context = browser.new_context(**({"viewport": DESK} | options))
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        complaints = []
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("console", lambda m: complaints.append(m.text))
        page.on("request", lambda r: r.url.startswith("file:") or complaints.append(r.url))
        page.on("websocket", lambda w: complaints.append(w.url))
        try:
            yield page
            assert complaints == []
        finally:
            context.close()

    return read


@pytest.fixture
def page(reader, write):
    """A new page with one question of each kind."""
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        yield page


def reload(page):
    """Reload the page after the browser has stored everything, as for a real reader.

    Chromium writes localStorage through one channel and reads it through another, without a defined
    order: a page that is loaded within milliseconds of a write might not see it.
    """
    stored = "JSON.stringify(Object.entries(localStorage).sort())"
    before = page.evaluate(f"window.name = {stored}")  # the name of a tab survives a reload
    # Before any script of the page, which would store incomplete data again.
    page.add_init_script(f"window.found = {stored}; if (name && name !== found) stop()")
    for _ in range(40):
        page.reload(wait_until="commit")
        if page.evaluate("found") == before:
            page.wait_for_load_state()
            page.evaluate("window.name = ''")
            return
        page.wait_for_timeout(250)
    raise AssertionError(f"what was stored is gone: {before}")


def form(page, i):
    return page.locator(".ln-form").nth(i)


def check(page, i):
    """Press the button and return the message."""
    form(page, i).locator(".ln-check").click()
    return feedback(page, i)


def feedback(page, i):
    return form(page, i).locator(".ln-said").inner_text()


def score(page):
    return page.locator(".ln-score").inner_text()


def items(page):
    return page.locator(".ln-sort > li > span").all_inner_texts()


def to_order(page, places):
    """Reorder the items of STEPS with the button Move up."""
    for place, i in enumerate(places):
        name = plain_text(STEPS.items[i])
        while (at := items(page).index(name)) != place:
            page.locator(".ln-sort > li").nth(at).locator(".ln-move").first.click()


def spoken(question, answer):
    """The message of Python for an answer, as the page shows it."""
    right, why = question.judge(answer)
    return f"{RIGHT if right else NOT_YET} {plain_text(why)}"


def answer_all(page):
    """Answer the first question wrong and then right, the second right, the third unchanged."""
    for i in (0, 1):
        page.get_by_role("radio").nth(i).check()
        check(page, 0)
    page.get_by_role("textbox").fill("1,155 ms")
    check(page, 1)
    check(page, 2)


LONG = "1" * 100_000 + "x"
