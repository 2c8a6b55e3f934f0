"""Tasks on which section 6.3 evaluates sentence vectors: three of the paper's, and caption pairs.

``mr``, ``cr`` and ``subj`` are the same as in the paper: sentiment of movie reviews, sentiment of
product reviews, and subjectivity. A line of a file is ``label<TAB>sentence``, with the words as
published. They are derived from four archives of NLTK's data at a fixed commit, byte for byte.
``cr`` has 3,730 sentences; the paper's copy has 3,775.

``caption_pairs`` replaces SICK, whose license (CC BY-NC-SA 3.0) excludes commercial use: of 3,000
pairs of captions of COCO val2017, 1,000 are of the same image (label 1). There are two versions of
this file. ``caption_pairs.tsv`` can be supplied in ``LNLIB_DATA``; the program that sampled its
pairs was not kept. :func:`pairs` samples other pairs of the same kinds with a fixed seed. The
SHA-256 in a record shows which version was read.

Sentences and labels are by Pang and Lee (2004, 2005), Hu and Liu (2004) and Liu (2007), under CC BY
4.0 according to NLTK's data; captions are COCO's, by Lin et al. (2014), under CC BY 4.0. Here they
are joined, split and shuffled.
"""

import functools
import hashlib
import io
import os
import random
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlab.datasets import coco_val2017_layout as coco
from lnlab.datasets import fetch

NAME = "sentence_tasks"
ARCHIVES = ("sentence_polarity", "subjectivity", "product_reviews_1", "product_reviews_2")
PAIRS = 1000  # pairs of captions of one image, of any two images, and of two similar images, each


@dataclass(frozen=True, eq=False)
class Tasks:
    """Sentences and pairs of sentences, each with its label, 0 or 1.

    Attributes:
        name: Name of the data set, as for :func:`lnlab.datasets.load`.
        mr: Sentences of movie reviews; 1 is positive.
        cr: Sentences of product reviews; 1 is positive.
        subj: Sentences; 1 is subjective.
        caption_pairs: Label and two captions; 1 if they are of the same image.
        sha256: SHA-256 of the concatenation of the four files, uncompressed.
    """

    name: str
    mr: tuple[tuple[int, str], ...]
    cr: tuple[tuple[int, str], ...]
    subj: tuple[tuple[int, str], ...]
    caption_pairs: tuple[tuple[int, str, str], ...]
    sha256: str

    def __str__(self) -> str:
        """Return the size of the data set in words."""
        three = ", ".join(f"{len(getattr(self, n)):,} of {n.upper()}" for n in ("mr", "cr", "subj"))
        return f"sentences: {three}; {len(self.caption_pairs):,} pairs of captions"


def load(folder: str | os.PathLike | None = None) -> Tasks:
    """Load the tasks, with ``caption_pairs.tsv`` if it is supplied.

    Folder and errors are as for :func:`lnlab.datasets.fetch.get_or_derive`.
    """

    @functools.cache
    def derive() -> dict[str, bytes]:
        return to_tasks(*(fetch.get(f"{NAME}/{file}.zip", folder) for file in ARCHIVES))

    contents = {
        task: fetch.get_or_derive([f"{NAME}/{task}.tsv"], lambda task=task: derive()[task], folder)
        for task in ("mr", "cr", "subj")
    }
    names = [f"{NAME}/caption_pairs.tsv", f"{NAME}/caption_pairs_own.tsv"]
    contents["caption_pairs"] = fetch.get_or_derive(names, lambda: pairs(coco.load(folder)), folder)
    return _read(contents)


