"""Hand-ins as they come: which notebook is whose, and what in it answers which exercise."""

import json
from collections.abc import Iterator
from pathlib import Path

LARGEST = 20 << 20  # bytes of a hand-in


def found(folder: Path, told: dict) -> Iterator[tuple[str, str, Path | None]]:
    """Yield student, chapter and notebook of each hand-in; ``None`` for one that is missing.

    A student is a folder, whatever folders are in that, or a single notebook. A notebook is known
    by its name or else by its cells; of several for one chapter the newest counts.
    """
    hand_ins: dict[str, dict[str, Path]] = {}
    for entry in sorted(folder.iterdir()):
        inner = entry / told["homework"]  # as nbgrader has it
        if entry.name.startswith(".") or not (entry.is_dir() or entry.suffix == ".ipynb"):
            continue
        paths = sorted((inner if inner.is_dir() else entry).rglob("*.ipynb"))
        if not entry.is_dir() or entry.is_symlink():
            paths = [entry]
        student = entry.name
        for path in paths:
            if ".ipynb_checkpoints" in path.parts:
                continue
            chapter = _chapter(path, told)
            if not entry.is_dir():
                student = entry.stem.replace(chapter or "", "").strip(" -_.") or entry.stem
            own = hand_ins.setdefault(student, {})
            if chapter and (chapter not in own or _age(own[chapter]) < _age(path)):
                own[chapter] = path
        hand_ins.setdefault(student, {})
    for student, notebooks in hand_ins.items():
        for chapter in told["notebooks"]:
            yield student, chapter, notebooks.get(chapter)


def _age(path: Path) -> float:
    return path.lstat().st_mtime


def _chapter(path: Path, told: dict) -> str | None:
    """Tell which of a homework's notebooks a file is."""
    if path.stem in told["notebooks"]:
        return path.stem
    try:
        regular = path.is_file() and path.stat().st_size <= LARGEST
        text = path.read_text("utf-8", "replace") if regular else ""
    except OSError:
        text = ""
    for chapter, sheet in told["notebooks"].items():
        if any(f'"{exercise["name"]}-check"' in text for exercise in sheet["exercises"]):
            return chapter
    return next((chapter for chapter in told["notebooks"] if chapter in path.stem), None)


def read(path: Path) -> list[dict]:
    """Return the cells of a hand-in.

    Raises:
        ValueError: If it is no notebook.
    """
    try:
        if path.is_symlink() or not path.is_file():
            raise ValueError("the file is a link or no file; put the notebook itself there")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"the file is over {LARGEST >> 20} MB")
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
        cells = []
        for cell in content["cells"]:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            meta = cell.get("metadata", {}).get("nbgrader", {})
            cells.append({"kind": cell["cell_type"], "id": meta.get("grade_id"), "source": source})
        return cells
    except (KeyError, TypeError, AttributeError):
        raise ValueError("the file is JSON, but no notebook") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError("the file is no notebook: not JSON") from None
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None


def plan(cells: list[dict], sheet: dict) -> list[dict]:
    """Return what to run and when to ask for which answer.

    A check asks where it stands, and again after a further attempt; where it was removed, the
    end of the exercise asks.
    """
    known = {exercise["name"]: exercise for exercise in sheet["exercises"]}
    steps: list[dict] = []
    now = None  # the exercise that we are in
    met, asked, tried = set(), set(), False

    def ask(name: str) -> None:
        steps.append({"ask": name, "answer": known[name]["answer"]})
        asked.add(name)

    for cell in cells:
        code = cell["kind"] == "code"
        grade_id = str(cell["id"])
        checks = next((n for n in known if code and f'exercises.check("{n}"' in cell["source"]), "")
        is_check = grade_id.endswith("-check")
        name = grade_id.removesuffix("-task").removesuffix("-check")
        name = next((n for n in (name, checks) if n in known), now)
        if name != now:
            if now and now not in asked:
                ask(now)
            now, tried = name, False
            if now not in met:
                met.add(now)
                steps.append({"forget": known[now]["binds"], "of": now})
        lines = cell["source"].strip().splitlines()
        bare = is_check and len(lines) == 1 and lines[0].startswith("exercises.check(")
        if code and not bare:  # the grader has checks of its own
            steps.append({"run": cell["source"], "of": now})
            tried = True
        if code and now and (is_check or checks == now) and (tried or now not in asked):
            ask(now)
            tried = False
    if now and now not in asked:
        ask(now)
    return steps
