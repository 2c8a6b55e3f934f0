"""Export and conversion: norms in float16 graphs, and the exercises of the page."""
