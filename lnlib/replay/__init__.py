"""The paper's experiments, run again: one file an experiment.

``train.py`` is the one loop, ``record.py`` what a run leaves behind. Nothing here draws.
"""
