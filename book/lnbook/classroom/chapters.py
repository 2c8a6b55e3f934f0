"""Read exercises, solutions and quizzes from the chapters, with the code that they need.

Homework and exports are generated from the pages; nothing is duplicated.
"""

import ast
import builtins
import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lnbook import exercises

LABEL = re.compile(r":label: (\S+)")
SOLUTION = re.compile(r"`{3,}\{solution-start\} (\S+)")
SCOPES = (
    *(ast.FunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
FENCE = re.compile(r"^`{3,}(?:\{[a-z-]+\}.*)?$\n?(?:^:[a-z]+:.*$\n?)*", re.M)


@dataclass
class Task:
    """An exercise of a chapter.

    Args:
        name: Its name, as in :func:`lnbook.exercises.check`.
        chapter: The name of the notebook.
        title: The title of the chapter.
        text: The task with its hints, in Markdown.
        starter: The code that readers complete, without the check.
        answer: The expression that is passed to the check.
        before: All statements of the chapter before the exercise.
        solution: The code of the solution, without the check and what follows it.
        why: The chapter's explanation of the solution.
    """

    name: str
    chapter: str
    title: str
    text: str
    starter: str
    answer: str
    before: list[ast.stmt] = field(repr=False)
    solution: str = ""
    why: str = ""

    @property
    def binds(self) -> set[str]:
        """The names that the starter assigns."""
        return set().union(*map(bound, ast.parse(self.starter).body))

    @property
    def needs(self) -> list[str]:
        """The statements of the chapter that the starter, the solution and the answer need."""
        return needs(self.before, f"{self.starter}\n{self.solution}\n{self.answer}")


def book() -> Path:
    """Return the folder of the chapters.

    Raises:
        ValueError: If there is none, as in an installed wheel.
    """
    folder = exercises.HERE.parent
    if not (folder / "introduction.ipynb").exists():
        raise ValueError(
            "the chapters must be next to lnbook, but this copy was installed without them; "
            "run it in a clone of the book"
        )
    return folder


def in_order() -> list[str]:
    """Return the names of the chapters, in the order of the book."""
    order = (book().parent / "_toc.yml").read_text("utf-8")
    known = (path.stem for path in book().glob("*.ipynb"))
    return sorted(known, key=lambda name: order.index(f" {name}\n"))


def cells(path: Path) -> list[dict]:
    """Return the cells of a notebook, except those that only assert, with sources as strings."""
    notebook = json.loads(path.read_text("utf-8"))
    return [
        cell | {"source": "".join(cell["source"])}
        for cell in notebook["cells"]
        if "remove-cell" not in cell["metadata"].get("tags", [])
    ]


@functools.cache
def tasks(chapter: str) -> dict[str, Task]:
    """Return the exercises of a chapter by name, in order."""
    all_cells = cells(book() / f"{chapter}.ipynb")
    title = re.search(r"^# (.+)$", all_cells[0]["source"], re.M)[1]
    labeled: dict[str, Task] = {}
    before: list[ast.stmt] = []
    room, text, label = None, "", ""
    for cell in all_cells:
        source = cell["source"]
        if cell["cell_type"] == "code":
            if room == "task":
                labeled[label] = _task(chapter, title, text, source, list(before))
            elif room != "solution":
                before += ast.parse(source).body
            else:
                checked = "exercises.check(" in source
                labeled[label].solution += (_parts(source)[0] if checked else source) + "\n"
            continue
        for part in re.split(
            r"^(?=`{3,}\{(?:exercise|solution)-(?:start|end)\})", source, flags=re.M
        ):
            if "{exercise-start}" in part:
                room, label, text = "task", LABEL.search(part)[1], plain(part)
            elif result := SOLUTION.match(part):
                room, label = "solution", result[1]
                labeled[label].why = plain(part)
            elif "-end}" in part.partition("\n")[0]:
                room = None
            elif room == "solution":
                labeled[label].why += "\n\n" + plain(part)
    return {task.name: task for task in labeled.values()}


def _parts(source: str) -> tuple[str, list[ast.expr]]:
    """Split a cell into the code before the check, and the arguments of the check."""
    for statement in ast.parse(source).body:
        if ast.unparse(statement).startswith("exercises.check("):
            lines = source.splitlines()[: statement.lineno - 1]
            return "\n".join(lines).rstrip(), statement.value.args
    raise ValueError(f"a cell of an exercise must call exercises.check, got {source!r}")


def _task(chapter: str, title: str, text: str, source: str, before: list[ast.stmt]) -> Task:
    starter, (name, answer) = _parts(source)
    return Task(name.value, chapter, title, text, starter, ast.unparse(answer), before)


def plain(text: str) -> str:
    """Convert the book's Markdown to plain Markdown, without fences, labels and roles."""
    text = FENCE.sub("", text)
    text = re.sub(r"\{doc\}`(\w+)`", lambda match: f"the page *{match[1]}* of the book", text)
    text = re.sub(r"\{eq\}`([\w-]+)`", "the equation of this chapter", text)
    text = re.sub(r"\{cite:[pt]\}`([^`]+)`", _cited, text)
    text = re.sub(r"\{term\}`([^`<]+)`", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"*\1*", text)
    return text.strip()


def _cited(match: re.Match) -> str:
    """Convert the keys of a citation: `Wu2018` becomes `(Wu, 2018)`."""
    keys = match[1].split(",")
    return "({})".format("; ".join(re.sub(r"^(\D+)(\d+[a-z]?)$", r"\1, \2", key) for key in keys))


# Dependencies of code.


def bound(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns at its own level."""
    names = set()
    for child in _level(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            names.add(child.name)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in child.names}
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(child.id)
    return names


def _level(node: ast.AST) -> Iterable[ast.AST]:
    """Walk a statement, but not into nested scopes."""
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _level(child)


def changed(statement: ast.stmt) -> set[str]:
    """Return the names of objects that a statement modifies, as in ``p["b"] = 0``."""
    stored = (ast.Subscript, ast.Attribute)
    targets = [n for n in _level(statement) if isinstance(n, stored)]
    bases = [n.value for n in targets if isinstance(n.ctx, ast.Store)]
    return {base.id for base in bases if isinstance(base, ast.Name)}


def used(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read before assigning them."""
    names: set[str] = set()
    have: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.For):  # the loop variable is assigned before the body
            within = used(statement.body) - bound(statement.target)
            names |= (used([ast.Expr(statement.iter)]) | within) - have
            have |= bound(statement)
            continue
        if isinstance(statement, ast.With):  # the head is followed by the body
            heads = [ast.Expr(item.context_expr) for item in statement.items]
            targets = [item.optional_vars for item in statement.items if item.optional_vars]
            own = set().union(*map(bound, targets))
            names |= (used(heads) | (used(statement.body) - own)) - have
            have |= bound(statement)
            continue
        if isinstance(statement, ast.If):  # each branch only sees its own assignments
            parts = ([ast.Expr(statement.test)], statement.body, statement.orelse)
            names |= set().union(*map(used, parts)) - have
            have |= bound(statement)
            continue
        name_nodes = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        inner = {n.id for n in name_nodes if isinstance(n.ctx, ast.Store)} - bound(statement)
        inner |= {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}
        named = (n for n in ast.walk(statement) if isinstance(n, ast.FunctionDef | ast.ClassDef))
        inner |= {n.name for n in named} - bound(statement)
        handlers = (n for n in ast.walk(statement) if isinstance(n, ast.ExceptHandler))
        inner |= {handler.name for handler in handlers if handler.name}
        names |= {n.id for n in name_nodes if isinstance(n.ctx, ast.Load)} - have - inner
        have |= bound(statement)
    return names - set(dir(builtins))


def needs(before: list[ast.stmt], code: str) -> list[str]:
    """Return the statements of a chapter that a piece of code needs, in order.

    Only the imported names that are used are kept.
    """
    wanted, selected = used(ast.parse(code).body), []
    for statement in reversed(before):
        got = (bound(statement) | changed(statement)) & wanted
        if isinstance(statement, ast.Expr) or not got:
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = [a for a in statement.names if (a.asname or a.name).split(".")[0] in got]
            statement = type(statement)(**{**vars(statement), "names": names})
        wanted = (wanted - bound(statement)) | used([statement])
        selected.append(ast.unparse(statement))
    return selected[::-1]
