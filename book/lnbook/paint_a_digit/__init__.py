"""Chapter paint_a_digit.ipynb: Paint a digit glimpse by glimpse: DRAW (section 6.4)."""
