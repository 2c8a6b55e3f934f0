"""The claims of Ba, Kiros & Hinton (2016), in the order of the paper.

``quote`` is a phrase of the paper, ``says`` is our wording. A claim that the paper repeats is
listed once, where it is most precise.
"""

from lnlab.claims import at_initialization, computed, feedforward, recurrent, ten_seeds
from lnlab.claims.feedforward import UNTUNED
from lnlab.claims.finding import Claim
from lnlab.claims.trained import NO_NORM, RECURRENT, speedup

_COCO = "COCO, 113,000 images as VGG features; GRU of 1,024"
_COCO_HERE = "COCO val2017, 4,952 images, each as 400 numbers; GRU of 128"
_CNN = "CNN articles, 4 sentences each; LSTM of 240"
_CNN_HERE = "cloze questions from two Bible translations; LSTM of 64"
_BOOKS = "BookCorpus; GRU of 2,400; a million updates"
_BOOKS_HERE = "novels of Project Gutenberg; GRU of 128; 3,000 updates"
_DRAW = "binarized MNIST; 64 glimpses, 256 units, 200 epochs"
_DRAW_HERE = "the same images; 8 glimpses, 128 units, 10 epochs"
_PEN = "IAM-OnDB, 12,179 lines; 3 LSTMs of 400; batches of 8"
_PEN_HERE = "lines of Omniglot letters; 3 LSTMs of 96; batches of 8"
_MNIST = "MNIST; 784-1000-1000-10; about 60 epochs; number of runs not given"
_MNIST_HERE = "the same network and data"
_CONV = "preliminary experiments; network, data, and figures not given"
_CONV_HERE = "10,000 images of Fashion-MNIST; three convolutions; 10 epochs"
_DIGITS = "8 × 8 digits; three hidden layers of 64; plain SGD"
_SMALL = f"a tanh network of {computed.UNITS} units, orthogonal weights, 10 draws"
_LATER = "The paper says this about several models; here each recurrent experiment counts as one."
_OWN_RATES = "Each model has its own best learning rate; in the paper's section 6.1 both share one."
_FIRST_EPOCH = "All targets are reached within the first epoch."
_RATE = (
    f"Both at rate {feedforward.RATE:g}, Adam's default; at other rates fewer seeds were run. The "
    f"paper's sentence is about training; test error and final values are further measurements. "
    f"{_FIRST_EPOCH} The training NLL is measured on the batches in train mode, and in eval mode, "
    f"where batch norm's running averages lag behind in the first tens of updates."
)
_MARGIN = "The margin is ours: the paper gives none."
_METRICS = (
    "The paper names no metric, so error and NLL both count, each at the learning rates that are "
    "best by that metric on validation data."
)
_SHORT = (
    "Learning rates were chosen on shorter runs with one seed; at full length others might be best."
)
_TWO_RATES = (
    "Each network has the better of two learning rates, by the lowest validation error or loss of "
    "these runs; the two were the best of shorter runs."
)
_LONGER = (
    "The first runs, of 25 epochs, stopped before a plateau; those without batch norm were "
    "repeated with 40."
)
_TWO_IMPLEMENTATIONS = (
    "The network without a norm uses PyTorch's GRU, and the one with a norm uses this library's; "
    "neither implementation runs this network both with and without a norm."
)

