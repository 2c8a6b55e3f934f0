"""A quiz as its reader meets it: in a browser, by keyboard, without JavaScript, on paper."""

import itertools
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from lnbook.show import colors
from lnbook.show.quiz import NOT_YET, RIGHT, Quiz, bare, choose, number, order

STATIC = Path(__file__).parents[2] / "book" / "_static"
PATIENCE = 60_000  # ms; a limit against hanging, not a measure of speed
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
    right="`32`",
)
LAST = number(
    "What is the last output, in `ms`?",
    1.155,
    within=0.01,
    why="The deviation divides by H.",
    wrong={1.333: "That is the ratio of the variances.", 1.17: "Rounded too early."},
    otherwise="Subtract the mean first.",
    unit="ms",
)
STEPS = order(
    "Smallest first.",
    ["`1/4`", "*a half*", "1"],
    why="1/4 < 1/2 < 1.",
    wrong={("1", "*a half*", "`1/4`"): "You began with the largest."},
    otherwise="Compare two at a time.",
)
KEPT = "Your answers stay in this browser and are sent nowhere."
LOST = "This browser keeps no answers: they last as long as this page, and go nowhere."
NO_NUMBER = "Write a number, such as 0.25, 1/4, −3 or 2e-3."


@pytest.fixture
def write(tmp_path, monkeypatch):
    """``write(quiz, …)``: a page with them, always at the same address; ``plain`` has no script."""
    monkeypatch.setenv("LNLIB_STATIC", "1")

    style = "".join((STATIC / name).read_text("utf-8") for name in ("custom.css", "quiz.css"))
    style += colors.css()
    script = (STATIC / "quiz.js").read_text("utf-8")

    def to_file(*quizzes, plain=False):
        path = tmp_path / "page.html"
        html = "".join(quiz._repr_mimebundle_()["text/html"] for quiz in quizzes)
        path.write_text(
            PAGE.format(style=style, script="" if plain else script, quizzes=html), "utf-8"
        )
        return path.as_uri()

    return to_file


@pytest.fixture
def reader(chromium):
    """``with reader(**options) as page``: a browser of one reader, which keeps what it keeps."""

    @contextmanager
    def read(**options):
        context = chromium.new_context(**({"viewport": {"width": 1300, "height": 900}} | options))
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
    """A page with one question of each kind, just opened."""
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        yield page


def reload(page):
    """Load the page again, as a reader does: after the browser has put away what was stored.

    Chromium writes localStorage through one channel and reads it through another, with no order
    between them: a page that is loaded within milliseconds of a write may not see it yet.
    """
    stored = "JSON.stringify(Object.entries(localStorage).sort())"
    before = page.evaluate(stored)
    page.add_init_script(f"window.found = {stored}")  # before any script of the page
    for _ in range(40):
        page.reload()
        if page.evaluate("found") == before:
            return
        page.wait_for_timeout(250)
    raise AssertionError(f"what was stored is gone: {before}")


def form(page, i):
    return page.locator(".ln-form").nth(i)


def check(page, i):
    """Press the button, and return what is said."""
    form(page, i).locator(".ln-check").click()
    return said(page, i)


def said(page, i):
    return form(page, i).locator(".ln-said").inner_text()


def score(page):
    return page.locator(".ln-score").inner_text()


def items(page):
    return page.locator(".ln-sort > li > span").all_inner_texts()


def to_order(page, places):
    """Put the items of STEPS in an order, by pressing Move up."""
    for place, i in enumerate(places):
        name = bare(STEPS.items[i])
        while (at := items(page).index(name)) != place:
            page.locator(".ln-sort > li").nth(at).locator(".ln-move").first.click()


def spoken(question, answer):
    """What Python says of an answer, as the page shows it."""
    right, why = question.judge(answer)
    return f"{RIGHT if right else NOT_YET} {bare(why)}"


# Answering.


