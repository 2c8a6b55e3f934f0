"""One folder for each chapter: its figures, and its exercises."""
