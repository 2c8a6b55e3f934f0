/* A small decoder-only transformer that reads in the page: float64 on weights that come in 8 bits.
   No library; the same in a page, in a Worker and in a live notebook.

     x = token + position                        u = N_a(x), x = x + attention(u)
     logits = output(N(x))                       u = N_f(x), x = x + contract(gelu(expand(u)))

   Each norm is one letter, in the order in which the stream meets them: l is layer norm, as
   trained; r the same with RMSNorm; f layer norm whose standard deviation is a constant; o none, and no gain
   and bias either. A test holds every logit to PyTorch's. */
const lnTransformerEngine = () => {
  "use strict";

  const CACHED_READINGS = 2; // readings: with the norms as they are set, and with all on

  /* mulberry32: small, seeded, the same in every browser and in lnlib */
  const random = (seed) => () => {
    let t = (seed = (seed + 0x6d2b79f5) | 0);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };

  /* GELU with the error function, whose series has no term below 0: nothing cancels. */
  const PER_ROOT_PI = 2 / Math.sqrt(Math.PI);
  const OVER = Float64Array.from({ length: 400 }, (_, n) => 1 / (2 * n + 3)); // a sum ends before
  function gelu(x) {
    const z = Math.abs(x) * Math.SQRT1_2;
    if (z > 6) return x > 0 ? x : 0;
    const step = 2 * z * z;
    let term = z, sum = z;
    for (let n = 0; term > 1e-16 * sum; n++) sum += term *= step * OVER[n];
    const erf = PER_ROOT_PI * Math.exp(-z * z) * sum;
    return 0.5 * x * (1 + (x < 0 ? -erf : erf));
  }

  /* x Wᵀ + b: rows of n numbers to rows of m. Two rows by four outputs at a time stay in registers;
     of an odd number of rows the last is its own neighbor. */
  function linear(x, rows, { W, b, n, m }) {
    const out = new Float64Array(rows * m);
    for (let r = 0; r < rows; r += 2) {
      const p = r * n, q = (r + 1 < rows ? r + 1 : r) * n, end = q / n * m;
      let c = 0;
      for (; c + 3 < m; c += 4) {
        let s0 = b[c], s1 = b[c + 1], s2 = b[c + 2], s3 = b[c + 3];
        let t0 = s0, t1 = s1, t2 = s2, t3 = s3;
        for (let k = 0, i = c * n; k < n; k++, i++) {
          const u = x[p + k], v = x[q + k];
          const w0 = W[i], w1 = W[i + n], w2 = W[i + 2 * n], w3 = W[i + 3 * n];
          s0 += u * w0; s1 += u * w1; s2 += u * w2; s3 += u * w3;
          t0 += v * w0; t1 += v * w1; t2 += v * w2; t3 += v * w3;
        }
        out[r * m + c] = s0; out[r * m + c + 1] = s1; out[r * m + c + 2] = s2; out[r * m + c + 3] = s3;
        out[end + c] = t0; out[end + c + 1] = t1; out[end + c + 2] = t2; out[end + c + 3] = t3;
      }
      for (; c < m; c++) {
        let s = b[c], t = s;
        for (let k = 0, i = c * n; k < n; k++, i++) { s += x[p + k] * W[i]; t += x[q + k] * W[i]; }
        out[r * m + c] = s;
        out[end + c] = t;
      }
    }
    return out;
  }

  /* Rows, each with the norm that a letter names. */
  function normalize(switched, x, { gain, bias, frozen }, width, eps) {
    if (switched === "o") return x.slice();
    const out = new Float64Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      let mean = 0, squares = 0;
      if (switched !== "r") for (let i = 0; i < width; i++) mean += x[start + i] / width;
      for (let i = 0; i < width; i++) squares += (x[start + i] - mean) ** 2;
      const scale = 1 / (switched === "f" ? frozen : Math.sqrt(squares / width + eps));
      for (let i = 0; i < width; i++) out[start + i] =
        gain[i] * (x[start + i] - mean) * scale + bias[i];
    }
    return out;
  }

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);

  class Model {
    /* What Python's `weights` has written: `matrices` in 8 bits, a scale a row, vectors. */
    constructor({ matrices, scales, vectors, deviations, characters, settings }) {
      Object.assign(this, settings); // depth, width, heads, length, eps
      this.characters = Array.from(characters);
      const q = new Int8Array(bytes(matrices).buffer), s = floats(scales), v = floats(vectors);
      let atMatrix = 0, atScale = 0, atVector = 0;
      const matrix = (rows, n) => {
        const W = new Float64Array(rows * n);
        for (let r = 0, i = 0; r < rows; r++, atScale++) {
          for (let k = 0; k < n; k++) W[i++] = Math.fround(s[atScale] * q[atMatrix++]);
        }
        return W;
      };
      const vector = (n) => Float64Array.from(v.subarray(atVector, (atVector += n)));
      const layer = (m, n) => ({ W: matrix(m, n), b: vector(m), n, m });
      let norms = 0;
      const norm = () => (
        { gain: vector(width), bias: vector(width), frozen: deviations[norms++] });
      const { width, length, depth } = this, V = this.characters.length;
      this.token = matrix(V, width);
      this.position = matrix(length, width);
      this.blocks = Array.from({ length: depth }, () => ({
        qkv: layer(3 * width, width), merge: layer(width, width),
        expand: layer(4 * width, width), contract: layer(width, 4 * width),
        norm_a: norm(), norm_f: norm(),
      }));
      this.last = norm();
      this.output = layer(V, width);
      this.cached = new Map(); // from norms to what they read last
    }

    /* Every logit, and the stream before and after each norm. What was read last with these norms
       is kept: of a text that begins alike, only the rest is read. */
    read(tokens, norms) {
      const last = this.cached.get(norms), most = Math.min(last?.tokens.length ?? 0, tokens.length - 1);
      let same = 0;
      while (same < most && last.tokens[same] === tokens[same]) same++;
      const reading = last?.reading ?? new Reading(this, norms);
      reading.count = same;
      const rest = reading.add(tokens.slice(same));
      const joined = (old, fresh) => {
        const size = fresh.length / (tokens.length - same);
        const all = new Float64Array(tokens.length * size);
        if (same) all.set(old.subarray(0, same * size));
        all.set(fresh, same * size);
        return all;
      };
      const logits = joined(last?.logits, rest.logits);
      const stream = rest.stream.map(({ before, after }, l) => ({
        before: joined(last?.stream[l].before, before), after: joined(last?.stream[l].after, after),
      }));
      this.cached.delete(norms); // the latest stands last
      this.cached.set(norms, { tokens: [...tokens], reading, logits, stream });
      if (this.cached.size > CACHED_READINGS) this.cached.delete(this.cached.keys().next().value);
      return { logits, stream };
    }

    /* A function that returns one token more each time, and its surprise. It sees the last `length`
       tokens. */
    writer(tokens, norms, { temperature, seed }) {
      const next = random(seed), V = this.characters.length, all = tokens.slice(-this.length);
      let reading = new Reading(this, norms), logits = reading.add(all).logits;
      return () => {
        const last = logits.subarray(logits.length - V), token = draw(last, temperature, next);
        const bits = surprise(last, token);
        all.push(token);
        if (all.length <= this.length) ({ logits } = reading.add([token]));
        else {
          all.shift();
          reading = new Reading(this, norms);
          ({ logits } = reading.add(all));
        }
        return { token, bits };
      };
    }
  }

  /* A text on its way through the model; what is read once is kept for the tokens that follow. */
  class Reading {
    constructor(model, norms) {
      Object.assign(this, { model, norms, count: 0 });
      const room = () => new Float64Array(model.length * model.width);
      this.cached = model.blocks.map(() => ({ keys: room(), values: room() }));
    }

    add(tokens) {
      const { model, norms } = this, { width, eps } = model, T = tokens.length, stream = [];
      const through = (x, norm) => {
        const after = normalize(norms[stream.length], x, norm, width, eps);
        stream.push({ before: x.slice(), after });
        return after;
      };
      const x = new Float64Array(T * width);
      for (let t = 0, i = 0; t < T; t++) {
        const from = tokens[t] * width, positionRow = (this.count + t) * width;
        for (let k = 0; k < width; k++) x[i++] =
          model.token[from + k] + model.position[positionRow + k];
      }
      const residual = (y) => { for (let i = 0; i < x.length; i++) x[i] += y[i]; };
      model.blocks.forEach((block, l) => {
        residual(this.attention(through(x, block.norm_a), block, this.cached[l], T));
        const hidden = linear(through(x, block.norm_f), T, block.expand);
        for (let i = 0; i < hidden.length; i++) hidden[i] = gelu(hidden[i]);
        residual(linear(hidden, T, block.contract));
      });
      this.count += T;
      return { logits: linear(through(x, model.last), T, model.output), stream };
    }

    attention(u, block, { keys, values }, T) {
      const { width, heads } = this.model, d = width / heads, scale = 1 / Math.sqrt(d);
      const qkv = linear(u, T, block.qkv), read = new Float64Array(T * width);
      const weights = new Float64Array(this.count + T);
      for (let t = 0; t < T; t++) {
        const from = 3 * width * t, now = this.count + t;
        keys.set(qkv.subarray(from + width, from + 2 * width), now * width);
        values.set(qkv.subarray(from + 2 * width, from + 3 * width), now * width);
        for (let h = 0; h < width; h += d) {
          let top = -Infinity, sum = 0;
          for (let j = 0; j <= now; j++) {
            let score = 0;
            for (let k = h; k < h + d; k++) score += qkv[from + k] * keys[j * width + k];
            top = Math.max(top, (weights[j] = score * scale));
          }
          for (let j = 0; j <= now; j++) sum += weights[j] = Math.exp(weights[j] - top);
          for (let j = 0; j <= now; j++) {
            const share = weights[j] / sum;
            for (let k = h; k < h + d; k++) read[t * width + k] += share * values[j * width + k];
          }
        }
      }
      return linear(read, T, block.merge);
    }
  }

  /* exp(logit / temperature), summing to 1 */
  function chances(logits, temperature = 1) {
    const top = Math.max(...logits), p = Float64Array.from(logits, (v) => Math.exp((v - top) / temperature));
    const sum = p.reduce((a, b) => a + b);
    return p.map((v) => v / sum);
  }

  /* The likeliest token at temperature 0, else one that is drawn. */
  function draw(logits, temperature, next) {
    if (!temperature) return logits.indexOf(Math.max(...logits));
    const p = chances(logits, temperature);
    let left = next(), i = 0;
    while (i < p.length - 1 && (left -= p[i]) >= 0) i++;
    return i;
  }

  /* -log2 of the probability of a token, at temperature 1. */
  function surprise(logits, token) {
    const top = Math.max(...logits);
    let sum = 0;
    for (const v of logits) sum += Math.exp(v - top);
    return (Math.log(sum) + top - logits[token]) / Math.LN2;
  }

  /* The surprise of each character but the first, in bits, and the entropy of what the model
     predicts after each character, in nats. */
  function costs(logits, tokens, V) {
    const bits = [], entropy = [];
    for (let t = 0; t < tokens.length; t++) {
      const row = logits.subarray(t * V, (t + 1) * V);
      if (t + 1 < tokens.length) bits.push(surprise(row, tokens[t + 1]));
      entropy.push(chances(row).reduce((sum, p) => (p ? sum - p * Math.log(p) : sum), 0));
    }
    return { bits, entropy };
  }

  return { Model, chances, costs, random };
};
