"""Every exercise of the book, and the engine that says what is wrong with an answer."""

import sys
import types

import numpy as np
import pytest
import torch

from lnbook import _words, exercises
from lnbook.exercises import Function, Measured, Text, Value

NAMES = exercises.names()


def of(kind):
    return [name for name in NAMES if isinstance(exercises.find(name), kind)]


def misconceptions(kind):
    return [
        pytest.param(name, wrong, sentence, id=f"{name}-{i}")
        for name in of(kind)
        for i, (wrong, sentence) in enumerate(pairs(exercises.find(name)))
    ]


def pairs(exercise):
    """Wrong answer and what is said of it."""
    if isinstance(exercise, Function):
        return [(wrong, sentence) for sentence, wrong in exercise.wrong.items()]
    return list(exercise.wrong.items())


def numeric(name):
    """Whether a function returns numbers rather than a text."""
    exercise = exercises.find(name)
    return not isinstance(exercise.run(exercise.reference)[0].result, str)


NUMERIC = [name for name in of(Function) if numeric(name)]


def spoiled(reference, spoil):
    """A function as the reference but for its result, or the first of several."""

    def answer(*args):
        result = reference(*args)
        if isinstance(result, tuple):
            return spoil(np.asarray(result[0], float)), *result[1:]
        return spoil(np.asarray(result, float))

    return answer


# Every exercise of every chapter.


@pytest.mark.parametrize("name", of(Function))
def test_the_reference_is_right(name):
    exercise = exercises.find(name)
    assert exercise.fault(exercise.reference) is None


@pytest.mark.parametrize("name", of(Value | Text))
def test_the_answer_is_right(name):
    exercise = exercises.find(name)
    assert exercise.fault(exercise.answer) is None


@pytest.mark.parametrize(("name", "wrong", "sentence"), misconceptions(Function | Value | Text))
def test_a_misconception_is_told_by_its_own_sentence(name, wrong, sentence):
    exercise = exercises.find(name)
    if isinstance(exercise, Value):
        wrong = np.broadcast_to(wrong, np.shape(exercise.answer))
    assert exercise.fault(wrong) == sentence


@pytest.mark.parametrize(("name", "wrong", "sentence"), misconceptions(Function))
def test_a_misconception_returns_something_in_one_case_at_least(name, wrong, sentence):
    assert any(run.error is None for run in exercises.find(name).run(wrong))


@pytest.mark.parametrize("name", NAMES)
def test_the_starter_is_told_to_be_one(name, capsys):
    exercises.check(name, ...)
    assert capsys.readouterr().out == (
        "Not yet: the answer is still `...`; put yours in its place.\n"
    )


@pytest.mark.parametrize("name", of(Function))
@pytest.mark.parametrize(
    ("result", "said"),
    [
        (..., "the function still returns `...`; put your code in its place."),
        ((..., ...), "the function still returns `...`; put your code in its place."),
        (None, "the function returns nothing; end it with `return` and what you have computed."),
    ],
    ids=["dots", "two-dots", "none"],
)
def test_a_function_without_a_result_is_told_so(name, result, said):
    assert exercises.find(name).fault(lambda *args: result) == said


@pytest.mark.parametrize("name", of(Function))
def test_a_function_that_raises_hears_what_and_where(name):
    def answer(*args):
        raise RuntimeError("made to fail")

    said = exercises.find(name).fault(answer)
    assert said.startswith("for ")
    assert 'the function raised RuntimeError (made to fail) at `raise RuntimeError("' in said


@pytest.mark.parametrize("name", of(Function))
def test_a_function_of_too_many_arguments_hears_which_it_must_take(name):
    said = exercises.find(name).fault(lambda one, two, three, four, five: 0)
    assert said.startswith("the function must take (")
    assert said.endswith("), yours takes (one, two, three, four, five).")


@pytest.mark.parametrize("name", NUMERIC)
def test_a_result_of_the_wrong_shape_hears_the_right_one(name):
    exercise = exercises.find(name)
    said = exercise.fault(spoiled(exercise.reference, lambda y: np.stack([y, y])))
    assert " must be a" in said
    assert "got an array of shape (2" in said