def test_a_form_takes_the_place_of_the_answers(page):
    assert page.get_by_role("group", name="How many means has x[:32]?").is_visible()
    assert page.get_by_role("radio").count() == 3
    assert page.get_by_role("radio", name="32", exact=True).is_visible()
    assert page.get_by_role("textbox", name="Your answer (ms)").is_visible()
    assert not page.locator("details, .ln-how, .ln-items").filter(visible=True).count()
    assert page.locator(".ln-ask code").filter(visible=True).all_inner_texts() == ["x[:32]", "ms"]
    assert score(page) == "0 of 3 answered, 0 right at the first try."
    assert page.locator(".ln-kept").inner_text() == KEPT


def test_each_option_gets_its_explanation_as_often_as_one_likes(page):
    assert check(page, 0) == "Choose an option first."
    assert score(page) == "0 of 3 answered, 0 right at the first try."
    for i in (0, 1, 2, 1):
        page.get_by_role("radio").nth(i).check()
        assert check(page, 0) == spoken(MEANS, i)
        marks = page.locator(".ln-option").evaluate_all("es => es.map(e => e.dataset.verdict)")
        assert marks == ["right" if i == j == 1 else "wrong" if i == j else "" for j in range(3)]
        assert score(page) == "1 of 3 answered, 0 right at the first try."
    assert page.locator(".ln-said em, .ln-option code").count() == 1


def test_the_verdict_is_a_sign_and_a_word_and_a_color_at_the_question(page):
    looks = []
    for i in (0, 1):
        page.get_by_role("radio").nth(i).check()
        check(page, 0)
        status = form(page, 0).get_by_role("status")
        assert status.get_attribute("aria-live") == "polite"
        looks.append(
            (
                status.locator("b").inner_text(),
                status.evaluate("e => getComputedStyle(e).borderLeftColor"),
            )
        )
    assert [word for word, _ in looks] == [NOT_YET, RIGHT]
    assert looks[0][1] != looks[1][1]


TYPED = """
1.155|1.165|1.1651|1,155|1155|1.155 ms|1.155MS|1.155 s|231/200|1.17|1.175|1.18|1.2515|4/3|1.333
−1.155|–1.155|-1|--1|+1.155|.5|5.|01.155|1.155.0|2e-3|1.155e0|11.55E−1|1e2/1e2|1e999|e3|0,5|12,34
1,234,567|1,23,456|60 000|60\u202f000|1 155|1 1/4|1/0|1/2/3|1/1,000|1/−3|1,155/1|-/2|/|  1.16
a lot|0x1|Infinity|NaN|٣|1_0|ms|<b>
"""


def test_the_page_reads_and_judges_numbers_as_python_does(page):
    field = page.get_by_role("textbox")
    for text in re.split(r"[|\n]", TYPED.strip("\n")):
        field.fill(text)
        expected = spoken(LAST, text) if LAST.judge(text) else NO_NUMBER
        assert (text, check(page, 1)) == (text, expected)
    assert {LAST.judge(text) for text in re.split(r"[|\n]", TYPED.strip("\n"))} >= {
        None,
        (True, LAST.why),
        *((False, why) for why in (LAST.otherwise, *dict(LAST.wrong).values())),
    }


CLOSE = number(
    "Near which?",
    0,
    within=1,
    why="Zero.",
    wrong={3: "Three.", 2: "Two.", 2.6: "Most of three."},  # each within the others' tolerance
    otherwise="Neither.",
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1", "Zero."),
        ("1.01", "Two."),
        ("2.29", "Two."),
        ("2.31", "Most of three."),
        ("2.79", "Most of three."),
        ("2.81", "Three."),
        ("4", "Three."),
        ("4.01", "Neither."),
        ("2,990", "Three."),  # 2.99, for 2990 is near nothing
        ("3/2", "Two."),
    ],
)
def test_the_nearest_known_wrong_number_explains_here_and_in_python(reader, write, text, why):
    assert CLOSE.judge(text) == (why == "Zero.", why)
    with reader() as page:
        page.goto(write(Quiz(CLOSE)))
        page.get_by_role("textbox").fill(text)
        assert check(page, 0) == spoken(CLOSE, text)


