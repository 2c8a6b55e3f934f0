"""Figures and exercises of the chapter ``invariances``."""
