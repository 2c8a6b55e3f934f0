"""What must be fast, measured beside what a user would pick instead."""
