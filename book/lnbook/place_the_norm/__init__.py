"""Chapter place_the_norm.ipynb: Put the norm in a transformer: pre-norm, post-norm, RMSNorm."""
