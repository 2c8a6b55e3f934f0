"""Chapter match_captions.ipynb: Match captions to pictures: order embeddings."""
