"""Chapter run_a_transformer.ipynb: Run a transformer on your sentence: its norms."""
