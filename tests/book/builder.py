"""Build small books one after the other, in forks of a process that has imported Sphinx and torch.

Each build starts like the command, without modules of this project, and leaves no state behind.
"""

import gc
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
COMMANDS = {"jupyter-book": "jupyter_book.cli.main", "sphinx-build": "sphinx.cmd.build"}
# Modules that a build imports; torch is needed to describe the machine.
LATER = ("jupyter_book.sphinx", "myst_nb.sphinx_ext", "sphinx.builders.html", "IPython", "torch")


@dataclass
class Built:
    """The exit code and the output of a build."""

    returncode: int
    stdout: str


class Builder:
    """The process that builds, with an interface for tests."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-P", __file__], **pipes)

    def run(self, command, *words, folder, **environment):
        """Run a command of ``COMMANDS`` in a folder."""
        env = {k: v for k, v in os.environ.items() if k != "LNLIB_STATIC"} | environment
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as text:
            request = {"command": command, "words": words, "folder": str(folder)}
            print(json.dumps(request | {"said": text.name, "env": env}), file=self.process.stdin)
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            return Built(code, re.sub(r"\x1b\[[0-9;]*m", "", text.read()))  # without colors

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait() == 0


def prepare():
    """Import the commands and all extensions except those of this book."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]
    others = [e for e in settings["config"]["extensions"] if e not in settings["local_extensions"]]
    for name in (*COMMANDS.values(), *others, *LATER):
        importlib.import_module(name)
    if ours := {"lnlib", "lnlab", "lnbook"} & sys.modules.keys():
        raise RuntimeError(f"a build must import {ours} itself, which may lie elsewhere for it")


def build(command, words, folder, said, env):
    """Run a command in this process, and end it."""
    code = 1
    try:
        out = os.open(said, os.O_WRONLY)
        for stream, to in enumerate((os.open(os.devnull, os.O_RDONLY), out, out)):
            os.dup2(to, stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv = [command, *words]
        code = sys.modules[COMMANDS[command]].main(words)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        if isinstance(code, str):
            print(code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else code is not None)


def serve():
    """Run the command in each line of the input, and return its exit status."""
    prepare()
    gc.freeze()  # an extension inspects all collected objects, and some of torch then warn
    for line in sys.stdin:
        child = os.fork()
        if not child:
            build(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
