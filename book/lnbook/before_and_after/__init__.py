"""Chapter before_and_after.ipynb: Put the paper in its time: before and after."""
