"""Figures, widgets, quizzes and exercises of the book, and tools for teaching with it."""
