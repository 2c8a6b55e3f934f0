"""Fourteen made-up hand-ins, most of them hostile or broken."""

import json

RIGHT = {
    "two-units": "prediction = np.array([[-1, 1], [1, -1], [-1, 1]])",
    "two-lines": "def normalize(x, eps):\n"
    "    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)\n"
    "    return (x - mean) / np.sqrt(var + eps)",
}
UNBIASED = RIGHT["two-lines"].replace("x.var(axis=1,", "x.var(axis=1, ddof=1,")
# What stands in the cell of the first exercise, above a right answer where there is one.
FIRST = {
    "hangs": "while True: pass",
    "prints": "while True: print('more ' * 1000)",
    "exits": "import sys; sys.exit()",
    "ends": "import os; os._exit(0)",
    "eats": "full = np.ones(10**11)",
    "imports": "import nowhere_to_be_found",
    "forks": "import os\nwhile True: os.fork()",
    "shells": "import subprocess\nsubprocess.run(['touch', {victim!r}])",
    "fills": "for i in range(100): open(str(i), 'wb').write(b'0' * 10**8)",
    "writes": "open({victim!r}, 'w').write('nobody')",
    "erases": "import os, shutil\nshutil.rmtree({folder!r})",
    "copies": "print(open({victim!r}).read())",
    "kills": "import os\nos.kill(os.getppid(), 9)",
    "lies": "import lnbook.exercises as e\n"
    "class Yes:\n"
    "    __eq__ = __le__ = __lt__ = lambda *args: True\n"
    "    __array__ = None\n"
    "e.check = e.fault = e.find = e.Value.fault = e.Function.fault = lambda *a, **k: None\n"
    "np.allclose = lambda *a, **k: True\n"
    "prediction = Yes()",
}


def write(folder, released):
    """Write a folder a student, made from the released notebook."""
    victim = folder / "right" / "start.ipynb"

    def hand_in(student, answers, drop=()):
        content = json.loads(released.read_text())
        for cell in content["cells"]:
            name = cell["metadata"]["nbgrader"]["grade_id"]
            cell["source"] = answers.get(name, cell["source"])
        kept = [c for c in content["cells"] if c["metadata"]["nbgrader"]["grade_id"] not in drop]
        (folder / student).mkdir(parents=True)
        (folder / student / "start.ipynb").write_text(json.dumps(content | {"cells": kept}))

    hand_in("right", RIGHT)
    hand_in("starter", {})
    hand_in("unbiased", RIGHT | {"two-lines": UNBIASED})
    hand_in("removed", RIGHT, drop=("two-units", "two-lines-check"))
    for student, code in FIRST.items():
        code = code.replace("{victim!r}", repr(str(victim)))
        code = code.replace("{folder!r}", repr(str(folder)))
        lies = student == "lies"
        own = code if lies else f"{code}\n{RIGHT['two-units']}"
        hand_in(student, RIGHT | {"two-units": own})
    (folder / "broken").mkdir()
    (folder / "broken" / "start.ipynb").write_text('{"cells": [')
    (folder / "list").mkdir()
    (folder / "list" / "start.ipynb").write_text('[{"cells": []}]')
    (folder / "nothing").mkdir()
    return victim
