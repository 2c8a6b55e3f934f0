"""Section 6.6 watched from inside: what each norm computes from four cases, and what it should."""
