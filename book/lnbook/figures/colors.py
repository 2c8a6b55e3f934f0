"""Every color of the book, with its meaning, for light and for dark pages.

A color has one meaning in all figures, diagrams and tables. Line styles distinguish recorded from
live runs, or variants of a norm. Color is never the only cue: there is also a dash, a marker or a
label. Figures are drawn with the light color (:data:`COLORS`); a dark page replaces it by the
:data:`DARK` one (``--ln-swap``, read by the page's scripts).
"""

#: Maps a meaning to its color on a light card and on a dark one.
_THINGS = {
    # norms
    "none": ("#474a52", "#b9bbc2"),
    "layer": ("#1f72c4", "#59abf2"),
    "batch": ("#bd4f08", "#f37f2a"),
    "weight": ("#1b8353", "#13be75"),
    "rms": ("#70279b", "#aa64f9"),
    "group": ("#7e7325", "#f0d943"),
    "instance": ("#b6219c", "#dd58af"),
    # gates, and the cell between two steps
    "gate-i": ("#0b5f66", "#8bdcee"),
    "gate-f": ("#860a16", "#ca7171"),
    "gate-g": ("#513acb", "#9893f6"),
    "gate-o": ("#46800c", "#adc943"),
    "gate-r": ("#9f6345", "#c3823c"),
    "gate-z": ("#1c55a2", "#bdcfff"),
    "gate-n": ("#90136d", "#d57be2"),
    "cell": ("#15423a", "#cffec2"),
    # optimizers
    "sgd": ("#895927", "#eec173"),
    "adam": ("#116999", "#14c6f6"),
    # positive and negative
    "positive": ("#cf3548", "#ff6670"),
    "negative": ("#0b7c85", "#2bb5b8"),
    # another variant of a norm: batch norm at inference, layer norm at other positions than the
    # chapter's
    "kept": ("#893b02", "#ffc8b3"),
    "variant": ("#192f5f", "#c2e4ff"),
    # series without a color of their own, in the order in which a figure uses them
    "first": ("#31566f", "#87b2b1"),
    "second": ("#6e3215", "#e2dea9"),
    "third": ("#603756", "#f2bffe"),
    "fourth": ("#55723f", "#bdaf62"),
    # the baseline; what is highlighted; a frame
    "gray": ("#696f77", "#82888e"),
    "ink": ("#1c232c", "#e7ecf2"),
    # verdicts, as text
    "holds": ("#1c6445", "#74ae7e"),
    "fails": ("#af1f3a", "#f6a9b3"),
    "open": ("#6c4c09", "#e7a326"),
}
#: Maps a meaning to the color of the light page, with which figures are drawn.
COLORS = {thing: light for thing, (light, _) in _THINGS.items()}
#: Maps a meaning to the color of the dark page.
DARK = {thing: dark for thing, (_, dark) in _THINGS.items()}

CARD = ("#fafbfc", "#1a1f27")
LINE = ("#dfe3e8", "#39424f")
ZERO = ("#eef1f4", "#232a34")  # the background of a bar
#: Text and controls: the page's own colors, or others in a notebook, which has none of these.
PAGE = {
    "text": ("var(--pst-color-text-base, var(--ln-ink))",) * 2,
    "soft": tuple(f"var(--pst-color-text-muted, {gray})" for gray in ("#5a6572", "#a2adb9")),
    "accent": ("var(--pst-color-primary, var(--ln-ink))",) * 2,
}
NUMBER = ("#14181e", "#ffffff")  # text in the cells of a heat map
HEAT = 0.6  # opacity of the most intense cell of a heat map, so that its number is readable
DARK_PAGE = (  # the book, JupyterLab, VS Code, Colab
    'html[data-theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
    "html[theme=dark]",
)


def _parts(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


def mix(color: str, ground: str, share: float) -> str:
    """Mix a color with a background; both, and the result, are ``#rrggbb``."""
    pairs = zip(_parts(color), _parts(ground), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def fade(color: str, share: float = 0.2) -> str:
    """Return ``#rrggbb`` as a translucent color."""
    return f"{_open(color)},{share:g})"


def _open(color: str) -> str:
    return f"rgba({','.join(map(str, _parts(color)))}"


def swap() -> dict[str, str]:
    """Map each light color of a figure to the dark color that replaces it.

    For a faded color (:func:`fade`), both are prefixes that end before the opacity.
    """
    pairs = dict([CARD]) | {COLORS[thing]: DARK[thing] for thing in COLORS}
    return pairs | {_open(light): _open(dark) for light, dark in pairs.items()}


def css() -> str:
    """Return a style sheet with every color as ``--ln-<name>``, on light and dark pages."""
    light, dark = (
        {"card": CARD[k], "line": LINE[k], "number": NUMBER[k], "zero": ZERO[k]}
        | {name: colors[k] for name, colors in PAGE.items()}
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
