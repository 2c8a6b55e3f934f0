/* Layer norm of three numbers, forward and backward, and where a point in space is seen. */
const lnSpace = (() => {
  "use strict";
  const dot = (p, q) => p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
  const plus = (p, q, k = 1) => p.map((v, i) => v + k * q[i]);
  const times = (p, k) => p.map((v) => k * v);
  const long = (p) => Math.hypot(...p);
  const average = (p) => (p[0] + p[1] + p[2]) / 3;

  /* As lnlib.layer_norm: less the first number, equal numbers are exactly 0. */
  function normalize(a, eps) {
    const first = average(a.map((v) => v - a[0])), rough = a.map((v) => v - a[0] - first);
    const rest = average(rough), centered = rough.map((v) => v - rest);
    const variance = dot(centered, centered) / 3, std = Math.sqrt(variance + eps);
    return { mean: a[0] + first + rest, sigma: Math.sqrt(variance), std, centered,
      hat: centered.map((v) => v / std) };
  }
  const affine = (hat, gain, bias) => hat.map((v, i) => gain[i] * v + bias[i]);

  /* What is left of a gradient d that arrives at the normalized numbers, and what is not. */
  function backward(d, a, eps) {
    const { hat, std } = normalize(a, eps);
    const ones = Array(3).fill(average(d)), along = times(hat, dot(d, hat) / 3);
    const rest = plus(plus(d, ones, -1), along, -1);
    return { ones, along, rest, dx: rest.map((v) => v / std) };
  }

  /* (1, 1, 1) stands upright, and the plane of mean 0 lies flat. */
  const UP = times([1, 1, 1], 1 / Math.sqrt(3));
  const X = times([1, -1, 0], 1 / Math.sqrt(2)), Y = times([1, 1, -2], 1 / Math.sqrt(6));
  const flat = (x, y) => plus(times(X, x), Y, y); // a point of the plane
  function camera(turn, tilt) { // in degrees: about (1, 1, 1), and above the plane
    const [t, e] = [turn, tilt].map((v) => (v * Math.PI) / 180);
    const right = flat(Math.cos(t), -Math.sin(t)), away = flat(Math.sin(t), Math.cos(t));
    const up = plus(times(UP, Math.cos(e)), away, Math.sin(e));
    return { right, away, up, cos: Math.cos(e), sin: Math.sin(e) };
  }
  return { dot, plus, times, long, average, normalize, affine, backward, camera, flat, UP };
})();
