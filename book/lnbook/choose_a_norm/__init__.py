"""Chapter choose_a_norm.ipynb: Choose a norm: which, where, with what."""
