"""Every color of the book: what it stands for, on a light page and on a dark one.

A color belongs to one thing, in every figure, diagram and table. Recorded against live, or one
form of a norm against another, is told by the line's style, and no color stands alone: beside it
there is a dash, a marker or a label. A figure is drawn with the light color (:data:`COLORS`); a
dark page draws its :data:`DARK` one in its place (``--ln-swap``, read by the page's scripts).
"""

from __future__ import annotations

__all__ = ["CARD", "COLORS", "DARK", "SOFT", "css", "mix", "soft", "swap"]

#: What a thing is called, its color on a light card, and on a dark one.
_THINGS = {
    # norms
    "none": ("#54565e", "#b8bbc2"),
    "layer": ("#2a7fd0", "#59abf2"),
    "batch": ("#c3540c", "#f37f2a"),
    "weight": ("#268956", "#3db36f"),
    "rms": ("#8a3db8", "#b27df5"),
    "group": ("#a08604", "#e8c84e"),
    "instance": ("#d637a3", "#ef5ea8"),
    # gates, and the cell between two steps
    "gate-i": ("#0a7571", "#8bdcee"),
    "gate-f": ("#93291f", "#dd8078"),
    "gate-g": ("#4636b4", "#a59bfb"),
    "gate-o": ("#6d8e1c", "#b4c24e"),
    "gate-r": ("#895d42", "#c79354"),
    "gate-z": ("#1c55a2", "#bdcfff"),
    "gate-n": ("#7d1f70", "#d97fd2"),
    "cell": ("#0f4f38", "#b0f0c0"),
    # optimizers
    "sgd": ("#9d6b2f", "#e4b16b"),
    "adam": ("#1782aa", "#45c1ef"),
    # above and below zero
    "positive": ("#cf3548", "#ff6670"),
    "negative": ("#0e8f98", "#2bb5b8"),
    # a norm in another form: batch norm in use, layer norm in other places than the chapter's
    "kept": ("#6b3312", "#fdb4a0"),
    "variant": ("#0b3d75", "#90c4ff"),
    # things that have no color of their own, in the order in which a figure has them
    "first": ("#396684", "#7da7ac"),
    "second": ("#7a5220", "#e3cead"),
    "third": ("#6a4877", "#ebc0f0"),
    "fourth": ("#637742", "#adb57a"),
    # what others are held against; what is followed; a frame
    "gray": ("#858991", "#7a8187"),
    "ink": ("#1c232c", "#e7ecf2"),
    # what a verdict says, as text
    "holds": ("#14683c", "#63c894"),
    "fails": ("#a3262b", "#ff9a9c"),
    "open": ("#7a5200", "#e3b85c"),
}
#: From a thing to the color that a figure is given, the one of the light page.
COLORS = {thing: light for thing, (light, _) in _THINGS.items()}
#: From a thing to what a dark page draws.
DARK = {thing: dark for thing, (_, dark) in _THINGS.items()}

CARD = ("#fafbfc", "#1a1f27")
LINE = ("#dfe3e8", "#39424f")
NUMBER = ("#14181e", "#ffffff")  # in the cells of a heat map
HEAT = 0.6  # share of a heat map's last color in its fullest cell, so that its number can be read
SOFT = 0.2  # share of a band's color
DARK_PAGE = (  # the book, JupyterLab, VS Code, Colab
    'html[data-theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    "html[theme=dark]",
)


def _parts(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


def mix(color: str, ground: str, share: float) -> str:
    """Return ``#rrggbb``: a share of a color on a ground, both ``#rrggbb``."""
    pairs = zip(_parts(color), _parts(ground), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def soft(color: str) -> str:
    """Return ``#rrggbb`` as a color that lets four fifths of what is behind it through."""
    return f"rgba({','.join(map(str, _parts(color)))},{SOFT})"


def swap() -> dict[str, str]:
    """Return from each color that a figure may have to what a dark page draws in its place."""
    pairs = {COLORS[thing]: DARK[thing] for thing in COLORS}
    return pairs | {soft(light): soft(dark) for light, dark in pairs.items()}


def css() -> str:
    """Return a style sheet with every color as ``--ln-<thing>``, on light pages and on dark."""
    light, dark = (
        {"card": CARD[k], "line": LINE[k], "number": NUMBER[k]}
        | things
        | {"low": mix(things["negative"], CARD[k], HEAT)}
        | {"high": mix(things["positive"], CARD[k], HEAT)}
        for k, things in enumerate((COLORS, DARK))
    )
    light["swap"] = '""'
    dark["swap"] = f'"{" ".join(f"{old}={new}" for old, new in swap().items())}"'

    def block(selector: str, names: dict[str, str]) -> str:
        lines = "".join(f"  --ln-{name}: {value};\n" for name, value in names.items())
        return f"{selector} {{\n{lines}}}\n"

    return block(":root", light) + block(", ".join(DARK_PAGE), dark)
