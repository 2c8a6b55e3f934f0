"""Depth and residual scaling: effects on the residual stream and its gradients."""
