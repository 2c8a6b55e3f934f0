"""Figures on the distance between models: KL divergence, Fisher matrix, and eq. 13."""

from lnbook.chapters.fisher_information.line import DIRECTIONS, LINE, direction, flat, remainder
from lnbook.chapters.fisher_information.matrix import MATRICES, MATRIX, matrix, num_zero_eigenvalues
from lnbook.chapters.fisher_information.models import CHOICES, FAMILIES, cases, glm
from lnbook.chapters.fisher_information.width import WIDER, WIDTHS, wide, width_shares
