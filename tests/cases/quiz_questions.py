"""Questions of which the tests with and without a browser ask the same."""

from lnbook.show import choose, number, order

MEANS = choose(
    "How many *means* has `x[:32]`?",
    {
        "1": "No. One mean over the <table> would mix examples.",
        "`32`": "Yes: one for each example, if x < 2 & y.",
        "100, which is rather a long option, so that on a phone it takes two lines or more": "That "
        "is *batch norm*.",
    },
    answer="`32`",
)
LAST = number(
    "What is the last output, in `ms`?",
    1.155,
    atol=0.01,
    why="Yes: the standard deviation divides by H.",
    misconceptions={1.333: "That is the ratio of the variances.", 1.17: "Rounded too early."},
    hint="Subtract the mean first.",
    unit="ms",
)
STEPS = order(
    "Smallest first.",
    ["`1/4`", "*a half*", "1"],
    why="1/4 < 1/2 < 1.",
    misconceptions={("1", "*a half*", "`1/4`"): "You began with the largest."},
    hint="Compare two at a time.",
)
