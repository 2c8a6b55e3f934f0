"""What a normalization layer needs from other devices when its input is split among them."""
