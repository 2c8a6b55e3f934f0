"""Chapter one_example.ipynb: Normalize one example: layer norm from scratch."""
