"""``python -m lnlib``, the former name of the commands, which recorded runs have."""

from lnlab import cli
from lnlib import __main__ as former


def test_the_former_command_name_still_works(capsys):
    printed = []
    for main in (cli.main, former.main):
        assert main(["table", "weights"]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]
    assert "layer" in printed[0].out
