"""Section 6.6, figure 6: permutation-invariant MNIST with batches of 128 and of 4."""