def to_tasks(polarity: bytes, subjectivity: bytes, five: bytes, nine: bytes) -> dict[str, bytes]:
    """Return the three files of sentences, derived from the four archives.

    A sentence of the product reviews is positive if at least one feature is tagged ``[+n]`` and
    none ``[-n]``, and negative in the opposite case. Other sentences and duplicates are left out.
    Runs of white space are replaced by one space. The lines of each task are sorted and then
    shuffled by one ``random.Random(0)``, in the order mr, subj, cr.

    Args:
        polarity: ``sentence_polarity.zip``.
        subjectivity: ``subjectivity.zip``.
        five: ``product_reviews_1.zip``.
        nine: ``product_reviews_2.zip``.
    """
    films, plots = _texts(polarity), _texts(subjectivity)
    tasks = {
        "mr": _labelled(films["rt-polarity.pos"], films["rt-polarity.neg"]),
        "subj": _labelled(plots["quote.tok.gt9.5000"], plots["plot.tok.gt9.5000"]),
        "cr": _opinions([*_texts(five).values(), *_texts(nine).values()]),
    }
    rng, vectors = random.Random(0), {}
    for name, rows in tasks.items():
        rows.sort()
        rng.shuffle(rows)
        vectors[name] = _lines(rows)
    return vectors


def pairs(layouts: coco.Layouts, count: int = PAIRS) -> bytes:
    """Sample pairs of captions: of the same image, of any two images, and of two similar images.

    All samples are from ``random.Random(0)``, from the concatenated images of the splits train, val
    and test: ``count`` images without replacement for each of the three kinds. For the third kind,
    the other image is the one with the largest overlap of categories, ``|a & b| / |a | b|``, the
    first one of equals. The rows are then shuffled.

    Args:
        layouts: The captions, and the objects in the images.
        count: Number of pairs of each kind.
    """
    rng, rows = random.Random(0), []
    images = [row for split in ("train", "val", "test") for row in layouts.images[split]]
    kinds = [{box[0] for box in row["boxes"]} for row in images]
    for k in rng.sample(range(len(images)), count):
        rows.append(("1", *rng.sample(images[k]["captions"], 2)))
    for k in rng.sample(range(len(images)), count):
        other = (k + rng.randrange(1, len(images))) % len(images)
        rows.append(("0", *(rng.choice(images[i]["captions"]) for i in (k, other))))
    for k in rng.sample(range(len(images)), count):
        common = [len(kinds[k] & kind) / len(kinds[k] | kind) for kind in kinds]
        common[k] = -1.0
        other = common.index(max(common))
        rows.append(("0", *(rng.choice(images[i]["captions"]) for i in (k, other))))
    rng.shuffle(rows)
    return _lines(rows)


def _texts(archive: bytes) -> dict[str, str]:
    """Return the texts of an archive by name; a few have an older encoding."""
    results = {}
    with zipfile.ZipFile(io.BytesIO(archive)) as held:
        for path in held.namelist():
            content = held.read(path)
            try:
                results[Path(path).name] = content.decode()
            except UnicodeDecodeError:
                results[Path(path).name] = content.decode("cp1252")
    return results


def _clean(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def _labelled(ones: str, zeros: str) -> list[tuple[str, str]]:
    return [("1", line) for line in _clean(ones)] + [("0", line) for line in _clean(zeros)]


def _opinions(texts: Sequence[str]) -> list[tuple[str, str]]:
    results = set()
    for line in (line for text in texts for line in text.split("\n")):
        tags, mark, sentence = line.partition("##")
        signs = set(re.findall(r"\[([+-])\d\]", tags))
        if mark and len(signs) == 1 and sentence.strip():
            results.add(("1" if signs == {"+"} else "0", " ".join(sentence.split())))
    return list(results)


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def _read(contents: dict[str, bytes]) -> Tasks:
    tasks: dict[str, Any] = {}
    names = ("mr", "cr", "subj", "caption_pairs")
    for name in names:
        rows = (line.split("\t") for line in contents[name].decode().split("\n") if line)
        tasks[name] = tuple((int(label), *texts) for label, *texts in rows)
    sha256 = hashlib.sha256(b"".join(contents[name] for name in names)).hexdigest()
    return Tasks(NAME, sha256=sha256, **tasks)
