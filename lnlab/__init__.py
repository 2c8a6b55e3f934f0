"""The paper's experiments: data sets, training, records, claims, and the command line.

This package does not draw figures, and :mod:`lnlib` does not depend on it.
"""
