"""One folder for each chapter, with its figures and exercises."""
