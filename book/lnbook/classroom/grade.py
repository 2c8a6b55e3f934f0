"""Hand-ins into a table: who passed what, and which misconception stands behind the rest.

Each hand-in runs in a process of its own (``child``) that hands back what the functions return;
the book's checker judges that here, where no hand-in can reach it.
"""

import csv
import hashlib
import io
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lnbook import exercises
from lnbook.classroom import wire
from lnbook.classroom.cell_process import CellProcess, Ended, Limits
from lnbook.classroom.hand_ins import LARGEST, found, plan, read
from lnbook.classroom.homework import OTHER
from lnbook.exercises import Function, Measured
from lnlib import _files

# Beforehand, since it reaches past Python when it is imported and when it first trains.
TORCH = "import torch, torch._dynamo, lnlib.nn"


@dataclass
class Row:
    """One line of the table.

    Args:
        student: As the folder or file is called.
        chapter: The notebook.
        exercise: Its name.
        passed: 1 or 0.
        points: Those it is worth, if passed.
        misconception: What the checker says of a misconception that it knows.
        said: What it says of any other answer that is not right.
        error: What went wrong with the hand-in itself.
    """

    student: str
    chapter: str
    exercise: str
    passed: int = 0
    points: float = 0
    misconception: str = ""
    said: str = ""
    error: str = ""


def grade(
    folder: str | Path,
    *,
    homework: str | Path | None = None,
    out: str | Path | None = None,
    limits: Limits | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Path:
    """Grade a folder of hand-ins.

    What is graded is kept beside the table as it comes, so an interrupted run goes on where it
    was, and only hand-ins that have changed are run again.

    Args:
        folder: A folder or a notebook a student.
        homework: The file that :func:`lnbook.classroom.homework.make` wrote. ``None``: the one
            that lies beside ``folder``.
        out: The table. ``None``: ``grades.csv`` beside ``folder``.
        limits: What each hand-in may use.
        tell: Called with a sentence after each notebook.

    Returns:
        The table's path.

    Raises:
        ValueError: If there is no such folder or homework.
    """
    folder, limits = Path(folder), limits or Limits()
    if not folder.is_dir():
        raise ValueError(f"FOLDER must be a folder of hand-ins, got {folder}; look at its name")
    folder = folder.resolve()
    manifest = Path(homework) if homework else _beside(folder)
    told = _read_homework(manifest)
    out = Path(out) if out else folder.parent / "grades.csv"
    progress = out.with_suffix(".progress.jsonl")
    known = _done(progress)
    rows: list[Row] = []
    hidden = [str(folder), str(manifest.resolve().parent / "source")]
    hand_ins = list(found(folder, told))
    try:
        with progress.open("a", encoding="utf-8") as log:
            for at, (student, chapter, path) in enumerate(hand_ins, 1):
                mark = _mark(path, student, chapter, told, limits)
                new = mark not in known
                if new:
                    try:
                        known[mark] = grade_notebook(student, chapter, path, told, limits, hidden)
                    except Exception as error:  # one hand-in never ends the class
                        known[mark] = _not_graded(student, chapter, told, error)
                    else:
                        log.write(json.dumps([mark, [asdict(row) for row in known[mark]]]) + "\n")
                        log.flush()
                rows += known[mark]
                if new:
                    passed = sum(row.passed for row in known[mark])
                    tell(f"{at} of {len(hand_ins)}: {_safe(student)}, {chapter}: {passed} passed")
    finally:
        _files.write(out, table(rows).encode())
    return out


def _not_graded(student: str, chapter: str, told: dict, error: Exception) -> list[Row]:
    """Say that the grader itself failed; the next run tries again."""
    said = f"not graded: {type(error).__name__}: {str(error)[:200]}; grade again"
    names = [exercise["name"] for exercise in told["notebooks"][chapter]["exercises"]]
    return [Row(student, chapter, name, error=said) for name in names]


def _beside(folder: Path) -> Path:
    near = [path for path in sorted(folder.parent.glob("*.json")) if _is_homework(path)]
    if len(near) != 1:
        raise ValueError(
            f"beside {folder} must lie one homework's file, got {len(near)}; name it by --homework"
        )
    return near[0]


def _is_homework(path: Path) -> bool:
    try:
        return "homework" in json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, TypeError):
        return False


def _read_homework(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text("utf-8"))
        for sheet in told["notebooks"].values():
            for exercise in sheet["exercises"]:
                exercises.find(exercise["name"])
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; name another file") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} must be the file that homework wrote, got something else; make it again"
        ) from None
    return told


def _done(progress: Path) -> dict[str, list[Row]]:
    """Read what earlier runs have graded; a line cut off in the middle is graded again."""
    known = {}
    if progress.exists():
        for line in progress.read_text("utf-8", "replace").splitlines():
            try:
                mark, rows = json.loads(line)
                known[mark] = [Row(**row) for row in rows]
            except (ValueError, TypeError):
                continue
    return known


def _mark(path: Path | None, student: str, chapter: str, told: dict, limits: Limits) -> str:
    """Name a hand-in by all that its grades depend on."""
    try:
        sound = path and path.is_file() and path.stat().st_size <= LARGEST
        content = path.read_bytes() if sound else b""
    except OSError:
        content = b"?"
    parts = json.dumps([student, chapter, str(path), told, asdict(limits)], sort_keys=True)
    return hashlib.sha256(parts.encode("utf-8", "replace") + content).hexdigest()


