"""The figure of the page on export and conversion."""

from lnbook.chapters.export.half_precision import EPS, FLOAT16, OUTLIERS, SCALES
