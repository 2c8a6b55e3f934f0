"""Estimate of the time that a chapter takes, from the content of its notebook.

This module only needs the standard library, because ``tools/live.py`` imports it, too.
"""

import re

# Words per minute of a second-language reader, and minutes per item.
PACE = {"words": 180, "explorers": 1.0, "questions": 0.75, "exercises": 5.0}
# The interactive figures of ``lnbook.show``.
FIGURES = (
    "ActivationMaps", "AttentionReplay", "CaptionRanking", "DrawReplay", "Explorer",
    "HandwritingReplay", "LiveRun", "NormTable", "Playground", "SentenceNeighbors", "Sphere",
    "TransformerWidget",
)  # fmt: skip


def main_line(notebook):
    """Return the Markdown of a notebook without exercises and folded parts."""
    prose, in_exercises = [], False
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            continue
        for part in re.split(r"^(?=## )", text, flags=re.M):
            if part.startswith("## "):
                in_exercises = part.startswith("## Exercises")
            if not in_exercises:
                prose.append(part)
    return re.sub(r"<details.*?</details>|`{3,}.*?`{3,}", " ", "\n".join(prose), flags=re.S)


def words(text):
    """Return the words of a text, without formulas, link targets, roles and tags."""
    markup = r"\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|{[a-z:]+}`[^`]*`|<[^>]+>"
    return re.findall(r"[^\W\d_][\w'’-]*", re.sub(markup, " ", text, flags=re.S))


def measures(notebook):
    """Return the number of words, explorers, questions and exercises of a notebook."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    code = "\n".join(source for kind, source in cells if kind == "code")
    prose = "\n".join(source for kind, source in cells if kind == "markdown")
    return {
        "words": len(words(main_line(notebook))),
        "explorers": len(re.findall(rf"^(?:{'|'.join(FIGURES)}|diagrams\.\w+)\(", code, re.M)),
        "questions": len(re.findall(r"^    (?:choose|number|order)\(", code, re.M)),
        "exercises": len(re.findall(r"{exercise-start}", prose)),
    }


def minutes(counted):
    """Return the minutes for reading and for the exercises, each rounded to multiples of 5."""
    reading = counted["words"] / PACE["words"]
    reading += sum(PACE[name] * counted[name] for name in ("explorers", "questions"))
    working = PACE["exercises"] * counted["exercises"]
    return tuple(max(5, 5 * round(m / 5)) if m else 0 for m in (reading, working))