def test_a_long_text_that_is_no_number_is_read_at_once(page):
    assert LAST.judge(LONG) is None
    page.get_by_role("textbox").fill(LONG)
    assert check(page, 1) == NO_NUMBER


def test_a_text_that_is_no_number_gets_a_sentence_and_does_not_count(page):
    field = page.get_by_role("textbox")
    field.fill("<b>much</b>")
    field.press("Enter")
    assert said(page, 1) == NO_NUMBER
    assert score(page) == "0 of 3 answered, 0 right at the first try."
    field.fill("1.155")
    field.press("Enter")
    assert said(page, 1) == spoken(LAST, "1.155")
    assert score(page) == "1 of 3 answered, 1 right at the first try."
    field.fill("?")
    field.press("Enter")
    assert said(page, 1) == NO_NUMBER
    assert "verdict" not in form(page, 1).locator(".ln-said").inner_html()
    assert score(page) == "1 of 3 answered, 1 right at the first try."


def test_a_phone_offers_digits_and_a_minus_where_one_may_be_needed(reader, write):
    cold = number("How cold?", 3, why=".", otherwise=".", wrong={-3: "The sign."})
    below = number("How far below?", -3, why=".", otherwise=".", wrong={3: "The sign."})
    with reader() as page:
        page.goto(write(Quiz(LAST, cold, below)))
        modes = page.get_by_role("textbox").evaluate_all("es => es.map(e => e.inputMode)")
    assert modes == ["decimal", "text", "text"]


def test_items_start_as_python_mixed_them_and_every_order_is_judged_as_python_does(page):
    assert items(page) == [bare(STEPS.items[i]) for i in STEPS.start]
    for places in itertools.permutations(range(3)):
        to_order(page, places)
        assert check(page, 2) == spoken(STEPS, places)


def test_an_item_is_moved_by_keys_keeps_the_focus_and_says_where_it_is(page):
    first, second, third = items(page)
    mover = page.get_by_role("button", name=f"Move down: {first}")
    mover.focus()
    focused = "document.activeElement.ariaLabel"
    news = form(page, 2).get_by_role("status").first
    for key, order_now, heard in [
        ("Enter", [second, first, third], f"{first}: now 2 of 3."),
        ("Space", [second, third, first], f"{first}: now 3 of 3."),
        ("Enter", [second, third, first], f"{first}: already 3 of 3."),
    ]:
        page.keyboard.press(key)
        assert items(page) == order_now
        assert news.text_content() == heard
        assert page.evaluate(focused) == f"Move down: {first}"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == f"Move up: {first}"
    page.keyboard.press("Enter")
    assert items(page) == [second, first, third]
    at_the_end = "es => es.map(e => e.getAttribute('aria-disabled'))"
    assert page.locator(".ln-move").evaluate_all(at_the_end) == [
        *("true", "false"),
        *("false", "false"),
        *("false", "true"),
    ]


def test_what_authors_and_readers_write_is_text(reader, write):
    evil = "<img src=x onerror=alert(1)>"
    quiz = Quiz(
        choose(evil, {evil: evil, "b": "."}, right="b"),
        order(evil + "?", [evil, "b"], why=evil, otherwise=evil),
        number(evil + "!", 1, why=evil, otherwise=evil, unit=evil),
        title=evil,
    )
    with reader() as page:
        page.goto(write(quiz))
        page.get_by_role("radio").first.check()
        assert check(page, 0) == f"{NOT_YET} {evil}"
        assert check(page, 1) == f"{NOT_YET} {evil}"
        page.get_by_role("textbox").fill(evil)
        check(page, 2)
        assert page.locator("img").count() == 0


# Keeping.