@pytest.mark.parametrize("name", NUMERIC)
def test_a_result_that_is_nan_hears_where_to_look(name):
    exercise = exercises.find(name)
    said = exercise.fault(spoiled(exercise.reference, lambda y: y * np.nan))
    assert "NaN; look for 0 / 0 and for the root of a negative number." in said


@pytest.mark.parametrize("name", of(Function))
def test_a_function_that_writes_into_its_input_is_told_which(name):
    exercise = exercises.find(name)

    def answer(*args):
        result = exercise.reference(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
        for a in args:
            if isinstance(a, np.ndarray):
                a += 1
        return result

    if any(isinstance(a, np.ndarray) for run in exercise.run(answer) for a in run.args):
        assert "the function writes into its input " in exercise.fault(answer)
    else:
        assert exercise.fault(answer) is None


@pytest.mark.parametrize("name", NUMERIC)
def test_a_result_a_little_off_is_shown_beside_the_right_one(name):
    exercise = exercises.find(name)
    off = 5 * exercise.tolerance
    said = exercise.fault(spoiled(exercise.reference, lambda y: y + off * (1 + np.abs(y))))
    assert " must be " in said
    assert ", got " in said


@pytest.mark.parametrize("name", of(Value))
def test_a_value_must_be_numbers(name):
    assert "number" in exercises.find(name).fault("a guess")
    assert "got a function" in exercises.find(name).fault(np.mean)


@pytest.mark.parametrize("name", NAMES)
def test_sentences_continue_not_yet_and_end(name):
    exercise = exercises.find(name)
    said = [sentence for _, sentence in pairs(exercise)]
    if isinstance(exercise, Measured):
        said = list(exercise.wrong)
    for sentence in [*said, getattr(exercise, "otherwise", "a hint.")]:
        assert sentence.endswith((".", "?"))
        assert sentence.split()[0] not in ("You", "Your", "The", "This", "That", "It", "Its")
    assert exercise.right.endswith(".")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.3, 0.3], "the two are equal: the model was in the same mode both times"),
        ([2.9, 2.4], "the loss is still that of guessing"),
        ([0.3, 0.9], "the loss in train() must come first and in eval() second"),
        ([0.9], "(loss in train(), loss in eval()) must be an array of shape (2,)"),
    ],
    ids=["equal", "untrained", "swapped", "one"],
)
def test_two_losses_are_judged_by_how_they_differ(answer, said):
    assert said in exercises.find("unseen").fault(answer)
    assert exercises.find("unseen").fault([2.5, 0.3]) is None
    assert exercises.find("unseen").fault([torch.tensor(0.9), torch.tensor(0.1)]) is None


@pytest.mark.parametrize(("size", "left_over"), [(128, 88), (4, 0)])
def test_the_right_answer_on_updates_says_true_numbers(size, left_over):
    exercise = exercises.find("updates")
    updates, left = exercise.reference(55_000, size)
    assert left == left_over
    assert f"{updates:,} updates" in exercise.right


@pytest.mark.parametrize("size", [4, 128])
def test_the_right_answer_on_the_variance_says_true_factors(size):
    exercise = exercises.find("variance")
    assert f"{exercise.reference(size):.3f}" in exercise.right


# How far off an answer may be.


def test_every_exercise_knows_a_misconception():
    assert [name for name in NAMES if not exercises.find(name).wrong] == []


def far(a, b):
    """How far apart two answers are, and at least one more than rounding."""
    apart = np.abs(np.asarray(a, float) - np.asarray(b, float)).max()
    assert apart > 0
    return apart


@pytest.mark.parametrize("name", of(Value))
def test_a_tolerance_is_less_than_half_the_way_to_a_misconception_and_a_twentieth(name):
    exercise = exercises.find(name)
    answer = np.abs(np.asarray(exercise.answer, float))
    nearest = min(far(exercise.answer, wrong) for wrong in exercise.wrong)
    assert 0 < exercise.tolerance < nearest / 2
    assert exercise.tolerance <= answer[answer > 0].min() / 20


