"""Chapter carry_a_state.ipynb: Carry a state: layer norm in recurrent networks."""