PAPER = (
    # Abstract and section 1.
    Claim("training-time", "1", "improves … the training time",
          "Layer norm takes less time to reach the targets of a recurrent network without "
          "normalization.",
          "five recurrent models, on GPUs of 2016", "smaller versions of the same five",
          "", RECURRENT, recurrent.recurrent_time, _LATER),
    Claim("generalization", "1", "and the generalization performance",
          "Recurrent networks with layer norm perform better on test data.",
          "five recurrent models", "smaller versions of the same five",
          "", RECURRENT, recurrent.recurrent_generalization, f"{_LATER} {_OWN_RATES}"),
    Claim("batch-norm-sgd", "1", "converge faster even with simple SGD",
          "Batch norm speeds up plain SGD in a feed-forward network.",
          "a statement about earlier work", _DIGITS, "", ("landscape",), feedforward.sgd,
          "Each network at the best of five learning rates by its own training NLL, from the same "
          "initial weights."),
    Claim("regularizer", "1", "the stochasticity … serves as a regularizer",
          "Batch norm narrows the gap between test and training loss.",
          "a statement about earlier work", _MNIST_HERE, "mnist", ("mnist",),
          feedforward.regularizer,
          "With batches of 4, the test NLL without a norm is still rising at the end, and batch "
          "norm has the higher training NLL and test error. A narrower gap does not show its "
          "cause."),
    Claim("same-computation", "1", "the same computation at training and test times",
          "Layer norm's output for an example depends on neither the batch nor running averages.",
          "by definition", "float64, random examples", "normalization_axes",
          evaluate=computed.same_computation),
    # Section 3.
    Claim("correlated-changes", "3", "highly correlated changes … especially with ReLU",
          "After an update of one layer, the changes of the next layer's summed inputs are "
          "correlated, with ReLU more than with tanh.",
          "an observation without a figure", "random data; two hidden layers of 64; 10 draws", "",
          evaluate=at_initialization.correlated_changes,
          caveat="One step of gradient descent on layer 1, from the initial weights."),
    Claim("covariate-shift", "3", "“covariate shift” … can be reduced",
          "A layer's gradient changes less with layer norm when the layers below take a step.",
          "a suggestion without a figure", _DIGITS, "", ("landscape",),
          feedforward.landscape(feedforward.SHIFT),
          "Measured as by Santurkar et al. (2018) for batch norm, at one learning rate; mean over "
          "training."),
    Claim("batch-of-one", "3", "the pure online regime with batch size 1",
          "Layer norm trains on one example at a time, with a lower error than batch norm on two.",
          "by definition", "MNIST; 784-1000-1000-10; 1 epoch", "mnist", ("mnist",),
          feedforward.one_by_one, f"The comparison with batch norm is ours. {UNTUNED}"),
    # Section 3.1.
    Claim("vanishing", "3.1", "exploding or vanishing gradients",
          "Without normalization, a gradient grows or shrinks tenfold or more over 50 steps.",
          "a tendency, without a figure", _SMALL, "recurrent_networks",
          evaluate=computed.plain_gradients),
    Claim("hidden-dynamics", "3.1", "much more stable hidden-to-hidden dynamics",
          "With an input at the first step only, the magnitude of the summed inputs changes less "
          "over 50 steps with layer norm.",
          "an argument without a figure", _SMALL, "recurrent_networks",
          evaluate=at_initialization.summed_inputs,
          caveat="At initialization, with recurrent weights of three scales. With inputs at every "
          "step, the magnitude hardly changes even without normalization."),
    Claim("hidden-gradients", "3.1", "much more stable hidden-to-hidden dynamics",
          "With layer norm, the norm of the gradient changes less over 50 steps.",
          "not stated; our own reading", _SMALL, "recurrent_networks",
          evaluate=computed.gradients_through_time,
          caveat="The paper speaks of summed inputs; measuring the gradient is our addition. At "
          "initialization, with recurrent weights of three scales."),
    Claim("longer-sequences", "3.1", "longer than any of the training sequences",
          "The output of layer norm keeps its magnitude on longer sequences; that of batch norm "
          "does not.",
          "an argument without a figure", _SMALL, "recurrent_networks", evaluate=computed.longer),
    # Section 4.
    Claim("no-parameterization", "4", "is not a re-parameterization",
          "No parameters of a layer without a norm give the same function as layer norm.",
          "derived", "computed in float64", "invariances",
          evaluate=at_initialization.not_a_parameterization,
          caveat="Without a norm, a layer is affine in its input; with layer norm, it is not."),
    # Section 5.
    Claim("table-1", "5.1", "Table 1",
          "All 18 cells of the table of invariances are correct.",
          "derived", "computed at eps = 0, float64", "invariances",
          evaluate=computed.table_one),
    Claim("all-rescaling", "5.1", "all the normalization methods are invariant",
          "Batch norm, weight norm, and layer norm are invariant to re-scaling all data.",
          "derived", "computed at eps = 0, float64", "paper_vs_code",
          evaluate=computed.dataset_rescaling, caveat="Table 1 itself says No for weight norm."),
    Claim("case-rescaling", "5.1", "does not change the model's prediction",
          "Re-scaling a single example does not change the output of layer norm.",
          "derived", "computed at eps = 0, float64", "invariances",
          evaluate=computed.case_rescaling,
          caveat="The factor is positive; a negative one flips signs."),
    Claim("curvature", "5.2", "by a factor of ½",
          "Doubling the weights of a unit halves the curvature of their block.",
          "derived", "computed by finite differences, batch norm", "paper_vs_code",
          evaluate=computed.curvature,
          caveat="It is quartered, not halved. The length ds of a step is halved."),
    Claim("long-weights", "5.2", "harder to change the orientation",
          "With a norm, an update turns large weights less than small ones.",
          "an argument without a figure", "digits; two hidden layers of 64; 20 epochs",
          "effective_learning_rate", ("weights",), feedforward.harder_to_turn),
    Claim("early-stopping", "5.2", "an implicit “early stopping” effect",
          "With a norm, weights that grow turn less per update late in training than weights kept "
          "at their initial norm, and the loss fluctuates less.",
          "a suggestion without a figure", "digits; two hidden layers of 64; 20 epochs",
          "effective_learning_rate", ("weights",), ten_seeds.early_stopping,
          "Plain SGD at a learning rate of 0.1."),
    Claim("robust-scaling", "5.2", "more robust to the scaling of the input",
          "Re-scaling inputs or weights changes the metric less for a step in the gains (with a "
          "norm) than for a step in the magnitude of the weights (without one).",
          "derived", "generalized linear models of 6 outputs, 10 draws", "effective_learning_rate",
          evaluate=at_initialization.robust_to_scaling,
          caveat="Batch norm and layer norm count; weight norm, about which the paper does not "
          "say this, is a further measurement."),
    # Section 6.1.
    Claim("recall-speedup", "6.1", "a per-iteration speedup across all metrics",
          "Layer norm needs fewer updates to reach the targets of R@1, R@5, and R@10.",
          _COCO, _COCO_HERE, "order_embeddings", ("order_embeddings",),
          recurrent.recall_by_updates,
          "The paper trains both with the same hyperparameters. Nine measurements compare each "
          "model at its own best learning rate, which is higher with layer norm; the tenth "
          "compares both at the rate of the paper's code."),
    Claim("sixty-percent", "6.1", "in 60% of the time",
          "The model with layer norm reaches its best score sooner than the plain model reaches "
          "its own.",
          _COCO, _COCO_HERE, "order_embeddings", ("order_embeddings",), recurrent.own_best,
          "Any reduction counts; as measured, it is 10 to 30%, not 40% as in the paper. Near its "
          "maximum a curve is flat, so the smoothed score gives another result. Each model has its "
          "own best learning rate."),
    Claim("table-2", "6.1", "improved generalization over the original model",
          "Recalls and mean ranks on test data are better with layer norm.",
          _COCO, _COCO_HERE, "order_embeddings", ("order_embeddings",), recurrent.table_2,
          "Eight measurements compare each model at its own best learning rate; the ninth compares "
          "both at the rate of the paper's code."),
    # Section 6.2.
    Claim("reader-faster", "6.2", "not only trains faster",
          "The attentive reader needs fewer updates to reach the targets of its error rate.",
          _CNN, _CNN_HERE, "attentive_reader", ("attentive_reader",), recurrent.reader_faster,
          f"{_TWO_RATES} {_LONGER}"),
    Claim("reader-better", "6.2", "a better validation result over both",
          "The attentive reader's error rate ends lower than without normalization or with batch "
          "norm.",
          _CNN, _CNN_HERE, "attentive_reader", ("attentive_reader",),
          recurrent.reader_error(NO_NORM, "batch norm in the LSTM", "batch norm everywhere"),
          f"Batch norm has gains of 0.1, 25 epochs, and one seed at its second rate. {_TWO_RATES} "
          f"{_LONGER}"),
    Claim("reader-gain", "6.2", "the former model performed significantly better",
          "The attentive reader ends with a lower error rate if gains are initialized to 1 instead "
          "of 0.1.",
          _CNN, _CNN_HERE, "attentive_reader", ("attentive_reader",),
          recurrent.reader_error("layer, gain 0.1"), f"{_TWO_RATES} {_LONGER}"),
    Claim("reader-longer", "6.2", "recurrent batch normalization",
          "Passages longer than in training raise the error less with layer norm than with "
          "recurrent batch norm.",
          "not compared in section 6.2; argued in section 3.1", _CNN_HERE, "attentive_reader",
          ("attentive_reader",), recurrent.longer_passages, _SHORT),
    Claim("reader-scale", "6.2", "not sensitive to the initial scale",
          "Whether gains are initialized to 1 or to 0.1 matters less for layer norm than for batch "
          "norm.",
          _CNN, _CNN_HERE, "attentive_reader", ("attentive_reader",), recurrent.initial_gain,
          "Batch norm with gains of 1 was run only in the LSTM, and with one seed at its second "
          "rate."),
    # Section 6.3.
    Claim("skip-time", "6.3", "there was no significant difference",
          f"An update takes at most {recurrent.SAME_TIME:.0%} longer with layer norm.",
          f"{_BOOKS}; Theano with CNMeM", _BOOKS_HERE, "skip_thoughts", ("skip_thoughts",),
          recurrent.update_time, f"{_MARGIN} {_TWO_IMPLEMENTATIONS}"),
    Claim("skip-speedup", "6.3", "both in speedup over the baseline",
          "Skip-thoughts with layer norm need fewer updates to reach the targets of the loss.",
          _BOOKS, _BOOKS_HERE, "skip_thoughts", ("skip_thoughts",),
          speedup("skip_thoughts"),
          f"The first two targets are reached within 4% of the updates. {_SHORT}"),
    Claim("skip-better", "6.3", "as well as better final results",
          "At the end, skip-thought vectors perform better on every task with layer norm.",
          _BOOKS, f"{_BOOKS_HERE}; MR, CR, SUBJ, pairs of captions",
          "skip_thoughts", ("skip_thoughts",), recurrent.sentence_tasks, _SHORT),
    Claim("skip-month", "6.3", "further performance gains across all but one task",
          "A month of training improves all tasks but one.",
          f"{_BOOKS}, then 1.7 million", "not run", ""),
    # Section 6.4.
    Claim("draw-twice", "6.4", "almost twice as fast",
          f"With layer norm, DRAW needs at most {recurrent.ALMOST_TWICE:.0%} of the updates to "
          f"reach the targets of its bound.",
          _DRAW, _DRAW_HERE, "draw", ("draw",), recurrent.draw_twice,
          f"{_MARGIN} Each network at its better rate of two counts, and both at the paper's rate. "
          f"The tuned initialization was measured less often, at one rate."),
    Claim("draw-bound", "6.4", "82.36 … 82.09 nats",
          "DRAW's bound on the test data is lower at the end with layer norm.",
          _DRAW, _DRAW_HERE, "draw", ("draw",), recurrent.draw_bound,
          "The paper stops after 200 epochs. The initial value is so high that a curve counts as a "
          "plateau although its mean over the last quarter is 4 to 6 nats lower than over the one "
          "before. Runs of the same seed that are measured more or less often end up to 10 "
          "nats apart."),
    # Section 6.5.
    Claim("pen-comparable", "6.5", "a comparable log likelihood",
          f"Handwriting: losses end within {recurrent.SAME_LOSS:g} nats per point of each other.",
          _PEN, _PEN_HERE, "handwriting", ("handwriting",), recurrent.comparable,
          f"{_MARGIN} {_TWO_RATES}"),
    Claim("pen-faster", "6.5", "but is much faster",
          "Handwriting: layer norm needs fewer updates to reach the targets of the loss.",
          _PEN, _PEN_HERE, "handwriting", ("handwriting",), speedup("handwriting"),
          "The paper gives no number for “much”; here any reduction counts. On lines by "
          "new writers, all targets are reached within the first 12% of the updates. A constant 1 "
          f"is among the inputs. The paper does not say on which data it measures the loss, so "
          f"three splits count. {_TWO_RATES}"),
    # Section 6.6.
    Claim("robust", "6.6", "robust to the batch-sizes",
          "From batches of 128 to 4, the results of layer norm change less than those of batch "
          "norm.",
          _MNIST, _MNIST_HERE, "mnist", ("mnist",),
          feedforward.robust, UNTUNED),
    Claim("faster-at-128", "6.6", "a faster training convergence",
          "With batches of 128, layer norm needs fewer updates to reach the targets of the "
          "training NLL.",
          _MNIST, _MNIST_HERE, "mnist", ("mnist",),
          feedforward.faster_than_batch_norm(128),
          f"{_RATE} In train mode, where batch norm uses the statistics of the batch, the two "
          "are too close to rank at the first target."),
    Claim("faster-at-4", "6.6", "a faster training convergence",
          "With batches of 4, layer norm needs fewer updates to reach the targets of the training "
          "NLL.",
          _MNIST, _MNIST_HERE, "mnist", ("mnist",),
          feedforward.faster_than_batch_norm(4), _RATE),
    # Section 6.7.
    Claim("conv-speedup", "6.7", "a speedup over the baseline model",
          "A convolutional network needs fewer updates to reach the targets with layer norm.",
          _CONV, _CONV_HERE, "convnet", ("convnet",), speedup("convnet"),
          f"{_METRICS} {_FIRST_EPOCH}"),
    Claim("conv-batch", "6.7", "batch normalization outperforms the other methods",
          "Batch norm ends with the lowest test error and NLL of all norms.",
          _CONV, _CONV_HERE, "convnet", ("convnet",), feedforward.outperforms, _METRICS),
    Claim("conv-border", "6.7", "rarely turned on",
          "Units near the border of the image are active less often than the rest.",
          _CONV, _CONV_HERE, "convnet", ("convnet",), feedforward.border("on")),
    Claim("conv-statistics", "6.7", "very different statistics from the rest",
          "The std of units near the border differs from that of the rest by more than a tenth.",
          _CONV, _CONV_HERE, "convnet", ("convnet",), feedforward.border("deviation"),
          _MARGIN),
    # Section 7.
    Claim("feature-shifting", "7", "per training-case feature shifting",
          "Adding one number to all inputs of an example does not change the output.",
          "a summary of table 1", "computed at eps = 0, float64", "paper_vs_code",
          evaluate=computed.case_shifting,
          caveat="If the features are the summed inputs, as the sentence can be read, it is true."),
    Claim("benefit-most", "7", "recurrent neural networks benefit the most",
          "Recurrent networks benefit more than other networks.",
          "a summary of section 6", "not comparable between tasks", ""),
    Claim("long-and-small", "7", "long sequences and small mini-batches",
          "The benefit is larger with longer sequences and smaller batches.",
          "a summary of section 6", "longer sequences or smaller batches in each; digits by pixel",
          "lstm_gru", (*RECURRENT, "sequence"), recurrent.long_and_small,
          "Both settings are compared over the same number of epochs, the digits by test NLL."),
)  # fmt: skip
