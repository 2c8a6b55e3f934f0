"""What runs an experiment and knows none: loop, checkpoints, ranks, and what a run leaves behind.

Nothing here draws.
"""