@pytest.mark.parametrize("name", of(Value))
def test_each_number_of_an_answer_may_be_off_by_the_tolerance_and_no_more(name):
    exercise = exercises.find(name)
    answer = np.asarray(exercise.answer, float)
    for unit in np.eye(answer.size).reshape(-1, *answer.shape):
        for sign in (-1, 1):
            moved = answer + sign * 0.9 * exercise.tolerance * unit
            assert exercise.fault(moved) is None
            assert exercise.fault(answer + sign * 1.1 * exercise.tolerance * unit)
            if np.array_equal(answer, answer.round()):
                assert exercise.fault(answer + sign * unit)


@pytest.mark.parametrize(("name", "wrong", "sentence"), misconceptions(Value))
def test_a_number_half_the_way_to_a_misconception_is_not_right(name, wrong, sentence):
    exercise = exercises.find(name)
    answer, wrong = np.asarray(exercise.answer, float), np.asarray(wrong, float)
    assert exercise.fault((answer + wrong) / 2)


def between(a, b):
    """The numbers half the way from one result to another, where they stand in the same places."""
    if isinstance(a, tuple):
        same = isinstance(b, tuple) and len(a) == len(b)
        return tuple(map(between, a, b)) if same else a
    return (np.asarray(a) + b) / 2 if np.shape(a) == np.shape(b) else a


@pytest.mark.parametrize(
    ("name", "wrong", "sentence"),
    [case for case in misconceptions(Function) if case.values[0] in NUMERIC],
)
def test_a_function_half_the_way_to_a_misconception_is_not_right(name, wrong, sentence):
    exercise = exercises.find(name)
    rights, wrongs = exercise.run(exercise.reference), exercise.run(wrong)
    results = [
        right.result if run.error else between(right.result, run.result)
        for right, run in zip(rights, wrongs, strict=True)
    ]
    if all(_words.agree(new, right.result, 0) for new, right in zip(results, rights, strict=True)):
        pytest.skip("it has another shape, or fails, wherever it differs")
    left = iter(results)
    assert exercise.fault(lambda *args: next(left))


@pytest.mark.parametrize("name", NUMERIC)
def test_a_result_may_be_off_by_rounding_and_no_more(name):
    exercise = exercises.find(name)
    assert exercise.tolerance <= 1e-5
    for sign in (-1, 1):
        near = sign * 0.5 * exercise.tolerance
        assert exercise.fault(spoiled(exercise.reference, lambda y, near=near: y * (1 + near))) is (
            None
        )
        off = sign * 2.5e-5
        spoil = spoiled(exercise.reference, lambda y, off=off: y + off * (1 + np.abs(y)))
        assert exercise.fault(spoil)


@pytest.mark.parametrize("name", NUMERIC)
def test_a_whole_number_plus_or_less_one_is_not_right(name):
    exercise = exercises.find(name)
    for sign in (-1, 1):
        assert exercise.fault(spoiled(exercise.reference, lambda y, sign=sign: y + sign))


@pytest.mark.parametrize(
    ("answer", "tolerance"),
    [(44, 0.01), ((5, 9), 0.01), (-1.0, 0.01), (0.5, 5e-4), ((0, -0.25, 4), 2.5e-4)],
)
def test_a_tolerance_follows_from_the_answer(answer, tolerance):
    assert Value(answer, "It is.").tolerance == tolerance
    assert Value(answer, "It is.", within=0.3).tolerance == 0.3


@pytest.mark.parametrize(
    ("answer", "said"), [(8.1, "eight."), (8.9, "nine."), (9.6, "ten."), (11.6, "far.")]
)
def test_the_nearest_known_wrong_number_explains(answer, said):
    wrong = {10: "ten.", 8: "eight.", 9: "nine."}  # each within the tolerance of its neighbors
    exercise = Value(4, "It is.", wrong, within=1.5, otherwise="far.")
    assert exercise.fault(answer).endswith(said)
    assert exercise.fault(5.4) is None
    assert exercise.fault(6.4).endswith("is not it; far.")
    pairs = Value((4, 0), "It is.", {(8, 0): "eight.", (9, 9): "nine."}, within=1.5)
    assert pairs.fault((8.9, 1.2)) == "eight."


