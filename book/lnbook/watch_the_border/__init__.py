"""Chapter watch_the_border.ipynb: Watch the border: convolutional networks (section 6.7)."""
