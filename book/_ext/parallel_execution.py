"""Sphinx extension: execute several notebooks in parallel before pages are read.

myst-nb executes each notebook when its page is read, one after the other. Here the notebooks that
are not in its cache are executed before, and their results are put into the cache. A notebook that
fails is not cached: myst-nb executes it again and reports the error.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from execution_table import log_execution
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

# At least two, since a kernel waits for the disk while it starts.
MAX_WORKERS = min(max(os.cpu_count() or 1, 2), 4)


def execute_notebooks(app, env, docnames):
    """Execute the notebooks among the pages that will be read, and cache the results."""
    cache = get_cache(app.config.nb_execution_cache_path)
    jobs = [(name, nb) for name in docnames if (nb := read_if_not_cached(cache, env, name))]
    if len(jobs) < 2:
        return

    def execute(job):
        name, notebook = job
        folder, timeout = Path(env.doc2path(name)).parent, app.config.nb_execution_timeout
        return single_nb_execution(notebook, str(folder), timeout, allow_errors=False)

    with ThreadPoolExecutor(MAX_WORKERS) as pool:
        for (name, notebook), result in zip(jobs, pool.map(execute, jobs), strict=True):
            if result.err is None:
                data = {"execution_seconds": result.time}
                bundle = CacheBundleIn(notebook, str(env.doc2path(name)), data=data)
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
                log_execution(app, name, result.time)


def read_if_not_cached(cache, env, name):
    """Return the notebook of a page if it has to be executed, else ``None``."""
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
    """Connect the event handler."""
    app.connect("env-before-read-docs", execute_notebooks)
    return {"version": "1", "parallel_read_safe": True}