# The engine.


SMALL = np.array([[1.0, 2.0, 6.0], [3.0, 1.0, 1.0]])


def centered(x):
    return x - x.mean(axis=1, keepdims=True)


@pytest.fixture
def exercise():
    return Function(
        centered,
        cases=lambda rng: [(rng.normal(size=(4, 6)),), (SMALL.copy(),)],
        right="It is.",
        wrong={"by columns.": lambda x: x - x.mean(axis=0)},
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (centered, None),
        (lambda x: torch.tensor(centered(x), requires_grad=True), None),
        (lambda x: centered(x).tolist(), None),
        (lambda x, eps=0.0: centered(x), None),
        (3.0, "the answer must be a function, got the number 3.0."),
        (SMALL, "the answer must be a function, got an array of float64."),
        ("x", "the answer must be a function, got the text 'x'."),
        (lambda: 0, "the function must take (x), yours takes none."),
        (lambda x: x - x.mean(axis=0), "by columns."),
        (lambda x: x - ..., "there is still a `...` in the function; put your code in its place."),
        (lambda x: x.mean(axis=...), "there is still a `...` in the function; put your code in"),
        (
            lambda x: centered(x)[0],
            "for x = [[1, 2, 6], [3, 1, 1]], the result must be an array of shape (2, 3), "
            "got an array of shape (3,).",
        ),
        (lambda x: centered(x).T, "got an array of shape (3, 2); its axes are the other way round"),
        (lambda x: centered(x).sum(), "must be an array of shape (2, 3), got a single number."),
        (lambda x: "x", "an array of numbers, got the text 'x'; take the quotation marks away."),
        (lambda x: [[1], [2, 3]], "the result must be an array of numbers, got a list."),
        (lambda x: np.log(x - 1), "3 of 6 numbers of the result are infinite; look for a div"),
        (lambda x: x * np.nan, "6 of 6 numbers of the result are NaN; look for 0 / 0"),
        (
            lambda x: x,
            "for x = [[1, 2, 6], [3, 1, 1]], the result must be "
            "[[-2, -1, 3], [1.333, -0.667, -0.667]], got [[1, 2, 6], [3, 1, 1]].",
        ),
        (lambda x: -centered(x), "; every sign is the other way round."),
        (lambda x: 1.5 * centered(x), "; every number is 1.5 times what it must be."),
        (lambda x: centered(x) - 2, "; every number is too small by 2."),
        (lambda x: centered(x) * (1 + 1e-5), "must be [[-2, -1, 3], [1.3333333, "),
    ],
    ids=lambda part: part[-25:] if isinstance(part, str) else "",
)
def test_a_function_hears_what_is_wrong(exercise, answer, said):
    fault = exercise.fault(answer)
    assert fault is None if said is None else said in fault


def test_the_smallest_failing_case_is_shown_and_of_a_large_one_the_worst_number(exercise):
    def answer(x):
        y = centered(x)
        y[-1, -1] += 5 * (x.size > 6)
        return y

    want = centered(np.random.default_rng(0).normal(size=(4, 6)))[3, 5]
    assert exercise.fault(answer) == (
        "for x of shape (4, 6), 1 of 24 numbers of the result are wrong; the one furthest off, at "
        f"[3, 5], must be {want:.4g}, got {want + 5:.4g}."
    )


def test_a_missing_keepdims_is_named():
    exercise = Function(lambda x: x.mean(-1, keepdims=True), lambda rng: [(SMALL,)], "It is.")
    assert exercise.fault(lambda x: x.mean(-1)) == (
        "for x = [[1, 2, 6], [3, 1, 1]], the result must be an array of shape (2, 1), got an array "
        "of shape (2,); `keepdims=True` keeps the axis that a mean or a sum runs over."
    )


