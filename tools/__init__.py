"""What the Makefile calls, and what it shares with the tests and the bench."""
