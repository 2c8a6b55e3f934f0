"""What is computed about norms, cells and runs: the figures of the book as numbers."""