def test_a_misconception_may_raise_where_its_axes_do_not_fit(exercise):
    square = Function(
        centered,
        cases=lambda rng: [(rng.normal(size=(3, 3)),), (SMALL,)],
        right="It is.",
        wrong={"no keepdims.": lambda x: x - x.mean(axis=1)},
    )
    assert square.fault(lambda x: x - x.mean(1)) == "no keepdims."
    assert "could not be broadcast" in exercise.fault(lambda x: x - x.mean(1))
    # An exception of another kind is not the same mistake.
    assert "IndexError" in square.fault(lambda x: x - x.mean(1) if len(x) == 3 else x[9])


def test_a_misconception_that_fits_some_cases_alone_is_not_said(exercise):
    assert "by columns" not in exercise.fault(lambda x: x - x.mean(axis=0) if len(x) == 2 else x)


def test_writing_into_the_input_spoils_no_other_case_and_is_said(exercise):
    shared = np.ones((2, 3))

    def answer(x):
        x -= x.mean(axis=1, keepdims=True)
        return x

    said = "the function writes into its input x, which is the caller's; work on a copy, and "
    assert exercise.fault(answer).startswith(said)
    kept = Function(centered, lambda rng: [(shared.copy(),)], "It is.")
    assert kept.fault(answer).startswith(said)
    assert exercise.fault(centered) is None


def test_several_results_are_told_apart_by_name():
    exercise = Function(
        lambda x: (x.mean(), x.var()),
        cases=lambda rng: [(np.array([1.0, 3.0, 8.0]),)],
        right="It is.",
        returns=("mean", "variance"),
        wrong={"swapped.": lambda x: (x.var(), x.mean())},
    )
    assert exercise.fault(lambda x: [x.mean(), x.var()]) is None
    assert exercise.fault(lambda x: [x.var(), x.mean()]) == "swapped."
    assert exercise.fault(lambda x: (x.mean(), x.std())) == (
        "for x = [1, 3, 8], variance must be 8.667, got 2.944."
    )
    said = "the function must return mean, variance; it returns "
    assert exercise.fault(lambda x: x.mean()) == said + "one result."
    assert exercise.fault(lambda x: (x.mean(), x.var(), 0)) == said + "3 results."


def test_a_text_or_a_truth_value_may_be_the_result():
    words = Function(lambda n: "odd" if n % 2 else "even", lambda rng: [(1,), (2,)], "It is.")
    assert words.fault(lambda n: ("even", "odd")[n % 2]) is None
    assert words.fault(lambda n: "odd") == "for n = 2, the result must be 'even', got 'odd'."
    assert words.fault(lambda n: 3) == "for n = 1, the result must be 'odd', got the number 3."
    truth = Function(lambda n: n > 1, lambda rng: [(1,), (2,)], "It is.")
    assert truth.fault(lambda n: n >= 2) is None
    assert truth.fault(lambda n: True) == "for n = 1, the result must be False, got True."


def test_a_dtype_counts_where_the_exercise_says_so():
    def case(rng):
        return [(np.ones(3, np.float32),)]

    strict = Function(lambda x: 2 * x, case, "It is.", dtype=True)
    wide = Function(lambda x: 2 * x, case, "It is.")
    assert wide.fault(lambda x: 2 * x.astype(float)) is None
    assert strict.fault(lambda x: 2 * x) is None
    assert strict.fault(lambda x: 2 * x.astype(float)) == (
        "for x = [1, 1, 1], the result must be of dtype float32, got float64."
    )


def test_nan_is_right_where_the_reference_has_it():
    exercise = Function(lambda x: x / x, lambda rng: [(np.array([0.0, 1.0]),)], "It is.")
    assert exercise.fault(lambda x: np.array([np.nan, 1.0])) is None
    assert "must be [nan, 1], got [0, 1]" in exercise.fault(lambda x: np.array([0.0, 1.0]))


