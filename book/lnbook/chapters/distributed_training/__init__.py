"""Communication that a normalization layer needs if its input is split among devices."""
