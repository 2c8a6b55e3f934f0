"""The process in which one hand-in runs; the grader starts it and speaks to it in lines of JSON.

The first line says what runs beforehand, and the limits. Then ``run`` is a cell, and ``ask`` an
answer to an exercise, which goes back as data: this process is the hand-in's, so it judges nothing.
"""

import ast
import json
import linecache
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from lnbook import exercises
from lnbook.classroom import guard, wire
from lnbook.exercises import Function

FIND = exercises.find  # whatever a hand-in puts in its place


def main() -> None:
    """Read lines until there are no more."""
    inlet, outlet = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    told = json.loads(inlet.readline())
    names = types.ModuleType("__main__").__dict__
    names["display"] = lambda *args, **options: None
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__dict__.update(names)
    names = sys.modules["__main__"].__dict__
    error = run(told["setup"], names, "setup")
    folder = Path(told["folder"])
    guard.limit(told["memory"], told["file_size"], told["seconds"])
    landed = guard.land(folder)
    refused = guard.watch(folder, told["hidden"])
    _say(outlet, {"error": error, "landlock": landed, "refused": []})
    for line in inlet:
        told = json.loads(line)
        try:
            reply = answer(told, names) if "ask" in told else do(told, names)
        except BaseException as error:
            reply = {"error": said(error, None)}
        _say(outlet, reply | {"refused": refused()})


def _say(outlet: Any, message: dict) -> None:
    outlet.write(wire.line(message))
    outlet.flush()


def do(told: dict, names: dict) -> dict:
    """Run a cell; the names that its exercise is to bind are forgotten first."""
    for name in told["forget"]:
        names.pop(name, None)
    return {"error": run(told["run"], names, told["name"])}


def run(source: str, names: dict, name: str) -> str | None:
    """Run code and return what stopped it, ``None`` if nothing did."""
    lines = source.splitlines(keepends=True)
    if source.startswith("%%"):
        return None
    # What only IPython knows: magics and shell commands.
    source = "".join("\n" if line.lstrip()[:1] in ("%", "!", "?") else line for line in lines)
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), names)
    except BaseException as error:
        return said(error, file)
    return None


def said(error: BaseException, file: str | None) -> str:
    """Say what was raised, and in which line of the cell."""
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return f"the cell ends Python ({type(error).__name__})"
    if isinstance(error, MemoryError):
        return "the cell asks for more memory than there is for it"
    try:
        message = " ".join(str(error).split())[:300]
    except Exception:
        message = ""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        if file is not None and trace.tb_frame.f_code.co_filename == file:
            place = f" at `{linecache.getline(file, trace.tb_lineno).strip()[:70]}`"
        trace = trace.tb_next
    return f"{type(error).__name__}{f': {message}' if message else ''}{place}"


def answer(told: dict, names: dict) -> dict:
    """Return an answer as data; of a function, what it returns for each seed and case."""
    value = eval(compile(ast.parse(told["answer"], mode="eval"), "<answer>", "eval"), names)
    runs = []
    if callable(value) and isinstance(FIND(told["ask"]), Function):
        for seed in told["seeds"]:
            cases = FIND(told["ask"], seed=seed).run(value)
            runs.append([packed(case) for case in cases])
    return {"error": None, "value": wire.pack(value), "runs": runs}


def packed(case: exercises.Run) -> dict:
    """Return one case as data."""
    error = case.error and [type(case.error).__name__, " ".join(str(case.error).split())[:300]]
    args = [wire.pack(a) if _is_data(a) else wire.pack(None) for a in case.args]
    return {"args": args, "result": wire.pack(case.result), "error": error}


def _is_data(value: Any) -> bool:
    return isinstance(value, np.ndarray | list | dict)


if __name__ == "__main__":
    main()