def test_a_simulation_is_right_within_its_tolerance():
    exercise = Function(
        lambda n, rng: n**-0.5,
        cases=lambda rng: [(4, np.random.default_rng(1)), (16, np.random.default_rng(2))],
        right="It is.",
        tolerance=0.03,
        wrong={"not the root.": lambda n, rng: 1 / n},
    )
    assert exercise.fault(lambda n, rng: rng.normal(size=(4000, n)).mean(1).std()) is None
    assert exercise.fault(lambda n, rng: rng.normal(size=(4000, n)).mean(1).var()) == (
        "not the root."
    )
    said = "for n = 4, rng a random generator, the result must be 0.5, got 0."
    assert exercise.fault(lambda n, rng: 0) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (1.1547, None),
        ([1.155], None),
        (np.float32(1.1547), None),
        (torch.tensor(1.1547, requires_grad=True), None),
        (1.3333, "the variances."),
        (2, "2 is not it; think."),
        (1.16, "1.16 is not it; think."),
        ("1.1547", "the answer must be a number, got the text '1.1547'; take the quotation marks"),
        ([1.0, 2.0], "the answer must be a single number, got an array of shape (2,)."),
        (np.nan, "the answer is NaN; look for 0 / 0"),
        (np.inf, "the answer is infinite; look for a division by 0."),
        ({}, "the answer must be a number, got a dict."),
    ],
)
def test_a_number_hears_what_is_wrong(answer, said):
    exercise = Value(1.1547, "It is.", {1.3333: "the variances."}, otherwise="think.")
    fault = exercise.fault(answer)
    assert fault is None if said is None else said in fault


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("layer norm", None),
        (" Layer  NORM\n", None),
        ("Batch norm", "it is not."),
        ("RMS norm", "'RMS norm' is not it; look at the question again."),
        (2, "the answer must be a text in quotation marks, got the number 2."),
    ],
)
def test_a_text_hears_what_is_wrong(answer, said):
    exercise = Text("layer norm", "It is.", {"batch norm": "it is not."})
    assert exercise.fault(answer) == said


def test_check_prints_one_paragraph_and_twice_the_same(capsys):
    for _ in range(2):
        exercises.check("two-units", [[-1, 1], [1, -1], [-1, 1]])
        exercises.check("two-units", np.zeros((3, 2)))
        exercises.check("two-lines", lambda x, eps: x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == lines[3:]
    assert lines[0] == "Right. Of two units only their order is left."
    assert lines[1].startswith("Not yet: a single unit would leave 0;")
    assert lines[2].startswith("Not yet: for x = [[1, 2, 6], [3, 3, 3]], eps = 1e-05, the result")


def test_dots_within_an_answer_are_a_starter_still(capsys):
    exercises.check("unseen", [1.0, ...])
    exercises.check("two-units", np.array([[1, ...]] * 3))
    exercises.check("two-units", None)
    assert set(capsys.readouterr().out.splitlines()) == {
        "Not yet: the answer is still `...`; put yours in its place."
    }


def test_a_name_that_is_none_hears_the_close_ones():
    with pytest.raises(ValueError, match=r"got 'two-unit'; did you mean 'two-units'"):
        exercises.check("two-unit", 1)
    with pytest.raises(ValueError, match=r"got 'zzz'; try exercises.names\(\)"):
        exercises.check("zzz", 1)
    with pytest.raises(ValueError, match=r"name must be an exercise of the book, got \[1\]"):
        exercises.check([1], "two-units")


def test_a_name_is_given_once(monkeypatch):
    double = types.SimpleNamespace(EXERCISES={"two-units": Value(1, "It is.")})
    monkeypatch.setitem(sys.modules, "lnbook.double.exercises", double)
    monkeypatch.setattr(exercises, "chapters", lambda: ["start", "double"])
    exercises._all.cache_clear()
    try:
        with pytest.raises(ValueError, match="double: an exercise 'two-units' exists already"):
            exercises.names()
    finally:
        exercises._all.cache_clear()


def test_every_chapter_has_four_exercises_at_least():
    for chapter in exercises.chapters():
        assert len(sys.modules[f"lnbook.{chapter}.exercises"].EXERCISES) >= 4
