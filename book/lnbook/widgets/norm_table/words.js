/* Templates of all sentences of a norm table. */
const lnNormTableWords = {
  about: {
    "layer norm": "Each row has its own mean μ and standard deviation σ = √(variance + eps).",
    "batch norm": "Each column has its own mean μ and standard deviation σ = √(variance + eps).",
    "batch norm at inference": "μ and σ = √(variance + eps) are running averages from training; nothing in this "
      + "table changes them.",
    "RMS norm": "Each row has its own root mean square, RMS = √(mean of squares + eps). No mean "
      + "is subtracted, and there is no bias.",
    "group norm": "Each group of neighboring features in a row has its own mean μ and standard "
      + "deviation σ = √(variance + eps), written below it.",
    "instance norm": "Each number has its own mean μ and standard deviation σ = √(variance + eps), "
      + "written below it. Images would have one of each per channel.",
    none: "No mean and no standard deviation: y = gain × x + bias.",
  },
  shares: {
    "layer norm": "{Cell} shares its mean {mean} with {others} of example {i}; {means} in total.",
    "batch norm": "{Cell} shares its mean {mean} with the same feature of {others}; {means} in "
      + "total.",
    "batch norm at inference": "{Cell} has the running mean {mean} of its feature, which no example in this "
      + "batch changes; {means} in total.",
    "RMS norm": "{Cell} shares its root mean square {std} with {others} of example {i}; {means} "
      + "in total.",
    "group norm": "{Cell} shares its mean {mean} with {others} of group {g} in example {i}; {means} "
      + "in total.",
    none: "{Cell} stays {x}, apart from gain and bias; nothing is shared.",
    alone: "{Cell} shares its mean {mean} with no other number; {means} in total.",
    "alone RMS": "{Cell} shares its root mean square {std} with no other number; {means} in total.",
  },
  others: {
    feature: ["the other feature", "the {n} other features"],
    example: ["the other example", "the {n} other examples"],
  },
  means: {
    mean: ["1 mean", "{n} means"],
    "RMS norm": ["1 root mean square", "{n} root mean squares"],
  },
  work: {
    norm: "y = gain × (x − μ) / σ + bias = {gain} × ({first} − {mean}) / {std} + {bias} = "
      + "{y}",
    "RMS norm": "y = gain × x / RMS = {gain} × {x} / {std} = {y}",
    none: "y = gain × x + bias = {gain} × {x} + {bias} = {y}",
  },
  bad: {
    text: "{Cell} holds “{text}”, where a number such as 1.5, −2, 1e3, or 1/3 is expected.",
    empty: "{Cell} is empty, where a number such as 1.5, −2, 1e3, or 1/3 is expected.",
    two: "{Cell} holds “{text}”, which could be {first} or {second}: type the one you "
      + "mean.",
    huge: "{Cell} holds “{text}”, beyond the largest float64 number, 1.8e308.",
    more: ["One more cell holds no number.", "{n} more cells hold no number."],
    then: "Until then, outputs that need it show “?”.",
  },
  few: {
    "layer norm": ["There is one feature", "There are two features"],
    "batch norm": ["The batch has one example", "The batch has two examples"],
    "RMS norm": ["There is one feature", ""],
    "group norm": ["A group is one feature", "A group is two features"],
    "instance norm": ["In a table of examples by features an instance is one number", ""],
  },
  degenerate: {
    one: "{Why}: a single number is its own mean, so x − μ is 0 and every output is the "
      + "bias.",
    "one, eps 0": "{Why}: a single number is its own mean, so x − μ and σ are both 0, and 0/0 is "
      + "not a number.",
    "one RMS": "{Why}: a number divided by its own magnitude leaves only its sign, apart from "
      + "eps and gain.",
    two: "{Why}: any two different numbers become −1 and 1, apart from eps, gain, and "
      + "bias.",
    equal: "The numbers of {set} are equal: x − μ is 0 and the output is the bias.",
    "equal, eps 0": "The numbers of {set} are equal: x − μ and σ are both 0, and 0/0 is not a number.",
    "equal RMS": "The numbers of {set} are all 0, and so is their root mean square; 0/0 is not a "
      + "number.",
    "too big": "“too big”: the number, or a square on the way to it, is beyond 1.8e308, the "
      + "largest that float64 holds.",
    "too small": "“too small”: the squares of the differences are below 1e-290, where float64 "
      + "loses its digits.",
    "no running": ["Feature {j} has no running averages from training: mean 0 and variance 1 are "
      + "used, the values before training.", "Feature {j} and those after it have no running "
      + "averages from training: mean 0 and variance 1 are used, the values before training."],
  },
  set: {
    "layer norm": "example {i}",
    "batch norm": "feature {j}",
    "RMS norm": "example {i}",
    "group norm": "group {g} of example {i}",
    and: ["{set} (and of 1 more)", "{set} (and of {n} more)"],
  },
  cell: {
    x: "example {i}, feature {j}",
    gain: "the gain of feature {j}",
    bias: "the bias of feature {j}",
  },
  pasted: "Pasted {rows} by {columns} numbers, read with {separator} between them.",
  "left out": "Numbers beyond 16 examples or 8 features were left out.",
  nothing: "There is no number to paste.",
};
