/* What the reader is asked to predict: settings, how long, and what is behind the outcome. The
   outcome itself is what the run shows; a test runs each over several seeds. */
const LN_CHALLENGES = [
  {
    name: "Fading",
    settings: {},
    updates: 500,
    why: "Ten tanh layers from PyTorch’s usual start: each makes the numbers smaller, so the last "
      + "layer says nearly the same of every digit, and the gradient has nothing to go by. A norm "
      + "gives each layer numbers of size 1 to work with.",
  },
  {
    name: "Exploding",
    settings: { size: 2, activation: "relu", rate: 0.05 },
    updates: 1000,
    why: "Weights twice He’s size double the numbers in every layer, a thousandfold in ten. The "
      + "first update is as large as they are. Under a norm the size of the weights does not "
      + "matter at first: it is divided out.",
  },
  {
    name: "Batch of 2",
    settings: { a: "batch", batch: 2 },
    updates: 1500,
    why: "With two examples in a batch, batch norm sees each unit take two values, and makes them "
      + "−1 and 1 whatever they were. Layer norm looks at one example and does not care how many "
      + "there are.",
  },
  {
    name: "Batch of 1",
    settings: { a: "batch", batch: 1, depth: 6, rate: 0.005 },
    updates: 2000,
    why: "A single example is its own mean: batch norm’s output is its bias, whatever comes in. "
      + "PyTorch refuses to train it. Layer norm compares the units of that one example.",
  },
  {
    name: "He’s start",
    settings: { depth: 12, size: 1, rate: 0.02 },
    updates: 1500,
    why: "Well-chosen first weights keep the signal alive through twelve layers without a norm. "
      + "A norm makes the start matter less; it is not the only cure.",
  },
  {
    name: "30 layers",
    settings: { depth: 30, activation: "relu", size: 1, rate: 0.02 },
    updates: 1000,
    why: "Layer norm keeps the size at 1, and still every example comes to look the same: ReLU "
      + "layers turn all directions towards one. Size is not all that matters in depth.",
  },
  {
    name: "+ residual",
    settings: {
      depth: 30, activation: "relu", size: 1, rate: 0.02, norm: "layer", differs: "residual",
      a: "no", b: "yes",
    },
    updates: 1000,
    why: "Each layer now adds to what it was given instead of replacing it, so what tells examples "
      + "apart goes round the layers. Deep networks of today have both: a norm and residual "
      + "connections.",
  },
  {
    name: "Blind spot",
    settings: { data: "spiral", depth: 3, activation: "relu", size: 1, rate: 0.1, a: "batch" },
    updates: 1500,
    why: "Without a bias before it, layer norm divides a point’s distance from the middle out: "
      + "the first layer sees a direction alone, and the map is made of wedges. Table 1 of the "
      + "paper calls it invariance to the re-scaling of a single case.",
  },
  {
    name: "+ bias",
    settings: {
      data: "spiral", depth: 3, activation: "relu", size: 1, rate: 0.1, norm: "layer",
      differs: "bias", a: "no", b: "yes",
    },
    updates: 1500,
    why: "A bias added before the norm is a number that does not grow with the point. Beside it "
      + "the norm can tell near from far: the invariance is broken, to good use.",
  },
  {
    name: "Bending",
    settings: { data: "rings", depth: 4, activation: "identity", size: 1, rate: 0.1, bias: "yes" },
    updates: 1500,
    why: "With the identity for an activation, a network without a norm is one linear map, however "
      + "deep: its boundaries are straight. Layer norm divides by a number that depends on the "
      + "example, which no linear map does, so its boundaries curve.",
  },
];
