"""Benchmarks of this project, compared with what a user would use instead."""
