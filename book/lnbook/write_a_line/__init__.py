"""Chapter write_a_line.ipynb: Write a line: handwriting (section 6.5)."""
