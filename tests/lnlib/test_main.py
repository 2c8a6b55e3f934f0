"""``python -m lnlib``, the former name of the commands, which recorded runs have."""

import subprocess
import sys

from lnlab import cli
from lnlib import __main__ as former


def test_the_former_command_name_still_works(capsys):
    printed = []
    for main in (cli.main, former.main):
        assert main(["table", "weights"]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]
    assert "layer" in printed[0].out


def test_missing_lnlab_is_reported_in_one_sentence():
    code = "import sys; sys.modules['lnlab'] = None; from lnlib.__main__ import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code} sys.exit(main(['table', 'weights']))"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("lnlib: the commands are part of lnlab, which is not installed")
    assert done.stderr.count("\n") == 1
