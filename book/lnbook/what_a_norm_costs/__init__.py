"""Chapter what_a_norm_costs.ipynb: Count the cost: operations, bytes, time."""