def answer_all(page):
    """The first wrong then right, the second right, the third as it stands."""
    for i in (0, 1):
        page.get_by_role("radio").nth(i).check()
        check(page, 0)
    page.get_by_role("textbox").fill("1,155 ms")
    check(page, 1)
    check(page, 2)


def as_answered(page):
    return (
        page.get_by_role("radio").evaluate_all("es => es.map(e => e.checked)"),
        page.get_by_role("textbox").input_value(),
        items(page),
        [said(page, i) for i in range(3)],
        score(page),
    )


def test_a_reload_keeps_answers_and_what_was_right_at_first(page):
    fresh = as_answered(page)
    answer_all(page)
    answered = as_answered(page)
    assert answered[-1] == "3 of 3 answered, 1 right at the first try."
    reload(page)
    assert as_answered(page) == answered
    to_order(page, range(3))
    check(page, 2)
    reload(page)
    assert items(page) == ["1/4", "a half", "1"]
    assert said(page, 2) == spoken(STEPS, (0, 1, 2))
    assert score(page) == answered[-1]
    page.get_by_role("button", name="Forget my answers").click()
    assert as_answered(page) == fresh
    assert page.locator(".ln-kept").inner_text() == "Your answers are forgotten."
    assert page.evaluate("localStorage.length") == 0
    reload(page)
    assert as_answered(page) == fresh


def test_what_is_kept_has_the_page_and_the_quiz_in_its_name(page):
    answer_all(page)
    (name,) = page.evaluate("Object.keys(localStorage)")
    assert name == f"ln-quiz {page.evaluate('location.pathname')} 0"
    kept = json.loads(page.evaluate("name => localStorage[name]", name))
    right_at_first = [answer for _, answer in kept]
    assert right_at_first == [
        ["1", False],
        ["1,155 ms", True],
        [
            " ".join(map(str, STEPS.start)),
            False,
        ],
    ]


def test_a_changed_question_forgets_and_its_neighbors_do_not(reader, write):
    with reader() as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        answer_all(page)
        options = dict(MEANS.options) | {"`32`": "In other words."}
        reworded = choose(MEANS.text, options, right="`32`")
        moved = number(LAST.text, 2, why=".", otherwise=".", unit="ms")
        write(Quiz(reworded, moved, STEPS))
        reload(page)
        assert [said(page, i) for i in range(3)] == [
            f"{RIGHT} In other words.",
            "",
            spoken(STEPS, STEPS.start),
        ]
        assert page.get_by_role("textbox").input_value() == ""
        assert score(page) == "2 of 3 answered, 0 right at the first try."
        check(page, 2)
        (kept,) = page.evaluate("Object.values(localStorage)")
        assert len(json.loads(kept)) == 2, "the old answer is still there"


def test_quizzes_on_a_page_are_kept_apart(reader, write):
    with reader() as page:
        page.goto(write(Quiz(MEANS), Quiz(MEANS, title="Again")))
        page.locator(".ln-quiz").last.get_by_role("radio").first.check()
        check(page, 1)
        reload(page)
        assert [said(page, 0), said(page, 1)] == ["", spoken(MEANS, 0)]
        assert page.locator(".ln-score").all_inner_texts() == [
            "0 of 1 answered, 0 right at the first try.",
            "1 of 1 answered, 0 right at the first try.",
        ]
        page.get_by_role("button", name="Forget").first.click()
        assert said(page, 1) == spoken(MEANS, 0)


@pytest.mark.parametrize(
    "fault",
    [
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })",
        "Object.defineProperty(window, 'localStorage', { value: null })",
        "Storage.prototype.setItem = () => { throw new DOMException('full') }",
        "Storage.prototype.getItem = () => { throw new DOMException('no') }",
    ],
    ids=["throws", "missing", "full", "unreadable"],
)
def test_where_nothing_can_be_kept_it_works_and_says_so(reader, write, fault):
    with reader() as page:
        page.add_init_script(fault)
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        answer_all(page)
        assert said(page, 0) == spoken(MEANS, 1)
        assert score(page) == "3 of 3 answered, 1 right at the first try."
        assert page.locator(".ln-kept").inner_text() == LOST
        page.get_by_role("button", name="Forget").click()
        assert score(page) == "0 of 3 answered, 0 right at the first try."


