"""Norms if training and inference batches differ: test errors on shifted inputs."""
