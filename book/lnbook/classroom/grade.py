"""Submissions into tables and feedback, by nbgrader.

Each submission runs in a container, or in a process of this account, with a copy of the book that
holds no reference solution. nbgrader then gives points, keeps the gradebook and writes feedback;
what is added here are the tables, with the misconception that an answer shows.
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

RUN = "executed"  # the folder of what has run, where nbgrader looks for submissions
AGAIN = ("ModuleNotFoundError", "NotRun")  # may end otherwise on a machine that is set right


@dataclass
class ExerciseResult:
    """A student's result in one exercise.

    Args:
        student: As the folder or file is called.
        chapter: The notebook.
        exercise: Its name.
        passed: 1 or 0.
        points: As in nbgrader's gradebook, so with what was changed by hand.
        misconception: What the checker says of a misconception that it knows.
        feedback: What it says of any other answer that is not right.
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
    """A student's result in all exercises."""

    student: str
    points: float = 0
    of: float = 0
    passed: int = 0
    exercises: int = 0
    problems: str = ""


@dataclass
class Grades:
    """What a grading has found.

    Args:
        rows: For each student and exercise.
        totals: For each student.
        sentences: On entries of the folder that belong to nobody, and what nbgrader refused.
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
    """Grade a folder of submissions, and write ``grades.csv`` and ``totals.csv`` into the course.

    What has run is kept, so an interrupted grading goes on where it was; a submission runs again
    when it, the homework, its seed, the limits, the library or the image has changed.

    Args:
        folder: A folder, an archive or a notebook for each student.
        course: The course folder that ``homework`` wrote. ``None``: the one around ``folder``.
        name: Of the homework. ``None``: the only one of the course.
        sandbox: Where the submissions run.
        tell: Called with a sentence after each submission.

    Raises:
        ValueError: If there is no such folder, course or homework.
    """
    nbgrader.required()
    folder, sandbox = Path(folder), sandbox or Sandbox()
    if not folder.is_dir():
        raise ValueError(f"FOLDER must be a folder of submissions, got {folder}; look at its name")
    course = Path(course).resolve() if course else folder.resolve().parent
    name = _homework(course, name)
    sources = {path.stem: _source(path) for path in (course / "source" / name).glob("*.ipynb")}
    sheets = {chapter: _exercises(source) for chapter, source in sources.items()}
    others = {path.name for path in (course / "source").iterdir()} - {name}
    submissions, sentences = find_submissions(folder, name, sheets, others)
    graded = Grades(sentences=sentences)
    with tempfile.TemporaryDirectory(prefix="lnbook-grading-") as room:
        book, versions = runner.stripped(Path(room, "book")), runner.versions(sandbox)
        for number, submission in enumerate(submissions, 1):
            ran = _run(submission, course, name, sources, book, sandbox, versions)
            if ran:
                tell(f"{number} of {len(submissions)}: {submission.student}")
    _forget(course, name, submissions)
    if any(submission.notebooks for submission in submissions):
        for command in ("autograde", "generate_feedback"):
            run = [f"--CourseDirectory.submitted_directory={RUN}", "--force"]
            run += ["--no-execute"] if command == "autograde" else []
            try:
                nbgrader.run(course, command, name, *run)
            except ValueError as error:  # it has gone on with the other submissions
                graded.sentences.append(str(error))
    points = _gradebook(course, name)
    for submission in submissions:
        own = [
            row
            for chapter, names in sheets.items()
            for row in _rows(submission, chapter, names, course / RUN, name)
        ]
        for row in own:
            if row.chapter in submission.notebooks:  # else the gradebook has an earlier notebook's
                row.points = points.get((row.student, row.chapter, row.exercise), 0)
        graded.rows += own
        graded.totals.append(_total(submission, own, sources))
    atomic_write.write(course / "grades.csv", table(graded.rows, ExerciseResult))
    atomic_write.write(course / "totals.csv", table(graded.totals, StudentTotal))
    return graded


def _homework(course: Path, name: str | None) -> str:
    """Return the homework that is graded."""
    known = sorted(path.name for path in (course / "source").glob("*") if path.is_dir())
    if not known:
        raise ValueError(
            f"{course} must be the folder that homework wrote, got none with source in it; "
            "name it by --course"
        )
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        raise ValueError(f"--name must be one of {', '.join(known)}, got {name}; name one of them")
    return name


def _source(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def _exercises(source: Any) -> list[str]:
    graded = [c.metadata.nbgrader for c in source.cells if c.metadata.nbgrader.grade]
    return [meta.grade_id.removesuffix("-check") for meta in graded]


# To run.


def _run(
    submission: Submission,
    course: Path,
    name: str,
    sources: dict,
    book: Path,
    sandbox: Sandbox,
    versions: list[str],
) -> bool:
    """Run a submission, unless it has run already; say whether it ran."""
    import nbformat

    home = course / RUN / submission.student / name
    notebooks = {}
    for chapter, member in list(submission.notebooks.items()):
        try:
            notebooks[chapter] = restore(read(member), sources[chapter])
        except ValueError as error:
            submission.problems.append(str(error))
            del submission.notebooks[chapter]
    files = {path: member.read() for path, member in submission.files.items()}
    files[checks.FILE] = (course / "source" / name / checks.FILE).read_bytes()
    key = _key(notebooks, files, book, sandbox, versions)
    if not notebooks or _ran(home, notebooks, key):
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


def _key(
    notebooks: dict, files: dict[str, bytes], book: Path, sandbox: Sandbox, versions: list[str]
) -> str:
    """Name a run by all that its result depends on.

    The notebooks hold the teacher's tests, hidden ones included, and with them the class's seed.
    """
    digest = hashlib.sha256(json.dumps([notebooks, asdict(sandbox), versions]).encode())
    code = {str(p.relative_to(book)): p.read_bytes() for p in book.rglob("*") if p.is_file()}
    for file_path, content in sorted((files | code).items()):
        digest.update(f"{file_path}\0{len(content)}\0".encode("utf-8", "replace") + content)
    return digest.hexdigest()


def _ran(home: Path, notebooks: dict, key: str) -> bool:
    """Say whether a submission has run as it is, to an end that another run would reach again."""
    try:
        sources = [_source(home / f"{chapter}.ipynb") for chapter in notebooks]
    except (OSError, ValueError):
        return False
    return all(
        notebook.metadata.get("graded") == key
        and not any(e.ename in AGAIN for cell in notebook.cells for e in _errors(cell))
        for notebook in sources
    )


def _outputs(path: Path, before: Any, problem: str) -> Any:
    """Return a notebook with the outputs of its run; of an ended run the reason, in each test."""
    import nbformat

    try:
        if path.is_symlink():
            raise ValueError("a link")
        after = nbformat.read(path, as_version=4)
        same = [c.source for c in after.cells] == [c.source for c in before.cells]
        if same and not problem:
            return after
        problem = problem or "the notebook was changed while it ran"
    except Exception as error:  # what a submission may have left there
        problem = problem or f"{type(error).__name__}: {error}"
    for cell in before.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            why = f"this submission could not be run: {problem}"
            cell.outputs = [nbformat.v4.new_output("error", ename="NotRun", evalue=why)]
    return before


def _forget(course: Path, name: str, submissions: list[Submission]) -> None:
    """Remove what has run of submissions that are no longer there."""
    present = {submission.student for submission in submissions if submission.notebooks}
    for home in (course / RUN).glob(f"*/{name}"):
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
    """Say of each exercise how many passed, and which misconception was met most."""
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
    """Return rows as CSV, with the byte-order mark by which Excel knows UTF-8."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(kind)], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in asdict(row).items()} for row in rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def _cell(value: str | float) -> str:
    """Return a value that fills one cell, and that no spreadsheet takes for a formula.

    A semicolon separates cells where the comma is the decimal sign.
    """
    if not isinstance(value, str):
        return f"{value:g}"
    value = re.sub(r"\x1b\[[\d;]*m", "", value).encode("utf-8", "replace").decode()
    value = " ".join(value.replace(";", ",").split())[:2000]
    value = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    first = unicodedata.normalize("NFKC", value[:1])
    return f"'{value}" if first in ("=", "+", "-", "@", "|") else value
