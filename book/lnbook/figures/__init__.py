"""Building blocks of figures: colors, lines, learning curves, tables, labels of claims."""
