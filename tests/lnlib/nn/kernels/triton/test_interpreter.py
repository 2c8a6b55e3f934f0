"""Runs the tests that need Triton's interpreter in a process with the interpreter enabled."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="needs triton, which comes with PyTorch for CUDA")

HERE = Path(__file__).parent


@pytest.mark.slow
def test_every_kernel_is_right_in_the_interpreter():
    files = [HERE / f"test_{name}.py" for name in ("recurrent", "steps", "layer_norm")]
    files += ["-k", "triton", HERE.parent / "test_autograd.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        cwd=HERE.parents[4],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 200
