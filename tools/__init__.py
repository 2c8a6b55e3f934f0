"""Scripts that the Makefile runs, some of which the tests and the benchmarks import."""
