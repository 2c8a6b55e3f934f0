"""Chapter start.ipynb: Start here: what layer norm does."""
