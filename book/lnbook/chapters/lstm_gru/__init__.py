"""Figures and exercises of the chapter ``lstm_gru``."""
