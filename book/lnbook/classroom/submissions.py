"""Read submissions: identify the student and the notebook, and select the cells to run."""

import itertools
import json
import re
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat

LARGEST = 20 << 20  # maximum size of a notebook in bytes
FILES_LARGEST = 50 << 20  # maximum total size of the other files of a student
ARCHIVES = (".7z", ".rar", ".gz", ".tgz", ".bz2", ".xz", ".tar")
MOODLE = "_assignsubmission_"  # part of each folder name in the archive of a class from Moodle


@dataclass
class SubmittedFile:
    """A file of a submission, in a folder or in an archive."""

    path: PurePosixPath
    age: float
    size: int
    read: Callable[[], bytes]


@dataclass
class Submission:
    """The submission of one student.

    Args:
        student: The name of the folder or file, in characters that nbgrader accepts.
        notebooks: By chapter; the newest, if there are several.
        files: The other files, by relative path.
        problems: What could not be used, in one sentence each.
    """

    student: str
    notebooks: dict[str, SubmittedFile] = field(default_factory=dict)
    files: dict[str, SubmittedFile] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def find_submissions(
    folder: Path, name: str, exercise_names: dict[str, list[str]], others: Iterable[str] = ()
) -> tuple[list[Submission], list[str]]:
    """Return the submissions in a folder, and a message about each entry that is not one.

    A submission is a folder, an archive or a single notebook.

    Args:
        folder: The folder of the submissions.
        name: The name of the homework.
        exercise_names: The exercises of each notebook of the homework.
        others: Names of other homework of the course, whose folders are skipped.
    """
    submissions: dict[str, Submission] = {}
    passed_over = []
    names: dict[str, str] = {}  # maps the names for nbgrader to those of folders and files
    for entry in sorted(folder.iterdir()):
        if _junk(entry.name):
            passed_over.append(f"skipped: {entry.name}, which was created by another program")
            continue
        groups = _students(entry, name, exercise_names, set(others))
        if not groups:
            passed_over.append(f"not graded: {entry.name}, neither a notebook nor an archive")
        for student, (members, problems) in groups.items():
            student = unicodedata.normalize("NFC", student)  # macOS decomposes accented letters
            if student not in names:
                names[student] = _free(_safe(student), names.values())
                if names[student] != _safe(student):
                    passed_over.append(
                        f"{student} is {names[student]} in the tables, since {_safe(student)} is "
                        "another student"
                    )
            own = submissions.setdefault(names[student], Submission(names[student]))
            own.problems += problems
            _sort(own, members, exercise_names)
    return list(submissions.values()), passed_over


def _junk(name: str) -> bool:
    known = ("__MACOSX", "Thumbs.db", "desktop.ini")
    return name.startswith((".", "~$")) or name in known


def _stem(entry: Path) -> str:
    return re.sub(r"(\.tar)?\.\w+$", "", entry.name) if entry.is_file() else entry.name


