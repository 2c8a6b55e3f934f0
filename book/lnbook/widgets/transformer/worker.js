/* Reads and writes away from the page: first what is seen, then the texts, by turns a few characters
   of each, until the next question comes. Runs in a Worker; where none starts, in the page itself. */
const lnTransformerWorker = (engine, post) => {
  "use strict";
  const SLICE = 15; // ms of writing between two looks at what else is asked
  let model = null, latestId = 0;
  let cache = { tokens: "" }; // what was read last with all norms on: a switch leaves it as it is

  function read(tokens, norms) {
    const V = model.characters.length, { logits, stream } = model.read(tokens, norms);
    const { bits, entropy } = engine.costs(logits, tokens, V);
    const mean = (values) => (values.length ? values.reduce((a, b) => a + b) / values.length : NaN);
    return {
      bits, loss: Math.LN2 * mean(bits), entropy: mean(entropy),
      chances: engine.chances(logits.subarray(logits.length - V)),
      stream: stream.map(({ before, after }) => (
        { before: Float32Array.from(before), after: Float32Array.from(after) })),
    };
  }

  function write(id, texts) {
    if (id !== latestId || !texts.length) return;
    const [text, ...rest] = texts, end = performance.now() + SLICE, written = [];
    do {
      written.push(text.next());
      text.left--;
    } while (text.left && performance.now() < end);
    post({ id, baseline: text.baseline, written });
    const left = text.left ? [...rest, text] : rest;
    setTimeout(() => write(id, left));
  }

  return ({ weights, id, tokens, norms, how, count }) => {
    if (weights) model = new engine.Model(weights);
    if (!tokens) return;
    latestId = id;
    const baseline = "l".repeat(norms.length), same = norms === baseline;
    const current = read(tokens, norms);
    if (cache.tokens !== tokens.join()) {
      cache = { tokens: tokens.join(), current: same ? current : read(tokens, baseline) };
    }
    post({ id, current, baseline: cache.current });
    const text = (which, name) => (
      { baseline: name, left: count, next: model.writer(tokens, which, how) });
    setTimeout(() => id === latestId
      && write(id, [text(norms, false), ...(same ? [] : [text(baseline, true)])]));
  };
};
