"""Widgets that show what recorded networks did while they trained."""
