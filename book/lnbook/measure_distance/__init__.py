"""Chapter measure_distance.ipynb: Measure distance between models: the Fisher metric."""
