"""Conditional normalization: sources of scale, shift and gate, and the first updates."""
