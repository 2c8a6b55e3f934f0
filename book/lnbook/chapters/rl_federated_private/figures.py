"""The figure of the page on norms in reinforcement, federated and private training."""

from lnbook.chapters.rl_federated_private.shifted import BATCHES, ERRORS, SHIFTS, errors
