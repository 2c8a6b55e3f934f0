/* What the reader is asked to predict: the norms as they are set, what is asked, and what is behind
   the outcome. The outcome itself is computed by the model; a test checks each for a few sentences. */
const LN_TRANSFORMER_CHALLENGES = [
  {
    name: "All RMS", norms: "rrrrr", asks: "loss",
    what: "All five norms become RMSNorm: they still divide, but no longer subtract the mean.",
    why: "In this model the mean of the residual stream is close to 0, so subtracting it changes "
      + "little. That is a finding about this model, not a general rule.",
  },
  {
    name: "Norm 1 off", norms: "ollll", asks: "loss",
    what: "The first norm is removed. Its input has a standard deviation of about 0.4.",
    why: "At the first norm all characters have nearly the same standard deviation, and the norm’s gain "
      + "is about as large: dividing by the standard deviation and multiplying by the gain nearly cancel.",
  },
  {
    name: "Norm 3 off", norms: "lloll", asks: "loss",
    what: "The third norm is removed: the one before the attention of the second block.",
    why: "Here the standard deviation was between 2 and 17 in the sentences that we tried. Queries and "
      + "keys grow in proportion to it, attention scores in proportion to its square: the "
      + "softmax saturates, and each head attends to a single character.",
  },
  {
    name: "All frozen", norms: "fffff", asks: "loss",
    what: "Each norm divides by a constant: the average standard deviation over training text.",
    why: "The constant is right on average, but too small for most spaces and too large for most "
      + "letters within words. How much that matters depends on the sentence.",
  },
  {
    name: "Final norm off", norms: "llllo", asks: "confidence",
    what: "The final norm, before the output layer, is removed. What happens to the text?",
    why: "The logits become several times as large, which acts like a low temperature: the model "
      + "gives one character nearly all of the probability. The text still consists of words, but "
      + "it repeats itself. Where the model is wrong, it is overconfident, so the loss is large.",
  },
];
