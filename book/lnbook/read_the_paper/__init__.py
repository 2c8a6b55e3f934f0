"""Chapter read_the_paper.ipynb: Read the paper against its code: its puzzles."""
