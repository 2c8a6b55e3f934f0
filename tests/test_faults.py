"""Planted mistakes, on a toy: which are caught, which cannot be planted, and what is kept."""

import json
import shutil
import signal
import subprocess

import pytest

from tools import fast, faults

FILES = {
    "lnlib/__init__.py": "",
    "lnlib/toy.py": 'def less(n):\n    return n - 1\n\n\ndef name():\n    return "toy"\n',
    "lnlib/broken.py": "TWO = 2\n",
    "tests/test_toy.py": "from lnlib.toy import less\n\n\ndef test_less():\n"
    "    assert less(9) == 8\n",
    "tests/test_broken.py": "from lnlib import broken\n\n\ndef test_broken():\n"
    "    assert broken.TWO == 3\n",
    "tools/__init__.py": "",
    ".gitignore": "_build\n",
}
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
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    shutil.copy(fast.__file__, tmp_path / "tools")
    entries = (
        f"[[fault]]\nfile = '{file}'\nwhat = '{what}'\nold = '{old}'\nnew = '{new}'"
        for what, (file, old, new) in FAULTS.items()
    )
    (tmp_path / "tools" / "faults.toml").write_text("\n".join(entries))
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "--initial-branch=main"], ["add", "."], ["commit", "-m", "toy"]):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
    before = signal.getsignal(signal.SIGTERM)  # the command sets its own
    yield tmp_path
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_faults_are_caught_survive_or_cannot_be_planted(toy, capsys):
    path = toy / "tests" / "test_toy.py"
    path.write_text(path.read_text() + "# not committed\n")
    assert faults.main([], root=toy) == 1
    outcomes = json.loads((toy / "_build" / "faults.json").read_text()).values()
    assert [(one["state"], one["by"]) for one in outcomes] == [
        ("caught", "tests/test_toy.py::test_less"),
        ("survived", "all of the nearest tests pass"),
        ("not planted", "lnlib/toy.py must have once, and has 0 times: 'return n - 2'"),
        ("not planted", "lnlib/toy.py must have once, and has 2 times: 'return'"),
        ("not planted", "lnlib/toy.py would not change: 'n - 1'"),
        ("not planted", "there is no lnlib/boy.py"),
        ("fails anyway", [*outcomes][-1]["by"]),
    ]
    assert "tests/test_broken.py::test_broken, without the fault too" in [*outcomes][-1]["by"]
    assert capsys.readouterr().out.rstrip().endswith("14.3% are caught.")
    assert (toy / "lnlib" / "toy.py").read_text() == FILES["lnlib/toy.py"]


def test_every_listed_fault_can_be_planted():
    every = faults.faults(faults.ROOT / "tools" / "faults.toml")
    assert len({str(fault) for fault in every}) == len(every) >= 60
    for fault in every:  # whether the text is there still, is the script's to say
        assert fault.planted(fault.old) == fault.new != fault.old
        assert all((faults.ROOT / path).exists() for path in fault.tests)
