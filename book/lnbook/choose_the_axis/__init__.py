"""Chapter choose_the_axis.ipynb: Choose the axis: batch, layer, group and instance norm."""
