"""Made-up hand-ins of one homework, most of them hostile or broken."""

import json

from lnbook import exercises

RIGHT = {
    "two-units": "prediction = np.array([[-1, 1], [1, -1], [-1, 1]])",
    "two-lines": "def normalize(x, eps):\n"
    "    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)\n"
    "    return (x - mean) / np.sqrt(var + eps)",
}
UNBIASED = RIGHT["two-lines"].replace("x.var(axis=1,", "x.var(axis=1, ddof=1,")
# Wherever the grader may listen.
WRITES = """
import os
for number in range(3, 20):
    try: os.write(number, LINE.encode() + b"\\n")
    except OSError: pass
"""
# What stands above the right answer to the first exercise, and what the table says of it.
HOSTILE = {
    "hangs": ("while True: print('more ' * 1000)", "stopped: not done after 2 seconds"),
    "exits": ("import sys; sys.exit()", "the cell ends Python (SystemExit)"),
    "ends": ("import os; os._exit(3)", "stopped: the cell ended the process with exit status 3"),
    "eats": ("full = np.ones(10**11)", "more memory than there is"),
    "imports": ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
    "forks": ("import os\nwhile True: os.fork()", "may not start a process"),
    "shells": ("import subprocess\nsubprocess.run(['rm', VICTIM])", "may not start a program"),
    "fills": ("for i in range(100): open(str(i), 'wb').write(b'0' * 10**8)", "File too large"),
    "writes": ("open(VICTIM, 'w').write('nobody')", "may not write outside its folder"),
    "erases": ("import shutil\nshutil.rmtree(FOLDER)", "may not change what is outside its"),
    "copies": ("print(open(VICTIM).read())", "may not read other hand-ins or the key"),
    "kills": ("import os\nos.kill(os.getppid(), 9)", "may not send a signal"),
    "answers": (
        WRITES.replace("LINE", """'{"refused": []}'"""),
        "stopped: the cell wrote into the grader's channel",
    ),
    "calls": ("import socket\nsocket.create_connection(('::1', 9))", "may not use the network"),
}
# Everything equals it, and the checker is content with everything.
LIES = """
import lnbook.exercises as e
class Yes:
    __eq__ = __le__ = __lt__ = lambda *args: True
e.check = e.fault = e.find = e.Value.fault = e.Function.fault = lambda *a, **k: None
np.allclose = lambda *a, **k: True
prediction = Yes()
"""


def by_heart(seed):
    """An answer that knows the outputs for one class's inputs, and nothing else."""
    exercise = exercises.find("two-lines", seed=seed)
    runs = exercise.run(exercise.reference)
    known = {repr(run.args[0].tolist()): run.result.tolist() for run in runs}
    return f"def normalize(x, eps):\n    return np.array({known!r}[repr(x.tolist())])"


def write(folder, released, seed):
    """Write a folder a student from the released notebook; return what the hostile are after."""
    victim = folder / "right" / "start.ipynb"
    content = json.loads(released.read_text("utf-8"))

    def hand_in(student, answers, drop=()):
        cells = []
        for cell in content["cells"]:
            name = cell["metadata"]["nbgrader"]["grade_id"]
            if name not in drop:
                cells.append(cell | {"source": answers.get(name, cell["source"])})
        (folder / student).mkdir(parents=True)
        text = json.dumps(content | {"cells": cells})
        (folder / student / "start.ipynb").write_text(text, "utf-8")

    hand_in("right", RIGHT)
    hand_in("starter", {})
    hand_in("unbiased", RIGHT | {"two-lines": UNBIASED})
    hand_in("by-heart", RIGHT | {"two-lines": by_heart(seed)})
    again = 'exercises.check("two-units", 0)\n' + RIGHT["two-units"]
    hand_in("again", RIGHT | {"two-units": "prediction = 0", "two-units-check": again})
    hand_in("removed", RIGHT, drop=("two-units", "two-lines-check"))
    hand_in("lies", RIGHT | {"two-units": LIES})
    for student, (code, _) in HOSTILE.items():
        code = code.replace("VICTIM", repr(str(victim))).replace("FOLDER", repr(str(folder)))
        hand_in(student, RIGHT | {"two-units": f"{code}\n{RIGHT['two-units']}"})
    for student, text in {"broken": '{"cells": [', "list": '[{"cells": []}]'}.items():
        (folder / student).mkdir()
        (folder / student / "start.ipynb").write_text(text, "utf-8")
    (folder / "linked").mkdir()
    (folder / "linked" / "start.ipynb").symlink_to(victim)
    (folder / "nothing").mkdir()
    return victim
