"""Run chapters, and store only the text outputs of their cells.

Usage: python tools/notebooks.py [--check | --no-run] book/*.ipynb

Stream outputs, text/plain outputs and execution counts are kept; HTML, images, widget state and
timings are dropped, so that two runs give the same bytes and diffs are readable. The first code
cell of a chapter is for readers who open the notebook on its own; it contains the URL of the
repository from which this folder was cloned, if it is public. Code that a page folds or hides, and
solutions, are folded in JupyterLab, Notebook 7 and Colab, too. Messages of the checker about
exercises that have not been started are not part of a page. With ``--no-run``, the cells are not
run, and only the metadata is updated. With ``--check``, nothing is stored: the printed text is
compared with the stored text, and the exit code is 1 if it differs.
"""

import copy
import itertools
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import git_remote  # noqa: E402
from setup_cell import CELL, FOLDED, setup_cell, sources_in_repository  # noqa: E402

HIDING_TAGS = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def main(paths: list[str]) -> None:
    """Run and store each notebook."""
    os.environ.pop("LNLIB_STATIC", None)  # outputs as in JupyterLab, not as in the built book
    run, check = "--no-run" not in paths, "--check" in paths
    differs = False
    for path in (path for path in paths if not path.startswith("--")):
        stored = nbformat.read(path, as_version=4)
        notebook = with_setup_cell(copy.deepcopy(stored))
        if run:
            NotebookClient(
                notebook,
                timeout=300,
                kernel_name="python3",
                resources={"metadata": {"path": Path(path).parent}},
            ).execute()
        if check:
            result = differences(stored, notebook)
            differs = differs or bool(result)
            print(f"{path}: {len(result) or 'no'} cells differ", *result, sep="\n\n", flush=True)
            continue
        nbformat.write(folded(text_only(notebook)), path)
        print(f"{'ran' if run else 'normalized'} {path}")
    if differs:
        sys.exit(1)


def differences(stored: nbformat.NotebookNode, ran: nbformat.NotebookNode) -> list[str]:
    """Return a description of each cell whose printed text differs from the stored text."""
    before, after = (
        [c for c in notebook.cells if c.cell_type == "code"] for notebook in (stored, ran)
    )
    if [c.source for c in before] != [c.source for c in after]:
        return ["what ran has other code; build the book or run the notebook again"]
    return [
        f"{old.source}\n--- is stored with\n{texts(old)}\n--- and prints\n{texts(new)}"
        for old, new in zip(before, after, strict=True)
        if texts(old) != texts(new)
    ]


def texts(cell: nbformat.NotebookNode) -> list[tuple[str, str]]:
    """Return the stream or output type, and the text, of each text output of a cell."""
    results = []
    for output in merged(cell.outputs):
        text = output.text if output.output_type == "stream" else _plain(output)
        if text is not None:
            results.append((output.get("name", output.output_type), text))
    return results


def _plain(output: nbformat.NotebookNode) -> str | None:
    return output.get("data", {}).get("text/plain")


def with_setup_cell(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Insert the folded code cell that installs the library, in place, and return the notebook."""
    cells = [cell for cell in notebook.cells if cell.id != CELL]
    code = setup_cell(sources_in_repository(git_remote.repository_url(ROOT)))
    cell = nbformat.v4.new_code_cell(code, id=CELL, execution_count=1)  # it is the first cell
    cell.metadata = FOLDED | {"tags": ["remove-cell"]}
    first = next(k for k, existing in enumerate(cells) if existing.cell_type == "code")
    notebook.cells = [*cells[:first], cell, *cells[first:]]
    return notebook


def text_only(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Remove outputs that cannot be compared, in place, and return the notebook."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    numbers = itertools.count()
    for cell in notebook.cells:
        if cell.id != CELL:
            cell.id = f"cell-{next(numbers):02d}"
        if cell.cell_type != "code":
            continue
        cell.metadata.pop("execution", None)
        if cell.source.startswith("Quiz("):  # the code contains the answers
            cell.metadata["tags"] = ["remove-input"]
        for output in cell.outputs:
            if "data" in output:
                output.data = {k: v for k, v in output.data.items() if k == "text/plain"}
                output.metadata = {}
        cell.outputs = merged(o for o in cell.outputs if o.output_type == "stream" or o.get("data"))
    return notebook


def folded(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Fold, in place, cells that a page does not show initially, and return the notebook.

    JupyterLab and Notebook 7 read ``jupyter``, Colab reads ``cellView``.
    """
    solution = False
    for cell in notebook.cells:
        if cell.cell_type != "code":
            for end in re.findall(r"\{solution-(start|end)\}", cell.source):
                solution = end == "start"
            continue
        for key in ("cellView", "jupyter"):
            cell.metadata.pop(key, None)
        if solution:
            hidden = {"source_hidden": True, "outputs_hidden": True}
            cell.metadata |= FOLDED | {"jupyter": hidden}
        elif HIDING_TAGS & set(cell.metadata.get("tags", [])):
            cell.metadata |= FOLDED
        elif "exercises.check(" in cell.source:
            cell.metadata["tags"] = ["remove-output"]
    return notebook


def merged(outputs: Iterable[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Merge consecutive stream outputs, which the kernel splits at random positions."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


if __name__ == "__main__":
    main(sys.argv[1:])
