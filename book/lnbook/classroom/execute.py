"""Run the notebooks of one submission, in their own process or container.

``python -m lnbook.classroom.execute FOLDER`` writes the outputs into the notebooks. It needs no
files of the teacher.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

MAX_OUTPUT_CHARS = 200_000  # maximum number of characters of a cell's output


class Client(NotebookClient):
    """Executes cells as Jupyter does, but truncates excessive output."""

    def process_message(self, msg: dict, cell: Any, cell_index: int) -> Any:
        """Process a message from the kernel, unless the cell has printed too much."""
        if msg["msg_type"] in ("stream", "display_data", "execute_result"):
            self.printed += len(str(msg["content"]))
            if self.printed > MAX_OUTPUT_CHARS:
                return None
        return super().process_message(msg, cell, cell_index)


def execute(path: Path, seconds: float, total: float) -> None:
    """Run the cells of a notebook and store their outputs.

    An exception in a cell does not stop the others. If a cell takes too long or ends the kernel, it
    is skipped, and all others run again in a new kernel.

    Args:
        path: The path of the notebook.
        seconds: Time limit per cell in seconds.
        total: Time limit for the notebook in seconds, including restarts.
    """
    notebook = nbformat.read(path, as_version=4)
    skipped: dict[int, tuple[str, str]] = {}
    end = time.monotonic() + total
    while True:
        failed = _run_cells(path, notebook, skipped, seconds, end)
        if failed is None:
            break
        skipped |= failed
    for index, (kind, why) in skipped.items():
        notebook.cells[index].outputs = [_error(kind, why)]
    nbformat.write(notebook, path)


def _run_cells(
    path: Path, notebook: Any, skipped: dict, seconds: float, end: float
) -> dict[int, tuple[str, str]] | None:
    """Run all cells once; return the cells that stopped the run, or ``None``."""
    client = Client(
        notebook,
        kernel_name="python3",
        allow_errors=True,
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(path.parent)}},
    )
    index = 0
    try:
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type != "code" or index in skipped:
                    continue
                left = end - time.monotonic()
                if left <= 0:
                    rest = range(index, len(notebook.cells))
                    late = ("NotRun", "the time for the whole notebook was over")
                    code = [i for i in rest if notebook.cells[i].cell_type == "code"]
                    skipped |= {i: late for i in code if i not in skipped}
                    return None
                cell.outputs, client.printed = [], 0
                client.timeout = max(1, round(min(seconds, left)))
                client.execute_cell(cell, index)
    except CellTimeoutError:
        return {index: ("TookTooLong", f"the cell was not done after {client.timeout} seconds")}
    except DeadKernelError:
        return {index: ("KernelEnded", "the cell ended Python, as when memory runs out")}
    return None


def _error(kind: str, why: str) -> Any:
    return nbformat.v4.new_output("error", ename=kind, evalue=why, traceback=[f"{kind}: {why}"])


def main() -> None:
    """Run all notebooks of a folder."""
    parser = argparse.ArgumentParser(prog="python -m lnbook.classroom.execute")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--total", type=float, default=600)
    args = parser.parse_args()
    for path in sorted(args.folder.glob("*.ipynb")):
        execute(path, args.seconds, args.total)


if __name__ == "__main__":
    main()
