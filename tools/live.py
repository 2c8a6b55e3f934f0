"""Open the chapters in JupyterLab; further arguments are passed to `jupyter lab`.

JupyterLab opens copies of the chapters in plain Markdown (``book/_ext/readers_copy.py``) in the
folder ``live``. Existing copies are not changed; delete a copy to get a new one. The first page
lists the chapters in order. If the script runs as root in a container, it allows JupyterLab to do
so; without a browser, JupyterLab only prints its URL. ``--write FOLDER`` writes the copies,
overwriting existing ones, and does not start JupyterLab.
"""

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
    copies = {folder / p.name: readers_copy.to_json(readers_copy.copy(p)) for p in missing}
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
    """Whether a browser window can be opened here."""
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
    """Write the copies and start JupyterLab in place of this process."""
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
