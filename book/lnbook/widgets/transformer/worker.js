/* Reads and writes away from the page: first what is seen, then the texts, a few characters at a
   time, until the next question comes. Runs in a Worker; where none starts, in the page itself. */
const lnTransformerWorker = (engine, post) => {
  "use strict";
  const SLICE = 15; // ms of writing between two looks at what else is asked
  let model = null, latestId = 0;
  let cache = { tokens: "" }; // what was read last with all norms on: a switch leaves it as it is

  function read(tokens, norms) {
    const V = model.characters.length, { logits, stream } = model.read(tokens, norms);
    const { nats, entropy } = engine.costs(logits, tokens, V);
    const mean = (values) => (values.length ? values.reduce((a, b) => a + b) / values.length : NaN);
    return {
      nats, loss: mean(nats), entropy: mean(entropy),
      chances: engine.chances(logits.subarray(logits.length - V)),
      stream: stream.map(({ before, after }) => (
        { before: Float32Array.from(before), after: Float32Array.from(after) })),
    };
  }

  function write(id, texts) {
    if (id !== latestId || !texts.length) return;
    const [text, ...rest] = texts, end = performance.now() + SLICE, tokens = [];
    do {
      tokens.push(text.next());
      text.left--;
    } while (text.left && performance.now() < end);
    post({ id, baseline: text.baseline, tokens, done: !text.left });
    const left = text.left ? texts : rest;
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
