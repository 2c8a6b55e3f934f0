"""Explorers, live runs, sheets, quizzes, the playground: what every chapter may show."""
