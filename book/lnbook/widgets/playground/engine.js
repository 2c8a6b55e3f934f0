/* A network of fully connected layers that trains in the page: forward, backward by hand, SGD and
   Adam, in float64. No library; the same in a page, in a Worker and in a live notebook.

   One hidden layer, with x what it is given, n its size and norm as in lnlib.norms:

     norm before the activation   h = act(gain * norm(W x + c) + b)           residual: h = x + …
     norm after                   h = gain * norm(act(W x + c)) + b           residual: norm(x + …)

   c is there where no norm follows directly, or where a bias before the norm is asked for; b where
   the norm subtracts a mean (layer, batch); gain with every norm. The last layer is W x + c.
   A test holds losses, weights and running averages to PyTorch's. */
const lnEngine = () => {
  "use strict";
  const EPS = 1e-5, MOMENTUM = 0.1; // PyTorch's
  const BETA1 = 0.9, BETA2 = 0.999, ADAM_EPS = 1e-8;

  /* mulberry32: small, seeded, the same in every browser */
  const random = (seed) => () => {
    let t = (seed = (seed + 0x6d2b79f5) | 0);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = (r) => () => Math.sqrt(-2 * Math.log(1 - r())) * Math.cos(2 * Math.PI * r());

  /* out[r, c] = sum over k of a[r ar + k ak] b[k, c], two rows by four columns at a time: eight sums
     stay in registers. Of an odd number of rows the last is its own neighbor. */
  function multiply(out, a, b, rows, columns, terms, ar, ak) {
    const whole = columns & ~3;
    for (let r = 0; r < rows; r += 2) {
      const from = r * ar, next = (r + 1 < rows ? r + 1 : r) * ar;
      for (let c = 0; c < whole; c += 4) {
        let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
        for (let k = 0, i = from, j = next, p = c; k < terms; k++) {
          const x = a[i], y = a[j], u = b[p], v = b[p + 1], w = b[p + 2], z = b[p + 3];
          s0 += x * u; s1 += x * v; s2 += x * w; s3 += x * z;
          t0 += y * u; t1 += y * v; t2 += y * w; t3 += y * z;
          i += ak; j += ak; p += columns;
        }
        const o = r * columns + c, q = o + (r + 1 < rows ? columns : 0);
        out[o] = s0; out[o + 1] = s1; out[o + 2] = s2; out[o + 3] = s3;
        out[q] = t0; out[q + 1] = t1; out[q + 2] = t2; out[q + 3] = t3;
      }
    }
    for (let c = whole; c < columns; c++) {
      for (let r = 0; r < rows; r++) {
        let sum = 0;
        for (let k = 0; k < terms; k++) sum += a[r * ar + k * ak] * b[k * columns + c];
        out[r * columns + c] = sum;
      }
    }
  }

  const transpose = (out, a, rows, columns) => {
    for (let r = 0, i = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = a[i++];
  };

  /* Groups of numbers, each centered (not by RMS norm) and divided by its standard deviation:
     the units of an example for layer and RMS norm, the examples of a unit for batch norm. */
  function standardize(x, hat, rstd, groups, size, groupStep, step, center, running) {
    for (let g = 0; g < groups; g++) {
      const first = g * groupStep, end = first + size * step;
      let mean = 0, variance = 0;
      if (center) {
        for (let i = first; i < end; i += step) mean += x[i];
        mean /= size;
      }
      for (let i = first; i < end; i += step) variance += (x[i] - mean) * (x[i] - mean);
      variance /= size;
      const s = (rstd[g] = 1 / Math.sqrt(variance + EPS));
      for (let i = first; i < end; i += step) hat[i] = (x[i] - mean) * s;
      if (running) {
        const unbiased = (variance * size) / Math.max(1, size - 1);
        running.mean[g] += MOMENTUM * (mean - running.mean[g]);
        running.variance[g] += MOMENTUM * (unbiased - running.variance[g]);
      }
    }
  }
  function standardizeBack(d, hat, rstd, groups, size, groupStep, step, center) { // d: in place
    for (let g = 0; g < groups; g++) {
      const first = g * groupStep, end = first + size * step;
      let shift = 0, slope = 0;
      for (let i = first; i < end; i += step) { shift += d[i]; slope += d[i] * hat[i]; }
      shift = center ? shift / size : 0;
      slope /= size;
      for (let i = first; i < end; i += step) d[i] = rstd[g] * (d[i] - shift - hat[i] * slope);
    }
  }

  /* Math.tanh in two thirds of its time, as exact: beyond 20 both are 1. */
  const tanh = (v) => { const e = Math.expm1(2 * Math.min(v, 20)); return e / (e + 2); };

  /* GELU with tanh, as GPT-2 has it and torch.nn.GELU(approximate="tanh") */
  const K = Math.sqrt(2 / Math.PI), CUBE = 0.044715;
  function activate(kind, u, a, size) {
    if (kind === "relu") for (let i = 0; i < size; i++) a[i] = u[i] > 0 ? u[i] : u[i] * 0;
    else if (kind === "tanh") for (let i = 0; i < size; i++) a[i] = tanh(u[i]);
    else if (kind === "gelu") {
      for (let i = 0; i < size; i++) {
        const v = u[i];
        a[i] = 0.5 * v * (1 + tanh(K * (v + CUBE * v * v * v)));
      }
    } else for (let i = 0; i < size; i++) a[i] = u[i];
  }
  function activateBack(kind, d, u, a, size) { // d: in place
    if (kind === "relu") { for (let i = 0; i < size; i++) if (!(u[i] > 0)) d[i] = 0; }
    else if (kind === "tanh") for (let i = 0; i < size; i++) d[i] *= 1 - a[i] * a[i];
    else if (kind === "gelu") {
      for (let i = 0; i < size; i++) {
        const v = u[i], t = tanh(K * (v + CUBE * v * v * v));
        d[i] *= 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * K * (1 + 3 * CUBE * v * v);
      }
    }
  }

  const addRow = (out, x, row, size) => {
    const n = row.length;
    for (let i = 0, j = 0; i < size; i++) { out[i] = x[i] + row[j]; if (++j === n) j = 0; }
  };
  const sumRows = (out, x, size) => {
    const n = out.length;
    out.fill(0);
    for (let i = 0, j = 0; i < size; i++) { out[j] += x[i]; if (++j === n) j = 0; }
  };

  class Network {
    /* settings: inputs, classes, depth (hidden layers), width, activation, norm, place ("before"
       or "after" the activation), residual, bias (before the norm), size (of the first weights, in
       He's), optimizer, rate, seed; room: the most examples of a call */
    constructor(settings) {
      Object.assign(this, {
        activation: "relu", norm: "none", place: "before", residual: false, bias: false, size: 1,
        optimizer: "sgd", rate: 0.1, seed: 1, room: 128,
      }, settings);
      this.layers = [];
      this.updates = this.wrong = 0;
      for (let l = 0; l <= this.depth; l++) this.layers.push(this.#layer(l));
    }

    #layer(l) {
      const last = l === this.depth, n = l ? this.width : this.inputs;
      const m = last ? this.classes : this.width, size = this.room * m;
      const norm = last ? "none" : this.norm, after = this.place === "after";
      const room = () => new Float64Array(size);
      // A stream of its own for each layer: networks of other depths share their first layers.
      const uniform = random(1000 * this.seed + (last ? 999 : l));
      // He's uniform start times `size`; the last layer as PyTorch starts it.
      const bound = last ? 1 / Math.sqrt(n) : this.size * Math.sqrt(6 / n);
      const L = {
        n, m, last, norm, after, skip: this.residual && !last && l > 0,
        W: new Float64Array(n * m).map(() => bound * (2 * uniform() - 1)),
        turned: new Float64Array(n * m), // W as the forward pass reads it, a column an output
        c: norm === "none" || after || this.bias ? new Float64Array(m) : null,
        gain: norm === "none" ? null : new Float64Array(m).fill(1),
        b: norm === "layer" || norm === "batch" ? new Float64Array(m) : null,
        z: room(), h: room(), d: room(), rstd: new Float64Array(Math.max(this.room, m)),
      };
      L.hat = norm === "none" ? null : room();
      L.u = norm !== "none" && !after ? room() : L.z; // what the activation is given
      L.a = L.skip || (after && norm !== "none") ? room() : L.h; // what it returns
      L.sum = L.skip && after && norm !== "none" ? room() : L.a; // what a norm after it is given
      if (norm === "batch") {
        L.running = { mean: new Float64Array(m), variance: new Float64Array(m).fill(1) };
      }
      L.parameters = ["W", "c", "gain", "b"].filter((name) => L[name]).map((name) => {
        const zeros = () => new Float64Array(L[name].length);
        return { name, value: L[name], gradient: zeros(), first: zeros(), second: zeros() };
      });
      L.gradient = Object.fromEntries(L.parameters.map((p) => [p.name, p.gradient]));
      return L;
    }

    /* y = gain * norm(x) + b */
    #normalize(L, x, y, B, training) {
      const { m, hat, gain, b, running } = L, size = B * m;
      if (L.norm === "batch" && training) standardize(x, hat, L.rstd, m, B, 1, m, true, running);
      else if (L.norm === "batch") {
        for (let j = 0; j < m; j++) {
          const mean = running.mean[j], s = 1 / Math.sqrt(running.variance[j] + EPS);
          for (let i = j; i < size; i += m) hat[i] = (x[i] - mean) * s;
        }
      } else standardize(x, hat, L.rstd, B, m, m, 1, L.norm === "layer");
      for (let i = 0, j = 0; i < size; i++) { y[i] = gain[j] * hat[i]; if (++j === m) j = 0; }
      if (b) addRow(y, y, b, size);
    }

    #normalizeBack(L, d, B) { // d: in place
      const { m, hat, gain, gradient } = L, size = B * m, dgain = gradient.gain.fill(0);
      if (L.b) sumRows(gradient.b, d, size);
      for (let i = 0, j = 0; i < size; i++) {
        dgain[j] += d[i] * hat[i];
        d[i] *= gain[j];
        if (++j === m) j = 0;
      }
      if (L.norm === "batch") standardizeBack(d, hat, L.rstd, m, B, 1, m, true);
      else standardizeBack(d, hat, L.rstd, B, m, m, 1, L.norm === "layer");
    }

    /* The logits of B examples; in training batch norm uses the batch and moves its averages. */
    forward(x, B, training) {
      for (const L of this.layers) {
        const { n, m, z, u, a, h, norm, after, skip, sum } = L, size = B * m;
        transpose(L.turned, L.W, m, n);
        multiply(z, x, L.turned, B, m, n, n, 1);
        if (L.c) addRow(z, z, L.c, size);
        if (norm !== "none" && !after) this.#normalize(L, z, u, B, training);
        activate(L.last ? "identity" : this.activation, u, a, size);
        const s = norm !== "none" && after ? sum : h;
        if (skip) for (let i = 0; i < size; i++) s[i] = x[i] + a[i];
        if (norm !== "none" && after) this.#normalize(L, sum, h, B, training);
        x = h;
      }
      return x;
    }

    /* The mean cross entropy of the last forward pass, in nats; `wrong` counts its errors. */
    loss(y, B) {
      const { h, d, m } = this.layers[this.depth];
      let total = 0;
      this.wrong = 0;
      for (let e = 0; e < B; e++) {
        const o = e * m;
        let top = o, sum = 0;
        for (let i = o + 1; i < o + m; i++) if (h[i] > h[top]) top = i;
        for (let i = o; i < o + m; i++) sum += d[i] = Math.exp(h[i] - h[top]);
        for (let i = o; i < o + m; i++) d[i] /= sum * B;
        d[o + y[e]] -= 1 / B;
        total += Math.log(sum) + h[top] - h[o + y[e]];
        if (top !== o + y[e] || !(h[top] < Infinity)) this.wrong++;
      }
      return total / B;
    }

    backward(x, B) {
      for (let l = this.depth; l >= 0; l--) {
        const L = this.layers[l], { n, m, d, u, a, norm, after, skip, gradient } = L, size = B * m;
        const below = l ? this.layers[l - 1] : null;
        if (norm !== "none" && after) this.#normalizeBack(L, d, B);
        if (skip) below.d.set(d.subarray(0, size)); // the way past the layer
        if (!L.last) activateBack(this.activation, d, u, a, size);
        if (norm !== "none" && !after) this.#normalizeBack(L, d, B);
        if (L.c) sumRows(gradient.c, d, size);
        multiply(gradient.W, d, below ? below.h : x, m, n, B, 1, m);
        if (!below) continue;
        const through = skip ? (this.spare ??= new Float64Array(this.room * this.width)) : below.d;
        multiply(through, d, L.W, B, n, m, m, 1);
        if (skip) for (let i = 0; i < size; i++) below.d[i] += through[i];
      }
    }

    update() {
      const t = ++this.updates, { rate } = this;
      const first = rate / (1 - BETA1 ** t), second = 1 / (1 - BETA2 ** t);
      for (const L of this.layers) {
        for (const { value: p, gradient: g, first: f, second: s } of L.parameters) {
          if (this.optimizer === "adam") {
            for (let i = 0; i < p.length; i++) {
              f[i] += (1 - BETA1) * (g[i] - f[i]);
              s[i] += (1 - BETA2) * (g[i] * g[i] - s[i]);
              p[i] -= (first * f[i]) / (Math.sqrt(s[i] * second) + ADAM_EPS);
            }
          } else for (let i = 0; i < p.length; i++) p[i] -= rate * g[i];
        }
      }
    }

    /* One update; returns the batch's loss before it. */
    step(x, y, B) {
      this.forward(x, B, true);
      const loss = this.loss(y, B);
      this.backward(x, B);
      this.update();
      return loss;
    }

    /* Error (a share) and loss on examples, as at test time. */
    test({ x, y }) {
      let wrong = 0, loss = 0;
      for (let i = 0; i < y.length; i += this.room) {
        const B = Math.min(this.room, y.length - i);
        this.forward(x.subarray(i * this.inputs, (i + B) * this.inputs), B, false);
        loss += B * this.loss(y.subarray(i, i + B), B);
        wrong += this.wrong;
      }
      return { error: wrong / y.length, loss: loss / y.length };
    }

    /* Of the last forward pass of B examples, for each hidden layer: the root mean square of its
       outputs, the share of their squares that tells examples apart, and the share of its units
       that are 0 (ReLU) or beyond ±0.99 (tanh) for every example. */
    activity(B) {
      return this.layers.slice(0, -1).map(({ h, a, m }) => {
        const idle = { relu: (v) => v === 0, tanh: (v) => Math.abs(v) > 0.99 }[this.activation];
        let squares = 0, apart = 0, dead = 0;
        for (let j = 0; j < m; j++) {
          let sum = 0, square = 0, still = idle !== undefined;
          for (let i = j; i < B * m; i += m) {
            sum += h[i];
            square += h[i] * h[i];
            still &&= idle(a[i]);
          }
          squares += square;
          apart += square - (sum * sum) / B;
          dead += still ? 1 : 0;
        }
        const share = squares > 0 ? Math.max(0, apart / squares) : 0;
        return { size: Math.sqrt(squares / (B * m)), apart: share, dead: dead / m };
      });
    }

    /* The length of the last update's gradient, by layer, of the weights alone. */
    slopes() {
      return this.layers.map(({ gradient }) => {
        let sum = 0;
        for (const g of gradient.W) sum += g * g;
        return Math.sqrt(sum);
      });
    }
  }

  /* Examples without end, in a new order each epoch, as many at a time as are asked for. */
  function examples(set, inputs, seed) {
    const r = random(seed + 77), count = set.y.length;
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    let position = count;
    return (B) => {
      const x = new Float64Array(B * inputs), y = new Uint8Array(B);
      for (let e = 0; e < B; e++, position++) {
        if (position >= count) {
          for (let i = count - 1; i > 0; i--) {
            const j = Math.floor(r() * (i + 1));
            [order[i], order[j]] = [order[j], order[i]];
          }
          position = 0;
        }
        x.set(set.x.subarray(order[position] * inputs, (order[position] + 1) * inputs), e * inputs);
        y[e] = set.y[order[position]];
      }
      return { x, y };
    };
  }

  /* What to learn: train, test: { x, y }; the last quarter or so is held out. */
  function parted(x, y, inputs, classes, train) {
    const part = (from, to) => ({ x: x.subarray(from * inputs, to * inputs), y: y.subarray(from, to) });
    return { inputs, classes, train: part(0, train), test: part(train, y.length) };
  }

  /* scikit-learn's digits as digits.js has them: A to P are 1 to 16, a small letter is a run of 1
     to 26 zeros. Mean 0 and standard deviation 1 over all pixels. */
  const DIGITS = { mean: 4.884, std: 6.017, train: 1400 };
  function digits({ pixels, labels }) {
    const x = new Float64Array(labels.length * 64).fill(-DIGITS.mean / DIGITS.std);
    let i = 0;
    for (const c of pixels) {
      const code = c.charCodeAt(0);
      if (code > 96) i += code - 96;
      else x[i++] = (code - 64 - DIGITS.mean) / DIGITS.std;
    }
    return parted(x, Uint8Array.from(labels, Number), 64, 10, DIGITS.train);
  }

  /* Points of the plane, drawn anew with one seed: as the program that the page shows does. */
  const PLANE = {
    spiral: (r, gauss, k) => { // three arms
      const s = 0.05 + 0.95 * Math.sqrt(r()), angle = (2 * Math.PI * k) / 3 + 4.5 * s + 0.16 * gauss();
      return [1.7 * s * Math.cos(angle), 1.7 * s * Math.sin(angle)];
    },
    rings: (r, gauss, k) => {
      const s = 0.35 + 0.6 * k + 0.09 * gauss(), angle = 2 * Math.PI * r();
      return [s * Math.cos(angle), s * Math.sin(angle)];
    },
    moons: (r, gauss, k) => {
      const angle = Math.PI * r(), side = 1 - 2 * k;
      return [side * (Math.cos(angle) - 0.5) + 0.13 * gauss(),
        side * (Math.sin(angle) - 0.25) + 0.13 * gauss()];
    },
  };
  const CLASSES = { spiral: 3, rings: 3, moons: 2 };
  function plane(name, seed = 5) {
    const count = 1200, r = random(seed), gauss = normal(random(seed + 1));
    const x = new Float64Array(2 * count), y = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      y[i] = i % CLASSES[name];
      x.set(PLANE[name](r, gauss, y[i]), 2 * i);
    }
    return parted(x, y, 2, CLASSES[name], 900);
  }

  return { Network, examples, digits, plane, random, DIGITS, PLANE: Object.keys(PLANE) };
};