def grade_notebook(
    student: str, chapter: str, path: Path | None, told: dict, limits: Limits, hidden: list[str]
) -> list[Row]:
    """Grade one notebook; whatever it is, there is a row for each exercise."""
    sheet = told["notebooks"][chapter]
    rows = {e["name"]: Row(student, chapter, e["name"]) for e in sheet["exercises"]}
    try:
        if path is None:
            raise ValueError("not handed in")
        steps = plan(read(path), sheet)
    except ValueError as error:
        for row in rows.values():
            row.error = str(error)
        return list(rows.values())
    for name in rows.keys() - {step["ask"] for step in steps if "ask" in step}:
        rows[name].error = "its cells are missing"
    points = {e["name"]: e["points"] for e in sheet["exercises"]}
    for name, reply in _replies(steps, sheet, told["seed"], limits, hidden):
        # A later attempt takes an earlier one's place.
        row = rows[name] = Row(student, chapter, name)
        if "value" in reply:
            judge(row, reply, told["seed"])
            row.points = points[name] * row.passed
        row.error = "; ".join(filter(None, [row.error, reply["error"]]))
    return list(rows.values())


def _replies(
    steps: list[dict], sheet: dict, seed: int, limits: Limits, hidden: list[str]
) -> Iterator[tuple[str, dict]]:
    """Yield the reply to each question; a step that ends the process is left out the next time."""
    setup = sheet["setup"]
    if any("torch" in step.get("run", "") for step in steps) or "torch" in setup:
        setup = f"{TORCH}\n{setup}"
    fatal: dict[int, str] = {}
    answered: set[int] = set()
    end = time.monotonic() + limits.total
    while True:
        died = None
        errors: dict[str | None, list[str]] = {}
        try:
            with CellProcess(setup, limits, hidden) as process:
                for at, step in enumerate(steps):
                    if at in fatal:
                        errors.setdefault(step.get("of"), []).append(fatal[at])
                        continue
                    if at in answered:
                        continue
                    died = at
                    if time.monotonic() > end:
                        raise Ended(f"stopped: over {limits.total:g} seconds in all")
                    if "ask" in step:
                        message = {**step, "seeds": [seed, seed + OTHER]}
                    else:
                        name = f"cell {at}"
                        message = {"run": step.get("run", ""), "name": name}
                        message["forget"] = step.get("forget", [])
                    before = list(process.refused)
                    reply = process.ask(message)
                    new = [f"homework may not {what}" for what in process.refused]
                    caught = [w for w in new if w.removeprefix("homework may not ") not in before]
                    if "ask" in step:
                        name = step["ask"]
                        before_it = [*errors.get(name, []), *errors.pop(None, [])]
                        if "NameError" not in str(reply["error"]) or not before_it:
                            before_it.append(reply["error"])  # else it only follows from those
                        every = filter(None, [*before_it, *caught])
                        reply["error"] = "; ".join(dict.fromkeys(map(str, every)))
                        answered.add(at)
                        yield name, reply
                    else:
                        error = [str(reply["error"])] if reply["error"] else []
                        error = error or caught
                        errors.setdefault(step["of"], []).extend(error)
            return
        except Ended as ended:
            why = str(ended)
            if died is None:  # not even the start
                died = next(i for i, s in enumerate(steps) if i not in answered)
            if "ask" in steps[died]:
                answered.add(died)
                yield steps[died]["ask"], {"error": why}
            else:
                fatal[died] = why
        if time.monotonic() > end:
            for at, step in enumerate(steps):
                if "ask" in step and at not in answered:
                    yield step["ask"], {"error": fatal.get(at - 1, why)}
            return


def judge(row: Row, reply: dict, seed: int) -> None:
    """Let the book's checker look at an answer, on the class's inputs and on others."""
    exercise = exercises.find(row.exercise)
    try:
        value = wire.unpack(reply["value"])
        seeds = [seed, seed + OTHER] if isinstance(exercise, Function) else [seed]
        for at, one in enumerate(seeds):
            if isinstance(value, wire.Stand) and isinstance(exercise, Function):
                value.runs = list(reply["runs"][at])
            said = exercises.fault(row.exercise, value, seed=one)
            if said is not None:
                break
    except Exception as error:  # whatever it is, it comes of what the hand-in has answered
        row.error = f"the answer cannot be read: {str(error)[:200]}"
        return
    known = exercise.wrong if isinstance(exercise, Function | Measured) else exercise.wrong.values()
    if said is None:
        row.passed = 1
    elif said in known:
        row.misconception = said
    else:
        row.said = f"{'right on the inputs of the class; ' * (at > 0)}{said}"


def summary(out: Path) -> list[str]:
    """Say of each exercise how many passed, and what misconception was met most often."""
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = []
    for name in dict.fromkeys(row["exercise"] for row in rows):
        own = [row for row in rows if row["exercise"] == name]
        line = f"{name}: {sum(row['passed'] == '1' for row in own)} of {len(own)} passed"
        met = Counter(row["misconception"] for row in own if row["misconception"])
        for sentence, times in met.most_common(1):
            line += f"; {times} × {sentence}"
        lines.append(line)
    return lines


def table(rows: list[Row]) -> str:
    """Write rows as CSV that a spreadsheet takes for text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Row.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _safe(value) for name, value in asdict(row).items()})
    return text.getvalue()


def _safe(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    value = " ".join(value.encode("utf-8", "replace").decode().split())
    value = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    return f"'{value}" if value[:1] in ("=", "+", "-", "@") else value
