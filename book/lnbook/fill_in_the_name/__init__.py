"""Chapter fill_in_the_name.ipynb: Fill in the name: the attentive reader."""
