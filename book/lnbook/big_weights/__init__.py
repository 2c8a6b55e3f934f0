"""Chapter big_weights.ipynb: Slow down with big weights: the effective learning rate."""
