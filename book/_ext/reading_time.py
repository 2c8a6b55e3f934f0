"""How long a chapter takes, counted in its notebook.

It needs the standard library alone: ``tools/live.py`` imports it, too.
"""

import re

# Words a minute for a second-language reader; then minutes an item.
PACE = {"words": 180, "explorers": 1.0, "questions": 0.75, "exercises": 5.0}
# What a reader moves, by the names of ``lnbook.show``.
FIGURES = (
    "ActivationMaps", "AttentionReplay", "CaptionRanking", "DrawReplay", "Explorer",
    "HandwritingReplay", "LiveRun", "NormTable", "Playground", "SentenceNeighbors", "Sphere",
    "TransformerWidget",
)  # fmt: skip


def main_line(notebook):
    """Return the markdown that every reader passes: no exercise, nothing folded."""
    prose, exercising = [], False
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            continue
        for part in re.split(r"^(?=## )", text, flags=re.M):
            if part.startswith("## "):
                exercising = part.startswith("## Exercises")
            if not exercising:
                prose.append(part)
    return re.sub(r"<details.*?</details>|`{3,}.*?`{3,}", " ", "\n".join(prose), flags=re.S)


def words(text):
    """Return the words of a text, without formulas, links' targets, roles and tags."""
    markup = r"\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|{[a-z:]+}`[^`]*`|<[^>]+>"
    return re.findall(r"[^\W\d_][\w'’-]*", re.sub(markup, " ", text, flags=re.S))


def measures(notebook):
    """Count what takes a reader's time: words, explorers, questions, exercises."""
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
    """Return the minutes to read and play, and those for the exercises, to the next five."""
    reading = counted["words"] / PACE["words"]
    reading += sum(PACE[name] * counted[name] for name in ("explorers", "questions"))
    working = PACE["exercises"] * counted["exercises"]
    return tuple(max(5, 5 * round(m / 5)) if m else 0 for m in (reading, working))
