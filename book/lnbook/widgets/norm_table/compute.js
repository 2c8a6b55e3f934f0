/* The arithmetic of a norm table: the tests compare `normalize` with lnlib.norms. */
const lnNormTableCompute = (() => {
  "use strict";
  const TEST_TIME = "batch norm at inference";

  /* For each normalization set, its cells [i, j]. */
  function normalizationSets(norm, B, F, groups) {
    const cells = (rows, columns) => rows.flatMap((i) => columns.map((j) => [i, j]));
    const to = (n, first = 0) => Array.from({ length: n }, (_, k) => first + k);
    if (norm === "layer norm" || norm === "RMS norm") return to(B).map((i) => cells([i], to(F)));
    if (norm === "batch norm") return to(F).map((j) => cells(to(B), [j]));
    const size = norm === "group norm" ? F / groups : 1;
    return to(B).flatMap((i) => to(F / size).map((g) => cells([i], to(size, g * size))));
  }

  /* x: rows of numbers, NaN where there is none. gain, bias: a number for each feature.
     Returns y, mean, std, shaped as x; y is NaN where note says why. */
  function normalize(x, { norm, gain, bias, eps = 1e-5, groups = 1, running }) {
    const grid = (fill) => x.map((row) => row.map(() => fill));
    const out = { y: grid(NaN), mean: grid(0), std: grid(1), note: grid("") };
    const sum = (a) => a.reduce((s, v) => s + v, 0);
    for (const cells of normalizationSets(norm, x.length, x[0].length, groups)) {
      const a = cells.map(([i, j]) => x[i][j]), own = norm !== TEST_TIME && norm !== "none";
      let mean = 0, std = 1, centered = a;
      if (norm === TEST_TIME) {
        mean = running.mean[cells[0][1]];
        std = Math.sqrt(running.var[cells[0][1]] + eps);
        centered = a.map((v) => v - mean);
      } else if (own) {
        if (norm !== "RMS norm") {
          // As lnlib.norms in float64: less the first number, equal numbers are exactly 0; what
          // rounding took from the mean is subtracted as well.
          const first = a[0] + sum(a.map((v) => v - a[0])) / a.length;
          const less = a.map((v) => v - first), rest = sum(less) / a.length;
          mean = first + rest;
          centered = less.map((v) => v - rest);
        }
        std = Math.sqrt(sum(centered.map((v) => v * v)) / a.length + eps);
      }
      const zero = own && std === 0 && centered.every((v) => v === 0);
      cells.forEach(([i, j], k) => {
        const b = norm === "RMS norm" ? 0 : bias[j], y = gain[j] * (centered[k] / std) + b;
        const unknown = a.some(Number.isNaN) || Number.isNaN(gain[j] + b);
        const note = unknown ? "?" : zero ? "0/0" : own && std < 1e-145 ? "too small"
          : [y, mean, std].every(Number.isFinite) ? "" : "too big";
        out.mean[i][j] = mean; out.std[i][j] = std; out.note[i][j] = note;
        out.y[i][j] = note ? NaN : y;
      });
    }
    return out;
  }

  /* A cell's number: NaN if it holds none, or one that may be two. */
  function typed(text) {
    const readings = lnNumbers.readings(text);
    return readings.length === 1 ? readings[0] : NaN;
  }

  return { TEST_TIME, normalizationSets, normalize, typed };
})();