@pytest.mark.parametrize("room", [0, 60], ids=["from the start", "later"])
def test_a_storage_that_is_full_by_now_is_told_and_what_it_held_is_still_shown(page, room):
    page.evaluate(
        "room => { const set = Storage.prototype.setItem; Storage.prototype.setItem ="
        "function (name, text) { if (text.length > room) throw new DOMException("
        "'full', 'QuotaExceededError'); set.call(this, name, text); } }",
        room,
    )
    page.get_by_role("radio").nth(1).check()
    assert check(page, 0) == spoken(MEANS, 1)
    assert page.locator(".ln-kept").inner_text() == (KEPT if room else LOST)
    answer_all(page)
    assert page.locator(".ln-kept").inner_text() == LOST
    assert score(page) == "3 of 3 answered, 2 right at the first try."
    page.get_by_role("button", name="Forget").click()
    assert page.locator(".ln-kept").inner_text() == "Your answers are forgotten."
    check(page, 2)
    assert page.locator(".ln-kept").inner_text() == (KEPT if room else LOST)


LONG = "1" * 100_000 + "x"
WHOLES = [
    "",
    "{",
    "null",
    "3",
    "true",
    '"text"',
    "{}",
    '{"a": 1}',
    '{"filter": 1}',
    "[[[[]]]]",
    LONG,
]


@pytest.mark.parametrize("kept", WHOLES, ids=lambda kept: kept[:12])
def test_what_is_not_ours_in_the_storage_does_no_harm(page, kept):
    page.evaluate("kept => localStorage.setItem(`ln-quiz ${location.pathname} 0`, kept)", kept)
    reload(page)
    assert score(page) == "0 of 3 answered, 0 right at the first try."
    answer_all(page)
    reload(page)
    assert score(page) == "3 of 3 answered, 1 right at the first try."


# What an entry may hold in place of [answer, right at first]: another version, another hand.
VALUES = [None, 3, True, "0", [], {}, {"answer": "0"}, ["0"], [0, True], ["0", "yes"], ["0", None]]
VALUES += [[None, True], [["0"], True], [{"toString": 1}, False], [[["0", True]], True], ["", True]]
# Texts that no question here can have been answered with.
TEXTS = ["-1", "3", "00", "0 ", " 0", "a", "__proto__", "constructor", "map", "length", "0.0"]
TEXTS += ["0 1", "0 1 2 2", "0 0 0", "0 1 3", "0,1,2", '0"], *', "1\n2", "\u0000", "1/0", LONG]


def quizzes(page):
    """Of each quiz on the page: what its questions hold, what is said of each, the score."""
    return page.locator(".ln-quiz").evaluate_all(
        "qs => qs.map(q => { const all = name => [...q.querySelectorAll(name)];"
        "return { held: [all('[type=radio]').findIndex(e => e.checked),"
        "q.querySelector('[type=text]').value, "
        "[...q.querySelector('.ln-sort').childNodes].map(e => e.dataset?.place ?? e.textContent)],"
        "said: all('.ln-said').map(e => e.textContent),"
        "score: q.querySelector('.ln-score')?.textContent } })"
    )


