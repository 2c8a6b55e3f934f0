"""The experiments on layer normalization: data sets, training, records, claims, the command line.

Nothing here draws, and :mod:`lnlib` knows nothing of it.
"""
