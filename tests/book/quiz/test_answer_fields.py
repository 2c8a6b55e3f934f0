"""Fields below exercises: valid inputs, and the same results as the Python exercises."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from lnbook import exercises
from lnbook.exercises import Function, Value
from lnbook.widgets.quiz.answer_field import answer_field, check_data
from lnbook.widgets.quiz.texts import plain_text
from tests.book.conftest import PHONE
from tests.book.quiz.conftest import WEB, reload
from tests.cases.themed_page import themed

NAMES = [name for name in exercises.names() if check_data(exercises.find(name))]
NUMBERS = [name for name in NAMES if isinstance(exercises.find(name), Value)]
# Correct expressions, then wrong ones; Python determines which is which, and why.
EXPRESSIONS = {
    "least-time": [
        "max(flops / flops_per_second, bytes_moved / bytes_per_second)",
        "flops / flops_per_second + bytes_moved / bytes_per_second",
        "flops * bytes_moved",
    ],
    "around-the-ring": [
        "(devices - 1) * (delay + size / speed)",
        "devices * (delay + size / speed)",
        "ceil(log2(devices)) * delay + (devices - 1) * size / speed",
    ],
    "variance": ["sqrt(batch_size / (batch_size - 1))", "batch_size / (batch_size - 1)", "1.1547"],
    "largest-normalized-feature": ["sqrt(H - 1)", "sqrt(H)", "H / 2"],
    "warm-up-rate": [
        "highest * min(1, (update + 1) / max(warm_up, 1))",
        "highest * min(1, (update + 1) / warm_up)",
        "update",
    ],
    "output-variance": [
        "sqrt((after - before) / (2 * N * v))",
        "sqrt((after - before) / (N * v))",
        "sqrt((after - before) / (2.0001 * N * v))",
    ],
    "keep-the-scale": [
        "sqrt(2 / ((1 + slope**2) * inputs))",
        "(2 / inputs / (1 + slope * slope)) ** 0.5",
        "1 / sqrt(inputs)",
        "2 / ((1 + slope**2) * inputs)",
        "inputs + slope",
    ],
}
READ = {
    "1/3": 1 / 3, ".5": 0.5, "5.": 5, "1E+3": 1e3, " 7 ": 7, "−2": -2, "-2^2": -4, "(-2)^2": 4,
    "2^-1": 0.5, "2**3**2": 512, "2 * -3": -6, "8/2/2": 2, "2×3·4÷8": 3, "√2": 2**0.5,
    "√(1 + 3)": 2, "2 * π": math.tau, "np.sqrt(4)": 2, "math.log(e)": 1, "3²": 9,
    "exp(0) + ln(1)": 1, "max(1, 2, 3)": 3, "min(sqrt(4), 3)": 2, "factor = 36": 36,
    "256,192": 256192, "60 000": 60000, "--2": 2,
}  # fmt: skip
LISTS = {
    "1, 2, 3": [1, 2, 3], "[1, 1/2, -3]": [1, 0.5, -3], "1 2 3": [1, 2, 3],
    "[[1], [2], [3]]": [1, 2, 3], "1; 2; 3": [1, 2, 3], "a, b, c = 1, 2, 3": [1, 2, 3],
}  # fmt: skip
POINT = "Write decimals with a point"
UNREAD = {
    "0,333": POINT, "sqrt(2,5)": POINT, "": "Write a", "abc": "Write a", "2pi": "Write a number",
    "1.2.3": "Write a number", "8 GiB": "Write a", "sqrt 2": "Write a", "1 +": "Write a",
    "(1": "A closing parenthesis", "1)": "Write a", "alert(1)": "Write a",
    "constructor": "Write a", "__proto__": "Write a", "1e999": "Write a",
    "(" * 1000: "This is too long",
}  # fmt: skip
SCRIPTS = (WEB,)


def read(page, text, *args):
    """The numbers that the page reads, or its message."""
    return page.evaluate(
        "([text, ...more]) => { try { return lnExpressions.read(text, ...more) }"
        " catch (error) { return error.message } }",
        [text, *args],
    )


def test_accepted_and_rejected_numbers(scripts):
    for text, value in READ.items():
        assert read(scripts, text) == [pytest.approx(value, rel=1e-14)], text
    for text, message in UNREAD.items():
        assert message in read(scripts, text), text
    for text in ("1/0", "sqrt(-1)", "min(1, 1/0)", "log(0)"):
        assert scripts.evaluate("t => Number.isFinite(lnExpressions.read(t)[0])", text) is False


def test_accepted_and_rejected_lists(scripts):
    for text, values in LISTS.items():
        assert read(scripts, text, 3) == values, text
    for text in ("0,5, 1, 2", "1, 2", "1", "1 2 3 4", ""):
        assert "Write 3 numbers" in read(scripts, text, 3), text


def test_expressions_only_use_the_variables_of_the_exercise(scripts):
    cases = [{"n": 2, "H": 3}, {"n": 5, "H": 4}]
    assert read(scripts, "n * H + n", 1, cases) == [8, 25]
    assert "may contain n, H." in read(scripts, "n * h", 1, cases)
    assert "Write a number" in read(scripts, "n H", 1, cases)


# All exercises.


def starter(name):
    exercise = exercises.find(name)
    if isinstance(exercise, Value):
        return f'answer = ...\nexercises.check("{name}", answer)'
    return f'def f(x):\n    return ...\n\n\nexercises.check("{name}", f)'


def fields(names):
    """Exercises with a hint and a field each."""
    hint = "<details><summary>Hint 1</summary>Think.</details>"
    html = "".join(
        f'<div class="exercise" id="{name}"><p>Task.</p>{hint}'
        f"{answer_field(name, exercises.find(name), starter(name))}</div>"
        for name in names
    )
    return SimpleNamespace(to_html=lambda: html)


@pytest.fixture(scope="module")
def page(browse):
    """A page with the fields of all exercises."""
    return browse(themed(WEB, fields(NAMES)))


def answer(page, name, texts):
    """The message for each text in the field of an exercise."""
    return page.evaluate(
        """([name, texts]) => texts.map((text) => {
          const field = document.querySelector(`[data-name="${name}"]`);
          field.querySelector("input").value = text;
          field.querySelector(".ln-check").click();
          return field.querySelector(".ln-said").textContent;
        })""",
        [name, texts],
    )


def typed(value):
    return repr(np.asarray(value, float).tolist())


def expected(exercise, answer):
    """The beginning of the page's message, which equals Python's except for the last sentence."""
    feedback = exercise.feedback(answer)
    if feedback is None:
        return f"✓ Right. {plain_text(exercise.on_success).replace('`', '')}"
    if isinstance(exercise, Value) and feedback.endswith(f"is not the answer; {exercise.hint}"):
        feedback = f"{exercise.hint} Hint 1 may help."
    known = (
        exercise.misconceptions.values() if isinstance(exercise, Value) else exercise.misconceptions
    )
    if isinstance(exercise, Function) and feedback not in known:
        feedback = "for "
    return f"✗ Not yet: {plain_text(feedback).replace('`', '')}"


@pytest.mark.parametrize("name", NUMBERS)
def test_the_page_checks_numbers_as_the_exercise_does(page, name):
    exercise = exercises.find(name)
    right = np.asarray(exercise.answer, float)
    answers = [right, *(np.broadcast_to(wrong, right.shape) for wrong in exercise.misconceptions)]
    answers += [-right, 2 * right, right / 2, 10 * right, right + 1, right**2, 0 * right]
    answers += [right.ravel()[::-1].reshape(right.shape), np.full(right.shape, 1e9)]
    for unit in np.eye(right.size).reshape(-1, *right.shape):
        answers += [right + k * exercise.tolerance * unit for k in (-1.1, -0.9, 0.9, 1.1)]
    texts = answer(page, name, [typed(value) for value in answers])
    for value, text in zip(answers, texts, strict=True):
        assert text == expected(exercise, value), value
    rights = [text.startswith("✓") for text in texts[1 : 1 + len(exercise.misconceptions)]]
    assert not any(rights)
    assert texts[0].startswith("✓")


def test_every_field_for_expressions_is_tested():
    assert set(EXPRESSIONS) == set(NAMES) - set(NUMBERS)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_page_checks_expressions_as_the_exercise_checks_functions(page, name):
    exercise = exercises.find(name)
    texts = EXPRESSIONS[name]
    variables = ", ".join(check_data(exercise)["cases"][0])
    known = {f: getattr(math, f) for f in ("sqrt", "ceil", "log2")}
    functions = [eval(f"lambda {variables}: {text}", known) for text in texts]
    answers = answer(page, name, texts)
    for function, text, said in zip(functions, texts, answers, strict=True):
        assert said.startswith(expected(exercise, function)), text
    assert answers[0].startswith("✓")
    assert sum(said.startswith("✗ Not yet: for ") for said in answers) <= len(answers) - 2


def test_the_page_does_not_reveal_answers():
    for name in NAMES:
        element = answer_field(name, exercises.find(name), starter(name))
        shown = re.sub(r' data-(key="\w{8}"|check="[\w+/=]+")', "", element)
        assert shown == f'<div class="ln-answer-field" data-kind="field" data-name="{name}"></div>'


# One field in a browser.


@pytest.mark.every_browser
def test_answers_are_stored_like_those_of_a_quiz(browse):
    page = browse(themed(WEB, fields(["same-run", "flat-directions"])))
    field = page.get_by_label("Your answer: answer =").first
    said = page.locator(".ln-said").first
    assert not page.locator(".ln-foot").first.is_visible()
    field.fill("0.1")
    field.press("Enter")
    assert said.inner_text().startswith("✗ Not yet: ")
    field.fill("0.5")
    page.get_by_role("button", name="Check").first.click()
    assert said.inner_text().startswith("✓ Right. ")
    assert said.get_attribute("aria-live") == "polite"
    reload(page)
    assert [field.input_value(), said.inner_text()[:8]] == ["0.5", "✓ Right."]
    assert page.evaluate("Object.keys(localStorage).map(k => k.split(' ').at(-1))") == ["same-run"]
    page.get_by_role("button", name="Delete my answer").click()
    assert [field.input_value(), said.inner_text()] == ["", ""]
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_fields_fit_on_a_phone_and_are_accessible(browse, violations, theme):
    shown = fields(["two-units", "least-time", "same-run"])
    page = browse(themed(WEB, shown, theme=theme), viewport=PHONE)
    for i, text in enumerate(["1", "flops", "0.5"]):
        page.locator(".ln-answer-field input").nth(i).fill(text)
        page.locator(".ln-check").nth(i).click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_pages_of_the_book_have_these_fields(built_book):
    texts = [path.read_text("utf-8") for path in built_book.glob("*.html")]
    pattern = r'class="ln-answer-field" [^>]*data-name="([^"]+)"'
    assert {name for text in texts for name in re.findall(pattern, text)} == set(NAMES)
