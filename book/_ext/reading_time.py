"""Estimate of the time that a chapter takes, from the content of its notebook.

This module only needs the standard library, because ``tools/live.py`` imports it, too.
"""

import re

# Words and lines of code per minute, and minutes per item.
PACE = {
    "words": 200,
    "code_lines": 12,
    "formulas": 0.25,
    "tables": 0.5,
    "explorers": 1.0,
    "widgets": 2.0,
    "challenges": 0.75,
    "questions": 0.75,
    "exercises": 5.0,
}
# The interactive figures of ``lnbook.show``. Apart from the explorer, each plays something back or
# trains a network, which takes time to watch.
WIDGETS = (
    "ActivationMaps", "AttentionReplay", "CaptionRanking", "DrawReplay", "HandwritingReplay",
    "LiveRun", "NormTable", "Playground", "SentenceNeighbors", "Sphere", "TransformerWidget",
)  # fmt: skip
FIGURES = ("Explorer", *WIDGETS)
# Widgets whose challenges ask for a prediction; a test counts the challenges.
CHALLENGES = {"Playground()": 10, "TransformerWidget()": 5}
NOT_SHOWN = {"hide-input", "remove-input", "remove-cell"}
#: Maps the title of a folded section to its name in counts.
FOLDED = {"Quiz": "questions", "Exercises": "exercises", "Notes": "notes"}


def split_notebook(notebook):
    """Return the cells of the main line, of the folded topics, and of the rest of a notebook.

    The built page folds the quiz, the exercises, the notes, and the topics: the sections of the
    third level of a page with a quiz. A Markdown cell is cut at its headings, so that each piece
    belongs to one section.
    """
    cells = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        markdown = cell["cell_type"] == "markdown"
        parts = re.split(r"^(?=###? )", source, flags=re.M) if markdown else [source]
        cells += [cell | {"source": part} for part in parts]
    folds = any(cell["source"].startswith("## Quiz") for cell in cells)
    main, topics, rest = [], [], []
    now = main
    for cell in cells:
        if cell["cell_type"] == "markdown" and (title := re.match(r"(###?) (.+)", cell["source"])):
            if title[1] == "##":
                now = rest if title[2] in FOLDED else main
            elif folds and now is not rest:
                now = topics
        now.append(cell)
    return main, topics, rest


def words(text):
    """Return the words of a text, without formulas, link targets, roles and tags."""
    markup = r"\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|{[a-z:]+}`[^`]*`|<[^>]+>"
    return re.findall(r"[^\W\d_][\w'’-]*", re.sub(markup, " ", text, flags=re.S))


def calls(names, code):
    """Return the number of lines that begin with a call of one of the functions."""
    return len(re.findall(rf"^(?:{'|'.join(names)})\(", code, re.M))


def counts(cells):
    """Count everything in the cells that takes time to read or do."""
    prose = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    prose = re.sub(r"<details.*?</details>|`{3,}.*?`{3,}", " ", prose, flags=re.S)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    tags = [set(cell.get("metadata", {}).get("tags", [])) for cell in code]
    shown = [cell["source"] for cell, tag in zip(code, tags, strict=True) if not tag & NOT_SHOWN]
    drawn = [cell["source"] for cell, tag in zip(code, tags, strict=True) if "hide-input" in tag]
    everything = "\n".join(cell["source"] for cell in code)
    lines = everything.splitlines()
    return {
        "words": len(words(prose)),
        "code_lines": sum(bool(line.strip()) for source in shown for line in source.splitlines()),
        "formulas": len(re.findall(r"\$\$.+?\$\$", prose, re.S)),
        "tables": sum(bool(re.search(r"^figures\.\w+\(", source, re.M)) for source in drawn),
        "explorers": calls(("Explorer", r"diagrams\.\w+"), everything),
        "widgets": calls(WIDGETS, everything) - sum(line in CHALLENGES for line in lines),
        "challenges": sum(CHALLENGES.get(line, 0) for line in lines),
        "questions": len(re.findall(r"^    (?:choose|number|order)\(", everything, re.M)),
        "exercises": len(re.findall(r"{exercise-start}", "\n".join(c["source"] for c in cells))),
    }


def measures(notebook):
    """Return the counts of the main line, of the folded topics, and of quiz and exercises."""
    main, topics, rest = split_notebook(notebook)
    folded = counts(rest)
    result = counts(main) | {name: folded[name] for name in ("questions", "exercises")}
    titles = [cell for cell in topics if cell["source"].startswith("### ")]
    return result | {"topics": len(titles), "topic_minutes": time(counts(topics))}


def time(counted):
    """Return the minutes for the counted items, without quiz and exercises."""
    per_minute = ("words", "code_lines")
    each = ("formulas", "tables", "explorers", "widgets", "challenges")
    result = sum(counted[name] / PACE[name] for name in per_minute)
    return result + sum(counted[name] * PACE[name] for name in each)


def minutes(counted):
    """Return the minutes for the main line and for the folded parts, in multiples of 5."""
    folded = sum(counted[name] * PACE[name] for name in ("questions", "exercises"))
    folded += counted["topic_minutes"]
    return tuple(max(5, 5 * round(m / 5)) if m else 0 for m in (time(counted), folded))


def minutes_text(counted):
    """Return the minutes for the main line and, after a plus sign, for the folded parts."""
    reading, folded = minutes(counted)
    return f"{reading} + {folded} min" if folded else f"{reading} min"
