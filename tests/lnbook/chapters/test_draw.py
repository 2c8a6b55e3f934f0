"""Curves, rates and verdicts of DRAW are those of the records, whatever is recorded."""

from lnbook.chapters.draw import network


def test_the_drawing_s_one_way_from_the_digit_to_the_canvas_meets_both_norms():
    ways = {}
    for wire in network.FLOW.wires:
        ways.setdefault(wire.source, []).append(wire.target)
    way, kinds = ["x"], []
    while way[-1] in ways:
        way.append(ways[way[-1]][0])
        kinds.append(network.FLOW.boxes[way[-1]].label)
    assert kinds == ["read", "LSTM", "LN", "z", "LSTM", "LN", "write", "", "canvas"]
    assert ways["c"] == ["add", "read"]
    assert ways["norm_d"] == ["write", "h_next"]
