"""Chapter foretell_the_neighbors.ipynb: Foretell the neighbors: skip-thought vectors."""
