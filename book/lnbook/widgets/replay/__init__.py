"""Widgets that show what recorded networks did during training."""
