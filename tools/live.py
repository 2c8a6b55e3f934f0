"""Open the chapters in JupyterLab; what follows the command goes to `jupyter lab`.

What opens are copies in plain Markdown (``book/_ext/readers_copy.py``), in the folder ``live``: a
copy that is there already is left as its reader left it; delete one to get it anew. The first page
lists the chapters in their order. As root, in a container, JupyterLab is told that this is meant;
without a browser it only prints its address. ``--write FOLDER`` writes the copies, over what is
there, and starts nothing.
"""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import readers_copy  # noqa: E402


def write(folder: Path, *, over: bool = False) -> list[Path]:
    """Write the copies that are missing, or all of them, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = sorted((ROOT / "book").glob("*.ipynb"))
    missing = [path for path in stored if over or not (folder / path.name).exists()]
    # All are made before the first is written, as a copy reads other chapters and may replace them.
    copies = {folder / p.name: readers_copy.text(readers_copy.copy(p)) for p in missing}
    for path, text in copies.items():
        path.write_text(text, "utf-8")
    return list(copies)


def command(folder: Path, options: list[str]) -> list[str]:
    """Return the command that starts JupyterLab on this machine."""
    arguments = [
        f"--ServerApp.root_dir={folder}",
        "--LabApp.default_url=/lab/tree/introduction.ipynb",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    if not browser():
        arguments.append("--no-browser")
    return [str(Path(sys.executable).with_name("jupyter")), "lab", *arguments, *options]


def browser() -> bool:
    """Whether a window of a browser could open here."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def main(arguments: list[str]) -> None:
    """Write the copies, and become JupyterLab."""
    if arguments[:1] == ["--write"]:
        write(Path(arguments[1]), over=True)
        return
    folder = ROOT / "live"
    written = write(folder)
    old = len(list(folder.glob("*.ipynb"))) - len(written)
    print(f"The chapters are in {folder}: {len(written)} new, {old} as you left them.", flush=True)
    started = command(folder, arguments)
    if "--no-browser" in started:
        print("No browser was found here: open the address that JupyterLab prints.", flush=True)
    os.execv(started[0], started)


if __name__ == "__main__":
    main(sys.argv[1:])
