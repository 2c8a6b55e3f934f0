"""Norms where the batch of training is not that of inference: test errors on shifted inputs."""
