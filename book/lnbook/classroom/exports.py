"""Export the quizzes and the glossary of the book for other programs."""

from pathlib import Path

from lnbook.classroom import glossary, quizzes
from lnlab import atomic_write

FILES = {
    "quizzes-moodle.xml": quizzes.moodle,
    "quizzes.md": quizzes.markdown,
    "glossary.apkg": glossary.deck,
}


def write(folder: str | Path) -> list[Path]:
    """Write the quizzes for Moodle and as Markdown, and the glossary for Anki.

    Args:
        folder: The output folder.

    Returns:
        The paths of the files.

    Raises:
        ValueError: If the chapters are not available.
        OSError: If a file cannot be written.
    """
    paths = [Path(folder) / name for name in FILES]
    for path, make in zip(paths, FILES.values(), strict=True):
        exported = make()
        atomic_write.write(path, exported if isinstance(exported, bytes) else exported.encode())
    return paths
