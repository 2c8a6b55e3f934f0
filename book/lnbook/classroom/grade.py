"""Grade submissions with nbgrader, and write tables and feedback.

Each submission runs in a container, or in a process of this user, with a copy of the book without
reference solutions. nbgrader then assigns points, updates the gradebook and writes feedback. This
module adds the tables, with the misconception that each wrong answer shows.
"""

import csv
import hashlib
import io
import json
import re
import shutil
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from lnbook.classroom import checks, nbgrader, runner
from lnbook.classroom.runner import Sandbox
from lnbook.classroom.submissions import Submission, find_submissions, read, restore
from lnlab import atomic_write

EXECUTED = "executed"  # the folder of executed submissions, which nbgrader grades
RETRY_ERRORS = (
    "ModuleNotFoundError",
    "NotRun",
)  # errors that may disappear when the machine is fixed


@dataclass
class ExerciseResult:
    """The result of a student in one exercise.

    Args:
        student: The name of the folder or file.
        chapter: The name of the notebook.
        exercise: The name of the exercise.
        passed: 1 or 0.
        points: The points in nbgrader's gradebook, including manual changes.
        misconception: The feedback, if the answer shows a known misconception.
        feedback: The feedback on any other wrong answer.
        error: What went wrong before the check.
    """

    student: str
    chapter: str
    exercise: str
    passed: int = 0
    points: float = 0
    misconception: str = ""
    feedback: str = ""
    error: str = ""


@dataclass
class StudentTotal:
    """The result of a student in all exercises."""

    student: str
    points: float = 0
    of: float = 0
    passed: int = 0
    exercises: int = 0
    problems: str = ""


@dataclass
class Grades:
    """The results of a grading run.

    Args:
        rows: One for each student and exercise.
        totals: One for each student.
        sentences: Messages about entries that belong to no student, and about failures of nbgrader.
    """

    rows: list[ExerciseResult] = field(default_factory=list)
    totals: list[StudentTotal] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


