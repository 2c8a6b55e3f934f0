"""Tasks for sentence vectors: reading of the archives, and sampling of pairs."""

import hashlib
import io
import random
import zipfile

from lnlab.datasets import coco_val2017_layout as coco
from lnlab.datasets import sentence_tasks as tasks

FILMS = {"README.txt": b"[+1]##no", "rt-polarity.pos": b" good   one \ngo\xc3\xa9d\n\n",
         "rt-polarity.neg": b"bad\nworse\nworst\n"}  # fmt: skip
PLOTS = {"quote.tok.gt9.5000": b"i feel\nthey feel\n", "plot.tok.gt9.5000": b"he g\xe9es\n"}
FIVE = {"a.txt": b"[t] title\nzoom[+2], size[+1]##a  fine\tzoom\nsize[+1][u],zoom[-3]##mixed\n"
        b"##nothing said\n"}  # fmt: skip
NINE = {"b.txt": b"lid[-1]##a bad lid\nlid[-2]##a bad lid\nzoom[+1]##a fine zoom\nlid[-1]##\n"}


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as held:
        for name, body in files.items():
            held.writestr(zipfile.ZipInfo(f"folder/{name}"), body)
    return content.getvalue()


PAIR = b"1\ta\tb\n"
ARCHIVES = [zipped(files) for files in (FILMS, PLOTS, FIVE, NINE)]


def expected() -> dict[str, bytes]:
    """Return the derived files, computed by hand: sorted, then shuffled by one generator."""
    rows = {
        "mr": ["0\tbad", "0\tworse", "0\tworst", "1\tgood one", "1\tgoéd"],
        "subj": ["0\the gées", "1\ti feel", "1\tthey feel"],
        "cr": ["0\ta bad lid", "1\ta fine zoom"],
    }
    rng = random.Random(0)
    for lines in rows.values():
        rng.shuffle(lines)
    return {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in rows.items()}


def layouts() -> coco.Layouts:
    """Eight images: 0 and 4, 1 and 5, and so on, contain similar objects."""
    rows = [
        {"boxes": [[k % 4, 0, 0, 1, 1], [9, 0, 0, 1, 1], [10 + k, 0, 0, 1, 1]],
         "captions": [f"{k} {n}" for n in range(5)]}
        for k in range(8)
    ]  # fmt: skip
    return coco.Layouts("c", (), {"train": rows[:4], "val": rows[4:6], "test": rows[6:]}, "0" * 64)


def test_sentences_are_cleaned_labelled_sorted_and_shuffled_by_one_generator():
    assert tasks.to_tasks(*ARCHIVES) == expected()


def test_pairs_are_of_one_image_of_any_two_and_of_two_similar_images():
    rows = [line.split("\t") for line in tasks.pairs(layouts(), 8).decode().splitlines()]
    of = [(label, int(a.split()[0]), int(b.split()[0]), a == b) for label, a, b in rows]
    assert sorted(a for label, a, _, _ in of if label == "1") == list(range(8))
    assert all(a == b and not same for label, a, b, same in of if label == "1")
    others = [(a, b) for label, a, b, _ in of if label == "0"]
    assert len(others) == 16
    assert all(a != b for a, b in others)
    # Every image occurs once as the first of a pair with the most similar image.
    assert set(others) >= {(k, (k + 4) % 8) for k in range(8)}


def test_similarity_is_the_overlap_of_categories():
    kinds = [[0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 6], *([k] for k in range(10, 30))]
    rows = [
        {"boxes": [[c, 0, 0, 1, 1] for c in of], "captions": [f"{k} {n}" for n in range(5)]}
        for k, of in enumerate(kinds)
    ]
    made = coco.Layouts("c", (), {"train": rows, "val": [], "test": []}, "0" * 64)
    lines = tasks.pairs(made, len(rows)).decode().splitlines()
    pairs = [[int(text.split()[0]) for text in line.split("\t")[1:]] for line in lines]
    # Both times image 2, which has fewer other objects: at random, and as the most similar one.
    assert [b for a, b in pairs if a == 0 and b] == [2, 2]


def test_tasks_are_derived_and_supplied_pairs_have_priority(tmp_path, register, monkeypatch):
    monkeypatch.setattr(tasks.pairs, "__defaults__", (4,))
    monkeypatch.setattr(coco, "load", lambda folder: layouts())
    for name, content in zip(tasks.ARCHIVES, ARCHIVES, strict=True):
        register(f"{tasks.NAME}/{name}.zip", content)
        (tmp_path / f"{name}.zip").write_bytes(content)
    contents = expected() | {"caption_pairs_own": tasks.pairs(layouts()), "caption_pairs": PAIR}
    for name, content in contents.items():
        register(f"{tasks.NAME}/{name}.tsv", content)
    result = tasks.load(tmp_path)
    assert (0, "worst") in result.mr
    assert {row[0] for row in result.caption_pairs} == {0, 1}
    whole = b"".join(contents[n] for n in ("mr", "cr", "subj", "caption_pairs_own"))
    assert result.sha256 == hashlib.sha256(whole).hexdigest()
    assert str(result) == "sentences: 5 of MR, 2 of CR, 3 of SUBJ; 12 pairs of captions"
    (tmp_path / "caption_pairs.tsv").write_bytes(PAIR)
    assert tasks.load(tmp_path).caption_pairs == ((1, "a", "b"),)
