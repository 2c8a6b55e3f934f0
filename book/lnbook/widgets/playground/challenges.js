/* What the reader is asked to predict: the settings, the number of updates, and why it comes out as
   it does. The outcome itself is what the run shows; a test runs each over several seeds. */
const LN_CHALLENGES = [
  {
    name: "Fading",
    settings: {},
    updates: 500,
    why: "With PyTorch’s default initialization each of the ten tanh layers makes the activations "
      + "smaller. The last layer is nearly the same for every digit, and the gradient is tiny. With "
      + "layer norm, the input of every layer has the same scale.",
  },
  {
    name: "Exploding",
    settings: { size: 2, activation: "relu", rate: 0.05 },
    updates: 1000,
    why: "With weights of twice He’s standard deviation, the activations double in every layer: "
      + "a factor of a thousand in ten layers. The gradients are too large by a similar factor. "
      + "With layer norm, the scale of the initial weights is divided out and does not affect the "
      + "output.",
  },
  {
    name: "Batch of 2",
    settings: { a: "batch", batch: 2 },
    updates: 1500,
    why: "With a batch of two, each unit has two values, and batch norm turns them into −1 and 1 "
      + "whatever they were. Layer norm normalizes each example by itself, so the batch size makes "
      + "no difference to it.",
  },
  {
    name: "Batch of 1",
    settings: { a: "batch", batch: 1, depth: 6, rate: 0.005 },
    updates: 2000,
    why: "A single example equals the mean of its batch, so the output of batch norm is the bias, "
      + "whatever the input. (PyTorch raises an error instead.) Layer norm computes its statistics "
      + "over the units of that one example.",
  },
  {
    name: "He initialization",
    settings: { depth: 12, size: 1, rate: 0.02 },
    updates: 1500,
    why: "A well-chosen initialization preserves the scale of the signal through twelve layers "
      + "without any normalization. Normalization makes the initialization matter less; it is not "
      + "the only solution.",
  },
  {
    name: "30 layers",
    settings: { depth: 30, activation: "relu", size: 1, rate: 0.02 },
    updates: 1000,
    why: "Layer norm keeps the scale constant, and yet the last layer is nearly the same for every "
      + "digit: each ReLU layer makes any two inputs more similar in direction. Scale is not "
      + "all that matters in a deep network.",
  },
  {
    name: "Residual connections",
    settings: {
      depth: 30, activation: "relu", size: 1, rate: 0.02, norm: "layer", differs: "residual",
      a: "no", b: "yes",
    },
    updates: 1000,
    why: "Each layer now adds to its input instead of replacing it, so the differences between "
      + "examples reach the last layer along the skip connections. Most deep networks today "
      + "have both: normalization and residual connections.",
  },
  {
    name: "Scale invariance",
    settings: { data: "spiral", depth: 3, activation: "relu", size: 1, rate: 0.1, a: "batch" },
    updates: 1500,
    why: "Without a bias before it, layer norm divides out a point’s distance from the origin. "
      + "The output of the first layer depends only on the direction, so the decision regions are "
      + "wedges. Table 1 of the paper calls this invariance to re-scaling a single training case.",
  },
  {
    name: "Bias before the norm",
    settings: {
      data: "spiral", depth: 3, activation: "relu", size: 1, rate: 0.1, norm: "layer",
      differs: "bias", a: "no", b: "yes",
    },
    updates: 1500,
    why: "A bias that is added before the norm does not grow with a point’s distance from the "
      + "origin, so it changes the direction of the summed inputs of near points more. "
      + "This breaks the invariance, and here that helps.",
  },
  {
    name: "Nonlinear boundary",
    settings: { data: "rings", depth: 4, activation: "identity", size: 1, rate: 0.1, bias: "yes" },
    updates: 1500,
    why: "With the identity as activation function, a network without normalization is a linear "
      + "map, however deep it is: its decision boundaries are straight lines. Layer norm divides by "
      + "a number that depends on the example. That is nonlinear, so the boundaries curve.",
  },
];
