"""Outlier features of the book's trained transformer, and the rounding errors that they cause."""

from lnbook.chapters.outlier_features.trained import LINE, TrainedTransformers, error, rotation
