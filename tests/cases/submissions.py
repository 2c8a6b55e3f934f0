"""Synthetic submissions of one homework: correct as students write them, wrong, and hostile."""

import json
import zipfile

from lnbook import exercises
from lnbook.classroom import chapters

SEED = 7
RIGHT = {task.name: task.solution for task in chapters.tasks("introduction").values()}
NAMES = list(RIGHT)

# Right answers, in cells that run in Jupyter.
HONEST = {
    "cell magics": {
        "two-units": "%%time\n{}",
        "small-inputs": "%%capture out\n{}",
        "two-lines": "%matplotlib inline\nimport matplotlib.pyplot as plt\n{}",
        "rest-of-the-batch": "!ls\nfiles = !ls\nget_ipython().run_line_magic('pwd', '')\n{}",
        "undo": "import asyncio\nawait asyncio.sleep(0)\n{}",
    },
    "lines": {
        "two-units": "%time prediction = np.array([[-1, 1], [1, -1], [-1, 1]])",
        "small-inputs": "rest = (7\n% 4)\nother = (1\n!= 2)\n{}",
        "two-lines": "import sys\n{}    # done\nprint('done', file=sys.stderr)",
        "rest-of-the-batch": "import helper\n{}\nraise ValueError('after the answer')",
        "undo": "import warnings\n%cd -q /\ndef undo(x):\n    warnings.warn('hm')\n"
        "    import sys; print('hm', file=sys.stderr)\n    return x.std(0), x.mean(0)",
    },
}
WRONG = {
    "two-units": "{}",
    "small-inputs": "eps = 1e-5",
    "two-lines": RIGHT["two-lines"].replace("x.var(axis=1,", "x.var(axis=1, ddof=1,"),
    "rest-of-the-batch": "def largest_change(norm, x, others):\n    return 1 / 0",
}
HOSTILE = {
    "two-units": "import os; os._exit(3)",
    "small-inputs": "while True: pass",
    "two-lines": "for i in range(20_000): print('=more;=more')\n"
    "from lnbook import exercises\nnormalize = exercises.find('two-lines').reference",
    "rest-of-the-batch": "from lnbook.chapters.introduction.exercises import EXERCISES\n"
    "largest_change = EXERCISES['rest-of-the-batch'].reference",
    "undo": "{}",
}


def by_heart():
    """An answer that only knows the outputs for the inputs of the open check."""
    exercise = exercises.find("undo", seed=SEED)
    known = {repr(run.args[0].tolist()): run.result for run in exercise.run(exercise.reference)}
    pairs = {x: [r.tolist() for r in results] for x, results in known.items()}
    return f"def undo(x):\n    return tuple(np.array(r) for r in {pairs!r}[repr(x.tolist())])"


def answered(content, answers, metadata=True):
    """A notebook with answers instead of the starters."""
    cells = []
    for cell in content["cells"]:
        name = cell["metadata"]["nbgrader"]["grade_id"]
        answer = answers.get(name, "").replace("{}", RIGHT.get(name, ""))
        cell = cell | {"source": answer or cell["source"]}
        cells.append(
            cell if metadata else {k: cell[k] for k in cell if k != "id"} | {"metadata": {}}
        )
    return content | {"cells": cells, "nbformat_minor": 5 if metadata else 4}


def moved(content):
    """A notebook whose student has moved, removed and rewritten cells of the teacher."""
    cells = {c["metadata"]["nbgrader"]["grade_id"]: c for c in answered(content, RIGHT)["cells"]}
    plain = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells["setup"]["source"] += "\nfrom numpy import array as table"
    cells["two-units"]["source"] = "prediction = 0"
    check = cells["two-units-check"]
    check["source"] = "prediction = table([[-1, 1], [1, -1], [-1, 1]])\n" + check["source"]
    del cells["small-inputs-check"]  # at its position is the right answer
    cells["two-lines"]["source"] = "def normalize(x, eps):\n    return x"
    again = [plain | {"id": "again", "source": RIGHT["two-lines"]}, cells["two-lines-check"]]
    del cells["rest-of-the-batch-task"]
    return content | {"cells": [*cells.values(), *again]}


def write(folder, released):
    """Write a folder of submissions, generated from the released notebook."""
    content = json.loads((released / "introduction.ipynb").read_text("utf-8"))
    for cell in content["cells"]:
        cell["source"] = "".join(cell["source"])

    def notebook(place, content):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(json.dumps(content, ensure_ascii=False), "utf-8")

    notebook("Zoë Łuk/homework/introduction.ipynb", answered(content, HONEST["cell magics"]))
    (folder / "Zoë Łuk" / "homework" / "._introduction.ipynb").write_bytes(b"\x00\x05\x16\x07")
    with zipfile.ZipFile(folder / "=1+1.zip", "w") as archive:
        lines = answered(content, HONEST["lines"], metadata=False)
        archive.writestr("work/Untitled 1.ipynb", json.dumps(lines))
        archive.writestr("work/helper.py", "")
        archive.writestr("__MACOSX/work/._Untitled 1.ipynb", "")
    notebook("moved.ipynb", moved(content))
    notebook("wrong/introduction.ipynb", answered(content, WRONG | {"undo": by_heart()}))
    notebook("hostile/introduction.ipynb", answered(content, HOSTILE))
    notebook("starter/nothing here/other.ipynb", {"cells": [], "metadata": {}, "nbformat": 4})
    (folder / "broken").mkdir()
    (folder / "broken" / "introduction.ipynb").write_text('{"cells": [', "utf-8")
    (folder / "list.ipynb").write_text('[{"cells": []}]', "utf-8")
    (folder / "linked").mkdir()
    (folder / "linked" / "introduction.ipynb").symlink_to(folder / "moved.ipynb")
    (folder / "empty").mkdir()
    (folder / "report").mkdir()
    (folder / "report" / "report.docx").write_bytes(b"PK")
    (folder / "torn.zip").write_bytes(b"PK\x03\x04")
    (folder / "packed.rar").write_bytes(b"Rar!")
    (folder / "notes.txt").write_text("")
    (folder / ".DS_Store").write_bytes(b"")
