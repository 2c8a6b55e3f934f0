"""Section 5.2.2, watched: how long the weights grow, how far an update turns them."""