def _safe(student: str) -> str:
    """Return a name that nbgrader can search for and a file system can store."""
    return re.sub(r"[^\w .,@()'+&-]", "_", student).strip(" .") or "_"


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number appended if it is taken."""
    numbered = (f"{name}_{number}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def _students(
    entry: Path, name: str, exercise_names: dict[str, list[str]], others: set[str]
) -> dict[str, tuple[list[SubmittedFile], list[str]]]:
    """Return, for each student of an entry, the files and the reasons why others are unusable."""
    if entry.is_symlink():
        return {_stem(entry): ([], [f"{entry.name} is a link; put the notebook itself there"])}
    if entry.is_dir():
        inner = entry / name  # the structure of nbgrader
        home = inner if inner.is_dir() else entry
        members, problems = [], []
        for member in _walk(home):
            if inner.is_dir() or member.path.parts[0] not in others:
                members.append(member)
                if member.path.suffix.lower() == ".zip":
                    more, problem = _unpacked(home / member.path)
                    members, problems = members + more, problems + problem
        return {entry.name: (members, problems)}
    kind = entry.suffix.lower()
    if kind == ".ipynb":
        member = _member(entry, PurePosixPath(entry.name))
        chapter = _chapter(member, exercise_names) or ""
        student = entry.stem.replace(chapter, "").strip(" -_.") or entry.stem
        return {student: ([member], [])}
    if kind == ".zip":
        members, problems = _unpacked(entry)
        tops = {m.path.parts[0] for m in members}
        if tops and all(MOODLE in top for top in tops):
            return {top: ([m for m in members if m.path.parts[0] == top], []) for top in tops}
        return {_stem(entry): (members, problems)}
    if kind in ARCHIVES:
        return {_stem(entry): ([], [f"{entry.name}: such archives are not read; unpack it"])}
    return {}


def _unpacked(path: Path) -> tuple[list[SubmittedFile], list[str]]:
    """Return the files of a zip archive, or the reason why it cannot be read."""
    try:
        return list(_zipped(path)), []
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        return [], [f"{path.name} cannot be opened: {error}"]


def _member(path: Path, member_path: PurePosixPath) -> SubmittedFile:
    stat = path.stat()
    return SubmittedFile(member_path, stat.st_mtime, stat.st_size, path.read_bytes)


def _walk(folder: Path) -> Iterator[SubmittedFile]:
    """Yield the files below a folder, without following links."""
    for path in sorted(folder.rglob("*")):
        member_path = PurePosixPath(path.relative_to(folder).as_posix())
        if path.is_file() and not path.is_symlink() and not any(map(_junk, member_path.parts)):
            yield _member(path, member_path)


def _zipped(path: Path) -> Iterator[SubmittedFile]:
    """Yield the files of an archive without extracting them."""
    archive, age = zipfile.ZipFile(path), path.stat().st_mtime
    for info in archive.infolist():
        member_path = PurePosixPath(info.filename.replace("\\", "/"))
        inside = (
            member_path.parts and not member_path.is_absolute() and ".." not in member_path.parts
        )
        if not info.is_dir() and inside and not any(map(_junk, member_path.parts)):
            yield SubmittedFile(
                member_path, age, info.file_size, lambda info=info: archive.read(info)
            )


def _sort(
    own: Submission, members: list[SubmittedFile], exercise_names: dict[str, list[str]]
) -> None:
    """Sort the files of a student into notebooks and other files."""
    homes = []
    for member in members:
        if member.path.suffix.lower() == ".ipynb":
            chapter = _chapter(member, exercise_names)
            if chapter is None:
                own.problems.append(f"{member.path} holds no exercise of this homework")
            elif chapter not in own.notebooks or own.notebooks[chapter].age < member.age:
                own.notebooks[chapter] = member
            homes.append(member.path.parent)
    remaining = FILES_LARGEST
    for member in members:
        if member.path.suffix.lower() not in (".ipynb", ".zip"):
            home = next((h for h in homes if member.path.is_relative_to(h)), None)
            remaining -= member.size
            if home is not None and remaining >= 0:
                own.files[member.path.relative_to(home).as_posix()] = member
            elif home is not None:
                own.problems.append(f"{member.path} is left out: the files are over 50 MB")
    if not own.notebooks and not own.problems:
        names = ", ".join(str(m.path) for m in members[:3])
        own.problems.append(f"there is no notebook in it, only {names}" if names else "it is empty")


def _chapter(member: SubmittedFile, exercise_names: dict[str, list[str]]) -> str | None:
    """Return which notebook of the homework a file is, by its cells or else by its name."""
    try:
        text = member.read().decode("utf-8", "replace") if member.size <= LARGEST else ""
    except (OSError, RuntimeError, zipfile.BadZipFile, NotImplementedError):
        text = ""
    held = {
        chapter: sum(bool(re.search(rf"""check\(\\?["']{name}\\?["']""", text)) for name in names)
        for chapter, names in exercise_names.items()
    }
    most = max(held, key=held.get)
    if held[most]:
        return most
    stem = member.path.stem
    matches = [chapter for chapter in sorted(exercise_names, key=len) if chapter in stem]
    return matches[-1] if matches else (most if len(exercise_names) == 1 else None)


def read(member: SubmittedFile) -> nbformat.NotebookNode:
    """Return the notebook of a submission.

    Raises:
        ValueError: If it is not a notebook.
    """
    if member.size > LARGEST:
        raise ValueError(f"{member.path.name} is over {LARGEST >> 20} MB")
    try:
        text = member.read().decode("utf-8-sig")
        notebook = json.loads(text)
        if notebook["nbformat"] < 4:
            notebook = nbformat.reads(text, as_version=4)
        return nbformat.from_dict(
            {"cells": [_plain(cell) for cell in notebook["cells"]], "metadata": {}}
            | {"nbformat": 4, "nbformat_minor": 5}
        )
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{member.path.name} cannot be read: {error}") from None
    except Exception as error:  # the content is arbitrary
        kind = type(error).__name__
        raise ValueError(
            f"{member.path.name} is not a notebook ({kind}); hand it in again"
        ) from None


def _plain(cell: Any) -> dict:
    """Return a cell without outputs and with only the metadata that identify it."""
    source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    kind = cell["cell_type"] if cell["cell_type"] in ("code", "markdown") else "raw"
    named = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") or cell.get("id")
    plain = {"cell_type": kind, "metadata": {"named": str(named)}, "source": source}
    return plain | ({"execution_count": None, "outputs": []} if kind == "code" else {})


# Restoring the notebook that nbgrader expects.

HIDDEN = re.compile(r"^### BEGIN HIDDEN TESTS\n.*?^### END HIDDEN TESTS\n?", re.M | re.S)
SOLUTION = re.compile(r"^### BEGIN SOLUTION\n.*?^### END SOLUTION\n?", re.M | re.S)


def restore(
    submitted: nbformat.NotebookNode, source: nbformat.NotebookNode
) -> nbformat.NotebookNode:
    """Return a submission with the teacher's setup and tests, even if its metadata are damaged.

    The student's cells keep their order. Changes to a cell of the teacher are kept in a separate
    cell next to it. If a test occurs more than once, its last position counts; if it is missing, it
    is inserted after the exercise.

    Args:
        submitted: The submission, as :func:`read` returns it.
        source: The teacher's notebook.
    """
    originals = {cell.metadata.nbgrader.grade_id: cell for cell in source.cells}
    bare = {name: _released(cell) for name, cell in originals.items()}
    names = [_named(cell, bare) for cell in submitted.cells]
    last = {name: index for index, name in enumerate(names) if name}
    cells: list[tuple[str | None, dict]] = []
    for index, (cell, name) in enumerate(zip(submitted.cells, names, strict=True)):
        original, counts = originals.get(name), last.get(name) == index
        own = [(None, dict(cell, metadata={}))]
        if original is None:
            cells += own
        elif original.metadata.nbgrader.solution:
            meta = original.metadata if counts else {}
            cells.append((name, dict(cell, metadata=meta)))
        else:
            changed = cell.cell_type == "code" and cell.source.strip() != bare[name]
            pristine = [(name, original)] if counts else []
            extra = own if changed else []
            cells += extra + pristine if original.metadata.nbgrader.grade else pristine + extra
    for name, original in originals.items():
        if name not in last and (original.metadata.nbgrader.grade or name == "setup"):
            cells.insert(_insert_position(name, cells), (name, original))
    return nbformat.from_dict(
        {
            "cells": [_numbered(cell, index) for index, (_, cell) in enumerate(cells)],
            "metadata": source.metadata,
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def _released(cell: Any) -> str:
    return SOLUTION.sub("", HIDDEN.sub("", cell.source)).strip()


def _named(cell: Any, bare: dict[str, str]) -> str | None:
    """Return which cell of the teacher a cell is, by its name, its check or its text."""
    if cell.metadata.named in bare:
        return cell.metadata.named
    if cell.cell_type == "code":
        result = re.findall(r"""\bcheck\(\s*["']([\w-]+)["']""", cell.source)
        if result and f"{result[-1]}-check" in bare:
            return f"{result[-1]}-check"
    text = cell.source.strip()
    return next((name for name, source in bare.items() if source == text), None)


def _insert_position(name: str, cells: list[tuple[str | None, dict]]) -> int:
    """Return where to insert a missing cell: the setup first, a test after its exercise."""
    if name == "setup":
        return 0
    exercise = name.removesuffix("-check")
    positions = [i for i, (own, _) in enumerate(cells) if own in (exercise, f"{exercise}-task")]
    if not positions:
        return len(cells)
    after = positions[-1] + 1  # and after the student's additional cells
    while after < len(cells) and cells[after][0] is None:
        after += 1
    return after


def _numbered(cell: dict, index: int) -> dict:
    fields = {key: cell[key] for key in ("cell_type", "metadata", "source")}
    code = {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {}
    return fields | code | {"id": f"cell-{index}"}
