"""Figure 6 of the paper, from recorded runs, and its claims."""

from lnbook.chapters.mnist.batch_means import BATCH_MEANS
from lnbook.chapters.mnist.batch_means import BATCH_SIZES as SIZES_DRAWN
from lnbook.chapters.mnist.batch_sizes import BATCH_SIZES
from lnbook.chapters.mnist.differences import at_the_end
from lnbook.chapters.mnist.figure_6 import FIGURE_6, stops
from lnbook.chapters.mnist.learning_rates import rates
from lnbook.chapters.mnist.provenance import provenance_table
from lnbook.chapters.mnist.runs import RATE, MNISTRuns, RunKey
