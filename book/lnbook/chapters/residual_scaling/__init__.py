"""Depth and residual scaling: what each scheme does to the residual stream and its gradients."""
