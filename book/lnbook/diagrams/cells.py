"""One step of the paper's LN-LSTM (eqs. 20-22) and LN-GRU (eqs. 26-28), as boxes and arrows.

A test evaluates each diagram box by box and compares the result with ``lnlib.cells``.
"""

from lnbook.diagrams.flow import Box, Flow, Wire


def _norm(column: float, row: float, what: str, k: int, text: str) -> Box:
    text = f"$LN({what}; α_{k}, β_{k})$: {text}"
    return Box("norm", column, row, "LN", text, note=f"α_{k}, β_{k}", tone="layer")


def _gate(column: float, row: float, gate: str, text: str, function: str = "σ") -> Box:
    label, wide = f"{function}({gate})", 36 if function == "tanh" else 25
    return Box("gate", column, row, label, f"${label}$: {text}", tone=f"gate-{gate}", wide=wide)


LSTM = Flow(
    {
        "h": Box("end", 0, 1.5, "h_{t−1}"),
        "x": Box("end", 0, 3.5, "x_t"),
        "c": Box("end", 0, 0, "c_{t−1}"),
        "b": Box("end", 2.25, 2.5, "b"),
        "W_h": Box("weight", 1, 1.5, "W_h", "$W_h h_{t−1}$: for all four gates, $4H$ numbers"),
        "W_x": Box("weight", 1, 3.5, "W_x", "$W_x x_t$: for all four gates, $4H$ numbers"),
        "norm_h": _norm(
            2, 1.5, "W_h h_{t−1}", 1, "the part from $h_{t−1}$; one mean over all $4H$ numbers"
        ),
        "norm_x": _norm(
            2, 3.5, "W_x x_t", 2, "the part from $x_t$; one mean over all $4H$ numbers"
        ),
        "sum": Box("sum", 3, 2.5, text="$(i, f, g, o)$: both normalized parts and the bias $b$"),
        "f": _gate(4.2, 1, "f", "how much of the old cell is kept"),
        "i": _gate(4.2, 2, "i", "how much of the candidate is added"),
        "g": _gate(4.2, 3, "g", "the candidate: what can be written", "tanh"),
        "o": _gate(4.2, 4, "o", "how much of the cell is output"),
        "keep": Box("times", 5.1, 0, text="$σ(f) ⊙ c_{t−1}$: what is kept"),
        "write": Box("times", 5.5, 2.5, text="$σ(i) ⊙ tanh(g)$: what is written"),
        "add": Box(
            "sum", 6, 0,
            text="$c_t = σ(f) ⊙ c_{t−1} + σ(i) ⊙ tanh(g)$: carried unchanged to the next step",
        ),
        "norm_c": _norm(6.9, 1.35, "c_t", 3, "the cell state, over $H$ units, only for the output"),
        "tanh": Box("block", 6.9, 2.65, "tanh", "$tanh(LN(c_t))$: between −1 and 1"),
        "show": Box("times", 6.9, 4, text="$h_t = σ(o) ⊙ tanh(LN(c_t; α_3, β_3))$: the output"),
        "c_next": Box("end", 8, 0, "c_t"),
        "h_next": Box("end", 8, 4, "h_t"),
    },
    (
        Wire("c", "keep", tone="cell"),
        Wire("keep", "add", tone="cell"),
        Wire("add", "c_next", tone="cell"),
        Wire("h", "W_h"),
        Wire("x", "W_x"),
        Wire("W_h", "norm_h"),
        Wire("W_x", "norm_x"),
        Wire("norm_h", "sum", "hv"),
        Wire("norm_x", "sum", "hv"),
        Wire("b", "sum"),
        Wire("sum", "f", 3.5),
        Wire("sum", "o", 3.5),
        Wire("sum", "i", 3.5),
        Wire("sum", "g", 3.5),
        Wire("f", "keep", "hv", tone="gate-f"),
        Wire("i", "write", "hv", tone="gate-i"),
        Wire("g", "write", "hv", tone="gate-g"),
        Wire("write", "add", "hv"),
        Wire("add", "norm_c", "hv", tone="cell", start=6.9),
        Wire("norm_c", "tanh"),
        Wire("tanh", "show"),
        Wire("o", "show", tone="gate-o"),
        Wire("show", "h_next"),
    ),
    "Three norms: of $W_h h_{t−1}$, of $W_x x_t$, and of the cell state before the output. The "
    "cell state that is carried to the next step is not normalized.",
)  # fmt: skip

