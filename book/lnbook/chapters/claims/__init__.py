"""What the paper says of the world, and what holds here."""
