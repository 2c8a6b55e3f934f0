"""Chapter gate_by_gate.ipynb: Normalize gate by gate: LSTM and GRU."""
