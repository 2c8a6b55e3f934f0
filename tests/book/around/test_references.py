"""Glossary, references and suggested citation."""

import re

import pytest
import yaml
from pybtex.database import parse_file, parse_string

from tests.book.around.conftest import BOOK, ROOT, sources


def test_every_glossary_term_in_use_is_defined():
    glossary = re.search(r"```\{glossary\}\n(.*?)```", dict(sources())["glossary"], re.S)[1]
    defined = [line for line in glossary.splitlines() if line and not line.startswith(" ")]
    assert len(set(defined)) == len(defined) > 50
    used = {
        re.sub(r".*<(.+)>", r"\1", term)
        for _, text in sources()
        for term in re.findall(r"\{term\}`([^`]+)`", text, re.S)
    }
    assert {term.lower() for term in used} <= {term.lower() for term in defined}


BIB = parse_file(BOOK / "references.bib")  # duplicate keys raise an error


@pytest.mark.parametrize("key", list(BIB.entries))
def test_every_reference_is_complete_and_has_a_doi(key):
    entry = BIB.entries[key]
    assert entry.persons["author"]
    assert {"title", "year"} <= set(entry.fields)
    first = entry.persons["author"][0]
    name = [part[0].upper() + part[1:] for part in (*first.prelast_names, first.last_names[0])]
    stem = re.sub(r"\W", "", "".join(name)) + entry.fields["year"]
    assert key == stem or (key[:-1] == stem and stem in BIB.entries and key[-1] in "bcd")
    # References without a DOI say so in their note.
    assert re.fullmatch(r"10\.\d{4,9}/\S+", entry.fields.get("doi", "")) or (
        "no DOI" in entry.fields.get("note", "")
    )
    if "eprint" in entry.fields and "arXiv." in entry.fields["doi"]:
        assert entry.fields["doi"] == f"10.48550/arXiv.{entry.fields['eprint']}"


def test_every_cited_key_exists_and_every_entry_is_cited():
    cited = {
        key
        for _, text in sources()
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    assert cited == set(BIB.entries)


def test_the_suggested_citations_agree_with_the_citation_file_and_the_references():
    text = "".join(re.findall(r"```bibtex\n(.*?)```", dict(sources())["about"], re.S))
    entries = dict(parse_string(text, "bibtex").entries)
    assert entries.pop("Ba2016") == BIB.entries["Ba2016"]
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    (book,) = entries.values()
    assert [book.fields[key] for key in ("title", "version", "year")] == [
        cff["title"], cff["version"], str(cff["date-released"].year),
    ]  # fmt: skip
