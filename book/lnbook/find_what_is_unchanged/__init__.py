"""Chapter find_what_is_unchanged.ipynb: Find what stays unchanged: the invariances."""
