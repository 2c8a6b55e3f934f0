/* What the reader is asked to predict: the norms as they are set, what is asked, and what is behind
   the outcome. The outcome itself is what the model computes; a test holds each for a few sentences. */
const LN_TRANSFORMER_CHALLENGES = [
  {
    name: "All RMS", norms: "rrrrr", asks: "loss",
    what: "All five norms become RMSNorm: they divide, and no longer subtract the mean.",
    why: "The mean is next to nothing in this stream, so there is little to miss. It is a finding of "
      + "this model, not a law.",
  },
  {
    name: "Norm 1 off", norms: "ollll", asks: "loss",
    what: "The first norm goes. What it is given has a deviation of about 0.4.",
    why: "Where the stream enters, all characters have nearly the same deviation, and the norm’s gain is "
      + "about as large: without both, the rows keep about their size.",
  },
  {
    name: "Norm 3 off", norms: "lloll", asks: "loss",
    what: "The third norm goes: the one before the second block’s attention.",
    why: "Deviations here were from 2 to 17 in the sentences that we tried. Queries and keys grow with "
      + "them, and scores with their product: each head looks at one character and at no other.",
  },
  {
    name: "All frozen", norms: "fffff", asks: "loss",
    what: "Each norm divides by a constant: the average deviation over training text.",
    why: "A constant is right on average: too small for most spaces, too large for most letters "
      + "within words. How much that costs depends on the sentence.",
  },
  {
    name: "Last norm off", norms: "llllo", asks: "sure",
    what: "The last norm goes, before the output. What happens to the text?",
    why: "Logits several times as large, as at a low temperature: the model takes its likeliest "
      + "character for certain. Words stay words, and repeat themselves; where it is wrong it is "
      + "wrong without a doubt, and that is what the loss counts.",
  },
  {
    name: "All off", norms: "ooooo", asks: "loss",
    what: "All five norms go.",
    why: "Each block multiplies what the one before has made too large. The weights are what they "
      + "were; they were learned for inputs of size 1.",
  },
];
