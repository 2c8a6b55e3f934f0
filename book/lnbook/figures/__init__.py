"""What figures are made of: colors, lines, learning curves, tables, the verdicts on claims."""
