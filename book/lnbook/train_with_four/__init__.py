"""Chapter train_with_four.ipynb: Train with four examples: MNIST."""