def grade(
    folder: str | Path,
    *,
    course: str | Path | None = None,
    name: str | None = None,
    sandbox: Sandbox | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Grades:
    """Grade submissions; write ``grades.csv`` and ``totals.csv`` into the course folder.

    Executed submissions are kept, so an interrupted grading can be resumed. A submission runs again
    if it, the homework, its seed, the limits, the library or the image has changed.

    Args:
        folder: A folder with a folder, an archive or a notebook for each student.
        course: The course folder written by ``homework``. ``None``: the parent of ``folder``.
        name: The name of the homework. ``None``: the only one of the course.
        sandbox: Where the submissions run.
        tell: Called with a sentence after each submission.

    Raises:
        ValueError: If there is no such folder, course or homework.
    """
    nbgrader.required()
    folder, sandbox = Path(folder), sandbox or Sandbox()
    if not folder.is_dir():
        raise ValueError(f"FOLDER must be a folder of submissions, got {folder}; check the path")
    course = Path(course).resolve() if course else folder.resolve().parent
    name = _homework(course, name)
    sources = {path.stem: _source(path) for path in (course / "source" / name).glob("*.ipynb")}
    exercise_names = {chapter: _exercises(source) for chapter, source in sources.items()}
    others = {path.name for path in (course / "source").iterdir()} - {name}
    submissions, sentences = find_submissions(folder, name, exercise_names, others)
    graded = Grades(sentences=sentences)
    with tempfile.TemporaryDirectory(prefix="lnbook-grading-") as room:
        book, versions = runner.stripped(Path(room, "book")), runner.versions(sandbox)
        for number, submission in enumerate(submissions, 1):
            ran = _run(submission, course, name, sources, book, sandbox, versions)
            if ran:
                tell(f"{number} of {len(submissions)}: {submission.student}")
    _remove_deleted(course, name, submissions)
    if any(submission.notebooks for submission in submissions):
        for command in ("autograde", "generate_feedback"):
            run = [f"--CourseDirectory.submitted_directory={EXECUTED}", "--force"]
            run += ["--no-execute"] if command == "autograde" else []
            try:
                nbgrader.run(course, command, name, *run)
            except ValueError as error:  # nbgrader has graded the other submissions
                graded.sentences.append(str(error))
    points = _gradebook(course, name)
    for submission in submissions:
        own = [
            row
            for chapter, names in exercise_names.items()
            for row in _rows(submission, chapter, names, course / EXECUTED, name)
        ]
        for row in own:
            if row.chapter in submission.notebooks:  # else it is of an earlier notebook
                row.points = points.get((row.student, row.chapter, row.exercise), 0)
        graded.rows += own
        graded.totals.append(_total(submission, own, sources))
    atomic_write.write(course / "grades.csv", table(graded.rows, ExerciseResult))
    atomic_write.write(course / "totals.csv", table(graded.totals, StudentTotal))
    return graded


def _homework(course: Path, name: str | None) -> str:
    """Return the name of the homework to grade."""
    known = sorted(path.name for path in (course / "source").glob("*") if path.is_dir())
    if not known:
        raise ValueError(
            f"{course} must be a course folder written by homework, but it has no source folder; "
            "name the folder with --course"
        )
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        raise ValueError(f"--name must be one of {', '.join(known)}, got {name}; pass one of them")
    return name


def _source(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def _exercises(source: Any) -> list[str]:
    graded = [c.metadata.nbgrader for c in source.cells if c.metadata.nbgrader.grade]
    return [meta.grade_id.removesuffix("-check") for meta in graded]


# Running submissions.


def _run(
    submission: Submission,
    course: Path,
    name: str,
    sources: dict,
    book: Path,
    sandbox: Sandbox,
    versions: list[str],
) -> bool:
    """Run a submission, unless it has already run; return whether it ran."""
    import nbformat

    home = course / EXECUTED / submission.student / name
    notebooks = {}
    for chapter, member in list(submission.notebooks.items()):
        try:
            notebooks[chapter] = restore(read(member), sources[chapter])
        except ValueError as error:
            submission.problems.append(str(error))
            del submission.notebooks[chapter]
    files = {path: member.read() for path, member in submission.files.items()}
    files[checks.FILE] = (course / "source" / name / checks.FILE).read_bytes()
    key = _run_hash(notebooks, files, book, sandbox, versions)
    if not notebooks or _has_run(home, notebooks, key):
        return False
    with tempfile.TemporaryDirectory(prefix="submission-") as room:
        room = Path(room)
        for file_path, content in files.items():
            (room / file_path).parent.mkdir(parents=True, exist_ok=True)
            (room / file_path).write_bytes(content)
        for chapter, notebook in notebooks.items():
            nbformat.write(notebook, room / f"{chapter}.ipynb")
        problem = runner.execute(room, book, sandbox, len(notebooks))
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for chapter, before in notebooks.items():
            after = _outputs(room / f"{chapter}.ipynb", before, problem)
            after.metadata["graded"] = key
            nbformat.write(after, home / f"{chapter}.ipynb")
    return True


def _run_hash(
    notebooks: dict, files: dict[str, bytes], book: Path, sandbox: Sandbox, versions: list[str]
) -> str:
    """Return a hash of everything on which the result of a run depends.

    The notebooks contain all tests, including hidden ones, and thereby the seed of the class.
    """
    digest = hashlib.sha256(json.dumps([notebooks, asdict(sandbox), versions]).encode())
    code = {str(p.relative_to(book)): p.read_bytes() for p in book.rglob("*") if p.is_file()}
    for file_path, content in sorted((files | code).items()):
        digest.update(f"{file_path}\0{len(content)}\0".encode("utf-8", "replace") + content)
    return digest.hexdigest()


def _has_run(home: Path, notebooks: dict, key: str) -> bool:
    """Return whether a submission has run unchanged, with a result that would not change."""
    try:
        sources = [_source(home / f"{chapter}.ipynb") for chapter in notebooks]
    except (OSError, ValueError):
        return False
    return all(
        notebook.metadata.get("graded") == key
        and not any(e.ename in RETRY_ERRORS for cell in notebook.cells for e in _errors(cell))
        for notebook in sources
    )


def _outputs(path: Path, before: Any, problem: str) -> Any:
    """Return a notebook with its outputs; if the run failed, with the reason in each test."""
    import nbformat

    try:
        if path.is_symlink():
            raise ValueError("a link")
        after = nbformat.read(path, as_version=4)
        same = [c.source for c in after.cells] == [c.source for c in before.cells]
        if same and not problem:
            return after
        problem = problem or "the notebook was changed while it ran"
    except Exception as error:  # a submission can leave anything there
        problem = problem or f"{type(error).__name__}: {error}"
    for cell in before.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            why = f"this submission could not be run: {problem}"
            cell.outputs = [nbformat.v4.new_output("error", ename="NotRun", evalue=why)]
    return before


def _remove_deleted(course: Path, name: str, submissions: list[Submission]) -> None:
    """Remove executed submissions that no longer exist."""
    present = {submission.student for submission in submissions if submission.notebooks}
    for home in (course / EXECUTED).glob(f"*/{name}"):
        if home.parent.name not in present:
            shutil.rmtree(home)


# Results.


def _gradebook(course: Path, name: str) -> dict[tuple[str, str, str], float]:
    """Return the points of each student, notebook and exercise from nbgrader's gradebook."""
    with nbgrader.gradebook(course) as gradebook:
        return {
            (submission.student_id, notebook.name, grade.name.removesuffix("-check")): grade.score
            for submission in gradebook.assignment_submissions(name)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def _rows(
    submission: Submission, chapter: str, names: list[str], executed: Path, homework: str
) -> list[ExerciseResult]:
    """Return a row for each exercise of a notebook."""
    rows = {name: ExerciseResult(submission.student, chapter, name) for name in names}
    if chapter not in submission.notebooks:
        why = "; ".join(submission.problems) or "not handed in"
        for row in rows.values():
            row.error = why
        return list(rows.values())
    notebook = _source(executed / submission.student / homework / f"{chapter}.ipynb")
    before: list[str] = []
    for cell in notebook.cells:
        errors = [f"{e.ename}: {e.evalue}" for e in _errors(cell)]
        exercise = cell.metadata.get("nbgrader", {}).get("grade_id", "").removesuffix("-check")
        if not (cell.metadata.get("nbgrader", {}).get("grade") and exercise in rows):
            before += errors
            continue
        row, raised = rows[exercise], _errors(cell)
        row.passed = int(not raised)
        if raised and raised[0].ename == "Misconception":
            row.misconception = raised[0].evalue
        elif raised and raised[0].ename == "NotYet":
            row.feedback = raised[0].evalue
        if raised and before:
            row.error = "; ".join(before)
        elif errors and raised[0].ename not in ("Misconception", "NotYet"):
            row.error = errors[0]
        before = []
    return list(rows.values())


def _errors(cell: Any) -> list[Any]:
    return [o for o in cell.get("outputs", []) if o.output_type == "error"]


def _total(submission: Submission, rows: list[ExerciseResult], sources: dict) -> StudentTotal:
    most = sum(
        cell.metadata.nbgrader.points
        for source in sources.values()
        for cell in source.cells
        if cell.metadata.nbgrader.grade
    )
    missing = [c for c in sources if c not in submission.notebooks]
    problems = [f"no {', '.join(missing)}"] if missing and not submission.problems else []
    return StudentTotal(
        submission.student,
        sum(row.points for row in rows),
        most,
        sum(row.passed for row in rows),
        len(rows),
        "; ".join([*problems, *submission.problems]),
    )


def summary(rows: list[ExerciseResult]) -> list[str]:
    """Return a line per exercise: how many passed, and the most frequent misconception."""
    lines = []
    for exercise in dict.fromkeys(row.exercise for row in rows):
        own = [row for row in rows if row.exercise == exercise]
        line = f"{exercise}: {sum(row.passed for row in own)} of {len(own)} passed"
        met = Counter(row.misconception for row in own if row.misconception)
        if met:
            misconception, times = met.most_common(1)[0]
            line += f"; {times} × {misconception}"
        lines.append(line)
    return lines


def table(rows: list[Any], kind: type) -> bytes:
    """Return rows as CSV, with the byte-order mark that Excel needs to recognize UTF-8."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(kind)], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in asdict(row).items()} for row in rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def _cell(value: str | float) -> str:
    """Return a value that fits into one cell and that no spreadsheet evaluates as a formula.

    In some locales, a semicolon separates cells.
    """
    if not isinstance(value, str):
        return f"{value:g}"
    value = re.sub(r"\x1b\[[\d;]*m", "", value).encode("utf-8", "replace").decode()
    value = " ".join(value.replace(";", ",").split())[:2000]
    value = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    first = unicodedata.normalize("NFKC", value[:1])
    return f"'{value}" if first in ("=", "+", "-", "@", "|") else value
