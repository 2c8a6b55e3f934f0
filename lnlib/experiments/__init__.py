"""The paper's experiments and ours, run again: one folder an experiment."""
