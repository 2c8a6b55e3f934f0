"""Sphinx extension: cache the results of notebooks under a hash of everything that they read.

Notebooks run with ``LNLIB_STATIC=1``, so that figures and widgets are written as HTML. The cache of
myst-nb depends on the code of a notebook only. Here each state of the packages, of the recorded
runs and of the versions of NumPy, PyTorch and plotly has its own cache folder.
"""

import hashlib
import importlib.util
import os
import shutil
from importlib.metadata import version
from pathlib import Path


def package_folder(name):
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"The book needs {name}: tools/setup.sh book")
    return Path(spec.origin).parent


def configure_execution(app, config):
    """Set the environment of the kernels and the path of the cache."""
    os.environ["LNLIB_STATIC"] = "1"
    packages = ("lnlib", "lnlab", "lnbook")
    files = [path for name in packages for path in package_folder(name).rglob("*")]
    inputs = [
        *(path for path in files if path.suffix in (".py", ".json")),
        *Path(app.srcdir, "runs").rglob("*.json"),
    ]
    inputs = [path for path in inputs if "classroom" not in path.parts]  # no chapter needs it
    versions = [f"{name} {version(name)}" for name in ("numpy", "torch", "plotly")]
    digest = hashlib.sha256(" ".join(["LNLIB_STATIC=1", *versions]).encode())
    for path in sorted(inputs):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = f".jupyter_cache-{digest.hexdigest()[:12]}"
    config.nb_execution_cache_path = str(Path(app.outdir).parent / name)


def prune_caches(app):
    """Delete the caches of earlier states."""
    current = Path(app.config.nb_execution_cache_path)
    for path in current.parent.glob(".jupyter_cache-*"):
        if path != current:
            shutil.rmtree(path, ignore_errors=True)


def invalidate_env_on_warning(app, exception):
    """Delete the pickled environment after a warning, so that the next build warns again."""
    if exception is None and app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app):
    """Connect the event handlers."""
    app.connect("config-inited", configure_execution, priority=100)
    app.connect("builder-inited", prune_caches)
    app.connect("build-finished", invalidate_env_on_warning)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
