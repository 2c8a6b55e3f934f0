"""Sphinx extension: notebooks that no cache holds run several at a time, before pages are read.

myst-nb would run each when its page is read, one after the other, on one processor. What ran ahead
it finds in its cache; what failed it runs again, and says what is wrong.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from last_run import write_note

# Two at least: while a kernel starts, much of the time is the disk's.
TOGETHER = min(max(os.cpu_count() or 1, 2), 4)


def run_ahead(app, env, docnames):
    """Run the notebooks among the pages that are to be read, and keep what they gave."""
    cache = get_cache(app.config.nb_execution_cache_path)
    new = [(name, notebook) for name in docnames if (notebook := unknown(cache, env, name))]
    if len(new) < 2:
        return

    def run(name, notebook):
        folder, timeout = Path(env.doc2path(name)).parent, app.config.nb_execution_timeout
        return single_nb_execution(notebook, str(folder), timeout, allow_errors=False)

    with ThreadPoolExecutor(TOGETHER) as pool:
        for (name, notebook), ran in zip(new, pool.map(run, *zip(*new, strict=True)), strict=True):
            if ran.err is None:
                data = {"execution_seconds": ran.time}
                bundle = CacheBundleIn(notebook, str(env.doc2path(name)), data=data)
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
                write_note(app, name, ran.time)


def unknown(cache, env, name):
    """Return the notebook of a page, if it is to run and the cache does not have it."""
    path = Path(env.doc2path(name))
    if path.suffix != ".ipynb":
        return None
    notebook = nbformat.read(path, as_version=4)
    if notebook.metadata.get("mystnb", {}).get("execution_mode") == "off":
        return None
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return notebook
    return None


def setup(app):
    """Connect it."""
    app.connect("env-before-read-docs", run_ahead)
    return {"version": "1", "parallel_read_safe": True}
