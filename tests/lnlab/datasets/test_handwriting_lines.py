"""Lines of handwriting, and cutting them."""

import numpy as np
import pytest

from lnlab.datasets.handwriting_lines import Line, cut


def line(lengths, text, known=True):
    """A line with given numbers of points per character; the space has none."""
    which = [k for k, character in enumerate(text) if character != " "]
    characters = np.repeat(which, lengths)
    strokes = np.arange(3 * len(characters), dtype=np.float32).reshape(-1, 3)
    return Line(text, strokes, "x", characters if known else None)


@pytest.mark.parametrize(
    ("length", "texts"),
    [
        (12, ["ab cd"]),
        (11, ["ab", "cd"]),  # 6 + 6
        (6, ["ab", "cd"]),
        (5, ["a", "b", "cd"[0], "d"]),  # no three parts are short enough
        (4, ["a", "b", "d"]),  # c by itself is too long
    ],
)
def test_lines_are_cut_between_characters_into_as_few_pieces_as_possible(length, texts):
    whole = line([2, 4, 5, 1], "ab cd")
    pieces = cut(whole, length)
    assert [piece.text for piece in pieces] == texts
    for piece in pieces:
        assert len(piece.strokes) == len(piece.characters) <= length
        # Each point still belongs to its character.
        first = whole.strokes[:, 0].tolist().index(piece.strokes[0, 0])
        known = whole.characters[first : first + len(piece.strokes)]
        assert [piece.text[k] for k in piece.characters] == [whole.text[k] for k in known]


def test_cutting_loses_no_points_if_no_character_is_too_long():
    rng = np.random.default_rng(0)
    for length in (9, 20, 33):
        whole = line(rng.integers(1, 9, 12), "abcdefghijkl")
        pieces = cut(whole, length)
        np.testing.assert_array_equal(np.concatenate([p.strokes for p in pieces]), whole.strokes)
        assert "".join(p.text for p in pieces) == whole.text


def test_without_characters_lines_are_truncated_with_all_of_the_text():
    (piece,) = cut(line([2, 4, 5, 1], "ab cd", known=False), 5)
    assert (piece.text, len(piece.strokes), piece.characters) == ("ab cd", 5, None)
    assert piece.strokes[0, 0] == 0