@pytest.mark.parametrize("place", range(3), ids=["choose", "number", "order"])
def test_an_entry_that_cannot_be_used_is_dropped_alone(page, write, place):
    (fresh,) = quizzes(page)
    answer_all(page)
    (answered,) = quizzes(page)
    ((name, kept),) = page.evaluate("Object.entries(localStorage)")
    key, *_ = json.loads(kept)[place]
    others = [entry for entry in json.loads(kept) if entry[0] != key]
    numbers = ["-1", "3", "00", "0.0"] if place == 1 else []
    wrong = [*VALUES, *([text, True] for text in TEXTS if text not in numbers)]
    entries = [[key, value] for value in wrong]
    entries += [None, 3, "text", [], [key], {}, [[key], ["0", True]], ["__proto__", ["0", True]]]

    write(*[Quiz(MEANS, LAST, STEPS)] * len(entries))  # a quiz for each
    stored = [[name[:-1] + str(i), json.dumps([e, *others])] for i, e in enumerate(entries)]
    page.evaluate("all => all.forEach(([k, v]) => localStorage.setItem(k, v))", stored)
    reload(page)
    for entry, shown in zip(entries, quizzes(page), strict=True):
        what = str(entry)[:80]
        for part in ("held", "said"):
            wanted = [*answered[part][:place], fresh[part][place], *answered[part][place + 1 :]]
            assert shown[part] == wanted, what
        assert shown["score"].startswith("2 of 3 answered, "), what
    page.get_by_role("radio").nth(1).check()  # of the first of them
    check(page, 0)
    reload(page)
    assert said(page, 0) == spoken(MEANS, 1)


# Without JavaScript, on paper, for everyone.


def test_without_javascript_it_reads_as_text_and_answers_open(reader, write):
    with reader(java_script_enabled=False) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS, title="Three questions")))
        assert page.locator(".ln-title").inner_text() == "Three questions"
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        shown = page.locator("summary").all_inner_texts()
        assert shown == [bare(option) for option, _ in MEANS.options] + ["Answer"] * 2
        assert page.locator(".ln-items li").all_inner_texts() == [
            bare(STEPS.items[i]) for i in STEPS.start
        ]
        assert page.locator("form, button, input").count() == 0
        for summary in page.locator("summary").all():
            why = summary.locator("xpath=following-sibling::p").first
            assert not why.is_visible()
            summary.focus()
            page.keyboard.press("Enter")
            assert why.is_visible()
        text = page.locator(".ln-quiz").inner_text()
        for question in (MEANS, LAST, STEPS):
            for why in re.findall(r"(?<=: )[^:]+$", "\n".join(question.answered()), re.M):
                assert bare(why) in text


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_paper_has_questions_options_and_answers(reader, write, script):
    with reader(java_script_enabled=script) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        page.emulate_media(media="print")
        assert page.locator("p.ln-ask").filter(visible=True).count() == 3
        assert page.locator("summary").filter(visible=True).count() == 5
        assert page.locator(".ln-items li").filter(visible=True).count() == 3
        whys = page.locator("details p")
        assert whys.filter(visible=True).count() == whys.count() == 3 + 4 + 3
        assert page.locator(".ln-form, .ln-foot").filter(visible=True).count() == 0


