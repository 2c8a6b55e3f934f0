"""Conditional normalization: where scale, shift and gate come from, and how they begin to learn."""