GRU = Flow(
    {
        "h": Box("end", 0, 0, "h_{t−1}"),
        "x": Box("end", 0, 4.5, "x_t"),
        "W_h": Box("weight", 1.15, 1.5, "W_h", "$W_h h_{t−1}$: for both gates, $2H$ numbers"),
        "W_x": Box("weight", 1.15, 2.5, "W_x", "$W_x x_t$: for both gates, $2H$ numbers"),
        "U": Box("weight", 1.15, 3.5, "U", "$U h_{t−1}$: for the candidate, $H$ numbers"),
        "W": Box("weight", 1.15, 4.5, "W", "$W x_t$: for the candidate, $H$ numbers"),
        "norm_h": _norm(2.15, 1.5, "W_h h_{t−1}", 1, "both gates together, over $2H$ numbers"),
        "norm_x": _norm(2.15, 2.5, "W_x x_t", 2, "both gates together, over $2H$ numbers"),
        "norm_u": _norm(
            2.15, 3.5, "U h_{t−1}", 4, "the candidate, over $H$ numbers, before the reset gate"
        ),
        "norm_w": _norm(2.15, 4.5, "W x_t", 3, "the candidate, over $H$ numbers"),
        "sum": Box("sum", 3.1, 2, text="$(r, z)$: both normalized parts; there is no bias $b$"),
        "z": _gate(4.3, 1.5, "z", "how much of the old state the candidate replaces"),
        "r": _gate(4.3, 2.5, "r", "how much of the old state the candidate uses"),
        "reset": Box("times", 5.1, 3.5, text="$σ(r) ⊙ LN(U h_{t−1}; α_4, β_4)$: after the norm"),
        "candidate": Box(
            "sum", 5.6, 4.5,
            text="$LN(W x_t) + σ(r) ⊙ LN(U h_{t−1})$: both parts of the candidate",
        ),
        "n": Box(
            "gate", 6.35, 4.5, "tanh",
            "$n = tanh(LN(W x_t) + σ(r) ⊙ LN(U h_{t−1}))$: the candidate", tone="gate-n",
        ),
        "rest": Box("minus", 5.4, 0.75, text="$1 − σ(z)$: how much stays"),
        "keep": Box("times", 5.4, 0, text="$(1 − σ(z)) ⊙ h_{t−1}$: what stays"),
        "write": Box("times", 7.2, 1.5, text="$σ(z) ⊙ n$: what is new"),
        "add": Box(
            "sum", 7.2, 0, text="$h_t = (1 − σ(z)) ⊙ h_{t−1} + σ(z) ⊙ n$: state and output at once"
        ),
        "h_next": Box("end", 8, 0, "h_t"),
    },
    (
        Wire("keep", "add"),
        Wire("add", "h_next"),
        Wire("x", "W"),
        Wire("x", "W_x", 0.64, start=0.64),
        Wire("h", "U", 0.4, start=0.4, over=True),
        Wire("h", "W_h", 0.4, start=0.4),
        Wire("h", "keep"),
        Wire("W_h", "norm_h"),
        Wire("W_x", "norm_x"),
        Wire("U", "norm_u"),
        Wire("W", "norm_w"),
        Wire("norm_h", "sum", "hv"),
        Wire("norm_x", "sum", "hv"),
        Wire("sum", "z", 3.6),
        Wire("sum", "r", 3.6),
        Wire("norm_u", "reset"),
        Wire("r", "reset", "hv", tone="gate-r"),
        Wire("reset", "candidate", "hv"),
        Wire("norm_w", "candidate"),
        Wire("candidate", "n"),
        Wire("z", "rest", "hv", tone="gate-z", start=5.4),
        Wire("rest", "keep", tone="gate-z"),
        Wire("z", "write", tone="gate-z"),
        Wire("n", "write", "hv", tone="gate-n"),
        Wire("write", "add"),
    ),
    "Four norms: two over both gates together, and two over the parts of the candidate. The part "
    "of "
    "$h_{t−1}$ that is kept is not normalized.",
)  # fmt: skip