@pytest.mark.parametrize("state", ["fresh", "answered", "plain"])
@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(reader, write, violations, theme, width, state):
    with reader(color_scheme=theme, viewport={"width": width, "height": 900}) as page:
        quizzes = Quiz(MEANS, LAST, STEPS, title="Three"), Quiz(LAST)
        page.goto(write(*quizzes, plain=state == "plain"))  # axe itself needs JavaScript
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        if state == "answered":
            page.get_by_role("radio").nth(2).check()
            check(page, 0)
            page.get_by_role("textbox").first.fill("1.155")
            check(page, 1)
            page.get_by_role("button", name="Forget").last.click()
        if state == "plain":
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert violations(page) == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_phone_scrolls_down_only_and_fingers_find_every_target(reader, write, script):
    phone = {"width": 390, "height": 844}
    long = choose("Which? " + "m" * 80, {"n" * 80: "o" * 80, "b": "."}, right="b")
    with reader(viewport=phone, java_script_enabled=script) as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS, long)))
        for i in (0, 3) if script else ():
            page.locator(".ln-form").nth(i).get_by_role("radio").first.check()
            check(page, i)
        targets = page.locator(".ln-option, button, .ln-number input, summary").filter(visible=True)
        boxes = [target.bounding_box() for target in targets.all()]
        assert len(boxes) >= 7
        assert min(min(box["width"], box["height"]) for box in boxes) >= 40
        assert max(box["x"] + box["width"] for box in boxes) <= phone["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]


def test_the_focus_is_seen_and_nothing_moves_by_itself(reader, write):
    with reader(reduced_motion="reduce") as page:
        page.goto(write(Quiz(MEANS, LAST, STEPS)))
        page.locator("h1").click()
        stops = set()
        for _ in range(13):  # more than there are
            page.keyboard.press("Tab")
            name, width, style = page.evaluate(
                "() => { const e = document.activeElement, s = getComputedStyle(e);"
                "return [e.ariaLabel || e.textContent || e.type, s.outlineWidth, s.outlineStyle] }"
            )
            if "A page" in name:
                break
            stops.add(name)
            assert style != "none", name
            assert float(width.removesuffix("px")) >= 1, name
        assert stops == {
            "radio",
            "Check",
            "text",
            "Forget my answers",
            *(f"Move {way}: {bare(item)}" for way in ("up", "down") for item in STEPS.items),
        }
        moving = page.locator(".ln-quiz *").evaluate_all(
            "es => es.filter(e => { const s = getComputedStyle(e);"
            "return s.transitionDuration !== '0s' || s.animationName !== 'none' }).length"
        )
        assert moving == 0


# The chapters.


def test_every_question_of_a_chapter_answers_to_the_keyboard(visit, built_book, chapter):
    with visit(built_book.as_uri(), chapter) as v:
        forms = v.page.query_selector_all(".ln-quiz[data-ready] .ln-form")
        assert len(forms) == v.page.locator(".ln-question").count()
        if not forms:
            pytest.skip("no quiz on this page")
        for form in forms:
            question = form.evaluate_handle("f => f.parentElement").as_element()
            for right, verdict in ((False, NOT_YET), (True, RIGHT)):
                answer_by_keys(v.page, question, form, right)
                status = form.query_selector(".ln-said")
                why = [e.text_content() for e in question.query_selector_all("span[data-right]")]
                assert status.inner_text().startswith(verdict + " ")
                assert (status.text_content() == f"{verdict} {why[0]}") == right
                assert status.get_attribute("role") == "status"
        for line in v.page.locator(".ln-score").all_inner_texts():
            assert re.fullmatch(r"(\d+) of \1 answered, 0 right at the first try\.", line)
        assert v.outside == []
        assert v.complaints == []


def answer_by_keys(page, question, form, right):
    """Give a right or a wrong answer with keys alone, beginning at the form's first control."""
    keys, kind = page.keyboard, question.get_attribute("data-kind")
    form.query_selector("input, button").focus()
    if kind == "choose":
        truth = question.eval_on_selector_all(
            "details", "es => es.map(e => !!e.querySelector('[data-right]'))"
        )
        radios = form.query_selector_all("input")
        (checked or radios[0]).focus() if (checked := form.query_selector(":checked")) else None
        keys.press("Space")
        while not radios[truth.index(right)].is_checked():
            keys.press("ArrowDown")
    elif kind == "number":
        answer, within = (float(question.get_attribute(f"data-{n}")) for n in ("answer", "within"))
        keys.press("ControlOrMeta+a")
        keys.type(repr(answer if right else 3 * abs(answer) + 2 * within + 7))
    elif right:  # at the start the order is wrong
        rows = "es => es.map(e => Number(e.dataset.place))"
        count = len(question.eval_on_selector_all(".ln-sort > li", rows))
        for place in range(count):
            while (now := question.eval_on_selector_all(".ln-sort > li", rows))[place] != place:
                form.query_selector_all(".ln-sort > li")[now.index(place)].query_selector(
                    ".ln-move"
                ).focus()
                keys.press("Enter")
    while page.evaluate("document.activeElement.className") != "ln-check":
        keys.press("Tab")
    keys.press("Enter")
