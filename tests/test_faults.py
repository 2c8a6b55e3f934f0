"""Planted mistakes, on a toy: which are caught, which cannot be planted, and what is kept."""

import json
import shutil
import signal
import subprocess

import pytest

from tools import fast, faults

CODE = '''"""A toy."""


def less(n):
    """Return one less."""
    return n - 1


def name():
    """Return a name that no test looks at."""
    return "toy"
'''
TEST = """from lnlib.toy import less


def test_less():
    assert less(99) == 98
"""
BROKEN = "from lnlib import broken\n\n\ndef test_broken():\n    assert broken.TWO == 3\n"
FAULTS = {
    "a sign": ("lnlib/toy.py", "return n - 1", "return n + 1"),
    "another name": ("lnlib/toy.py", '"toy"', '"boy"'),
    "gone": ("lnlib/toy.py", "return n - 2", "return n + 2"),
    "twice": ("lnlib/toy.py", "return", "yield"),
    "no change": ("lnlib/toy.py", "n - 1", "n - 1"),
    "no file": ("lnlib/boy.py", "a", "b"),
    "anyway": ("lnlib/broken.py", "2", "4"),
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A clone with a library of two files, their tests, and a list of faults."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts sooner without
    files = {
        "lnlib/__init__.py": "",
        "lnlib/toy.py": CODE,
        "lnlib/broken.py": "TWO = 2\n",
        "tests/test_toy.py": TEST,
        "tests/test_broken.py": BROKEN,
        "tools/__init__.py": "",
        ".gitignore": "_build\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    shutil.copy(fast.__file__, tmp_path / "tools")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "--initial-branch=main"], ["add", "."], ["commit", "-m", "toy"]):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
    write(tmp_path, *FAULTS)
    before = signal.getsignal(signal.SIGTERM)  # the command sets its own
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


def write(root, *whats):
    entries = (dict(zip(("file", "old", "new"), FAULTS[w], strict=True), what=w) for w in whats)
    lines = [f"{k} = '''{v}'''" for one in entries for k, v in [*one.items(), ("tests", "")]]
    text = "\n".join(lines).replace("file = ", "[[fault]]\nfile = ").replace("tests = ''''''", "")
    (root / "tools" / "faults.toml").write_text(text)


def outcomes(root):
    return list(json.loads((root / "_build" / "faults.json").read_text()).values())


@pytest.mark.slow
def test_a_fault_is_caught_or_survives_and_one_that_cannot_be_planted_says_why(toy, capsys):
    (toy / "tests" / "test_toy.py").write_text(TEST.replace("98", "98  # not committed"))
    assert faults.main([], root=toy) == 1
    sign, other, gone, twice, same, missing, anyway = outcomes(toy)
    assert (sign["state"], sign["by"]) == ("caught", "tests/test_toy.py::test_less")
    assert other["state"] == "survived"
    assert {one["state"] for one in (gone, twice, same, missing)} == {"not planted"}
    assert gone["by"] == "lnlib/toy.py must have once, and has 0 times: 'return n - 2'"
    assert twice["by"] == "lnlib/toy.py must have once, and has 2 times: 'return'"
    assert same["by"] == "lnlib/toy.py would stay as it is: 'n - 1'"
    assert missing["by"] == "there is no lnlib/boy.py"
    assert anyway["state"] == "fails anyway"
    assert "tests/test_broken.py::test_broken, without the fault too" in anyway["by"]
    assert "7 faults: 4 not planted, 1 caught, " in (text := capsys.readouterr().out)
    assert text.rstrip().endswith("14.3% are caught.")
    assert (toy / "lnlib" / "toy.py").read_text() == CODE


@pytest.fixture
def tried(monkeypatch):
    """What is tried, which costs nothing here; the second word ends it."""
    result, stop = [], set()

    def look(self, fault):
        if fault.what in stop:
            raise KeyboardInterrupt
        result.append(fault.what)
        return faults.Outcome(faults.CAUGHT, "a test")

    monkeypatch.setattr(faults.Copy, "tried", look)
    return result, stop


def test_what_was_interrupted_goes_on_where_it_was_and_a_changed_test_is_tried_anew(toy, tried):
    result, stop = tried
    write(toy, "a sign", "another name", "anyway")
    stop.add("another name")
    with pytest.raises(KeyboardInterrupt):
        faults.main([], root=toy)
    assert result == ["a sign"]
    stop.clear()
    assert faults.main([], root=toy) == 0
    assert result == ["a sign", "another name", "anyway"]
    (toy / "tests" / "test_toy.py").write_text(TEST + "\n")
    assert faults.main([], root=toy) == 0
    assert result[3:] == ["a sign", "another name"]
    assert faults.main(["--fresh", "--only", "broken.py"], root=toy) == 0
    assert result[5:] == ["anyway"]


def test_only_some_are_tried_and_a_word_that_none_has_is_refused(toy, tried, capsys):
    assert faults.main(["--only", "sign", "broken"], root=toy) == 0
    assert tried[0] == ["a sign", "anyway"]
    assert faults.main(["--list", "--only", "sign"], root=toy) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "lnlib/toy.py: a sign"
    with pytest.raises(SystemExit):
        faults.main(["--only", "flower"], root=toy)
    assert "no fault has flower" in capsys.readouterr().err


def test_the_list_of_ours_can_be_read_and_each_of_it_changes_something():
    every = faults.faults(faults.ROOT / "tools" / "faults.toml")
    assert len({str(fault) for fault in every}) == len(every) >= 60
    for fault in every:  # whether the text is there still, is the script's to say
        assert fault.planted(fault.old) == fault.new != fault.old
        assert all((faults.ROOT / path).exists() for path in fault.tests)
