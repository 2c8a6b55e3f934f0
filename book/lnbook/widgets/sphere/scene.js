/* The picture, as the inside of an SVG, and the sentence that says what is to be seen. */
const lnSphereScene = (() => {
  "use strict";
  const { plus, times, long, normalize, affine, backward, camera, flat, dot, UP } = lnSpace;
  const WIDTH = 440, HEIGHT = 385, UNIT = 59, MIDDLE = [220, 198]; // pixels; where 0 is
  const GAIN = [1.4, 0.5, 1], BIAS = [0.5, 0, 0.8], ROOT = Math.sqrt(3), SIDE = 2.2;
  const ROUND = Array.from({ length: 73 }, (_, i) => (i * Math.PI) / 36)
    .map((t) => flat(ROOT * Math.cos(t), ROOT * Math.sin(t)));
  const clip = (v) => Math.min(1, Math.max(0, v));
  const none = ({ sigma }, eps) => sigma < 1e-9 && eps === 0; // 0 / 0

  /* Where a is at a stage: 1 has no mean, 2 has deviation 1, 3 has gain and bias. */
  function at(a, stage, eps) {
    const { centered, hat, std } = normalize(a, eps);
    const [fall, divide, last] = [0, 1, 2].map((k) => clip(stage - k));
    const now = plus(centered, plus(a, centered, -1), 1 - fall);
    const divided = divide ? times(now, 1 - divide + divide / std) : now; // std may be 0
    return last ? plus(times(divided, 1 - last), affine(hat, GAIN, BIAS), last) : divided;
  }

  const pen = (v) => String(Math.round(v * 10) / 10);
  function draw(s, cloud) {
    const { right, up, sin } = camera(s.turn, s.tilt), a = [s.a1, s.a2, s.a3];
    const stage = s.gradient ? 2 : s.stage;
    const see = (p) => [MIDDLE[0] + UNIT * dot(p, right), MIDDLE[1] - UNIT * dot(p, up)];
    const under = [], over = []; // the plane between them
    const put = (p, shape) => (dot(p, UP) * sin < -1e-9 ? under : over).push(shape);
    const path = (points, close = "") => points.map((p, i) =>
      (i ? "L" : "M") + see(p).map(pen).join(" ")).join("") + close;
    const line = (kind, ...points) => { // cut where it goes through the plane
      const parts = [[points[0]]];
      points.slice(1).forEach((p, i) => {
        const [h, k] = [points[i], p].map((q) => dot(q, UP));
        if (Math.abs(h) > 1e-9 && Math.abs(k) > 1e-9 && h * k < 0) {
          const cut = plus(points[i], plus(p, points[i], -1), h / (h - k));
          parts.at(-1).push(cut);
          parts.push([cut]);
        }
        parts.at(-1).push(p);
      });
      for (const part of parts) {
        const k = Math.floor((part.length - 1) / 2);
        put(plus(part[k], part[k + 1]), `<path class="ln-sphere-${kind}" d="${path(part)}"/>`);
      }
    };
    const ball = (kind, p, r, more = "") => {
      const [x, y] = see(p).map(pen);
      put(p, `<circle class="ln-sphere-${kind}" cx="${x}" cy="${y}" r="${r}"${more}/>`);
    };
    const texts = [];
    const write = (kind, text, [x, y], anchor = "middle") => texts.push(
      `<text class="ln-sphere-${kind}" x="${pen(x)}" y="${pen(y)}" text-anchor="${anchor}">${text}</text>`);
    const label = (kind, text, p, dx, dy, anchor) => {
      const [x, y] = see(p);
      write(kind, text, [x + dx, y + dy], anchor);
    };
    const arrow = (kind, from, to) => {
      line(kind, from, to);
      const [[x, y], [u, v]] = [see(from), see(to)], size = Math.hypot(u - x, v - y);
      if (size < 6) return;
      const [c, d] = [(u - x) / size, (v - y) / size];
      const wing = (k) => `${pen(u - 9 * c + k * d)} ${pen(v - 9 * d - k * c)}`;
      put(to, `<path class="ln-sphere-${kind} ln-sphere-head" d="M${wing(4.5)}L${pen(u)} ${pen(v)}`
        + `L${wing(-4.5)}Z"/>`);
    };

    // The room: three axes and the line of equal numbers.
    const top = times(UP, 3);
    line("line", times(top, -1), top);
    if (s.tilt < 75) label("line-name", "a₁ = a₂ = a₃", top, 8, 6, "start");
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, i) => {
      line("axis", [0, 0, 0], times(axis, 2.3));
      const [x, y] = see(times(axis, 2.5));
      write("axis-name", "a" + "₁₂₃"[i], [x, y + 4]);
    });
    // The circle, on its way to the ellipse; with eps, where this example's like come to lie.
    const it = normalize(a, s.eps), lost = none(it, s.eps), last = clip(stage - 2);
    const bend = (p) => plus(times(p, 1 - last), affine(p, GAIN, BIAS), last);
    if (last) line("trace", ...ROUND);
    line("ring", ...ROUND.map(bend));
    if (s.eps > 0 && stage > 1) {
      line("short", ...ROUND.map((p) => bend(times(p, long(it.hat) / ROOT))));
    }
    if (s.cloud) for (const p of cloud) ball("one", at(p, stage, s.eps), 3.2);

    // The way of a.
    const arriving = s.gradient && it.sigma >= 1e-9;
    const dim = s.gradient ? " ln-sphere-dim" : "", fallen = it.centered, out = it.hat;
    const now = lost ? at(a, Math.min(1, stage), s.eps) : at(a, stage, s.eps);
    line("fall" + dim, a, stage < 1 ? now : fallen);
    if (stage > 1 && !lost) line("divide" + dim, fallen, stage < 2 ? now : out);
    if (last && !lost) line("affine" + dim, out, now);
    const middle = (p, q) => see(plus(times(p, 0.5), q, 0.5));
    const far = (p, q) => Math.hypot(see(p)[0] - see(q)[0], see(p)[1] - see(q)[1]) > 34;
    if (stage >= 1 && far(a, fallen)) {
      const [x, y] = middle(a, fallen);
      write("fall-name" + dim, "− μ", [x - 7, y + 4], "end");
    }
    ball("shadow" + dim, fallen, 5);
    if (stage >= 2 && !lost) {
      const [x, y] = middle(fallen, out);
      if (far(fallen, out)) write("divide-name" + dim, "÷ σ", [x, y + 19]);
      ball("out", out, 6);
      const [u, v] = see(times(out, 1 + 0.28 / Math.max(0.3, long(out))));
      write("out-name", "â", [u, v + 5]);
    }
    if (stage > 0 && stage !== 2 && !lost) ball(last ? "y" : "out", now, last ? 6.5 : 5);
    if (stage === 3 && !lost) label("y-name", "y", now, 0, -13);
    ball("a", a, 7.5);
    label("a-name", "a", a, 0, -14);

    // The gradient at the normalized point: what arrives, and what is left of it.
    if (arriving) {
      const d = [s.d1, s.d2, s.d3], { ones, rest, dx } = backward(d, a, s.eps);
      const [tip, level, end] = [d, plus(d, ones, -1), rest].map((p) => plus(out, p));
      const tangent = times(cross(UP, out), 1 / long(out));
      line("tangent", plus(out, tangent, -2), plus(out, tangent, 2));
      line("fall", tip, level);
      line("divide", level, end);
      arrow("in", out, tip);
      const goal = plus(out, dx);
      if (long(dx) > 1e-9) {
        arrow("dx", out, goal);
        label("out-name", "dx", goal, 0, 20);
      }
      ball("tip", tip, 4.5);
      label("a-name", "d", tip, 12, -6);
    }

    const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => flat(SIDE * x, SIDE * y));
    const grid = [-2, -1, 0, 1, 2].flatMap((k) => [
      path([flat(k, -SIDE), flat(k, SIDE)]), path([flat(-SIDE, k), flat(SIDE, k)])]).join("");
    const near = corners.map(see).reduce((p, q) => (q[1] > p[1] ? q : p));
    write("plane-name", "sum 0", [near[0], Math.min(HEIGHT - 6, near[1] + 15)]);
    const grab = (name, p) => {
      const [x, y] = see(p).map(pen);
      return `<circle class="ln-sphere-grab" data-grab="${name}" cx="${x}" cy="${y}" r="20"/>`;
    };
    const [x, y] = MIDDLE;
    return `<circle class="ln-sphere-ball" cx="${x}" cy="${y}" r="${pen(UNIT * ROOT)}"/>`
      + under.join("") + `<path class="ln-sphere-plane" d="${path(corners, "Z")}"/>`
      + `<path class="ln-sphere-grid" d="${grid}"/>` + over.join("") + texts.join("")
      + grab("shadow", fallen) + grab("a", a)
      + (arriving ? grab("d", plus(out, [s.d1, s.d2, s.d3])) : "");
  }
  const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];

  // In words and numbers.
  const write = (v, digits = 2) =>
    (Math.round(v * 10 ** digits) / 10 ** digits + 0).toFixed(digits).replace("-", "−");
  function say(s) {
    const a = [s.a1, s.a2, s.a3], it = normalize(a, s.eps);
    const is = (name, v) => `${name}\u00a0=\u00a0${write(v)}`; // stays on one line
    const mean = is("μ", it.mean), sigma = is("σ", it.sigma);
    if (it.sigma < 1e-9) {
      return "The three numbers are equal: σ = 0. " + (s.eps ? "The divisor is √eps, and the output is 0, "
        + "the center of the circle." : "Without eps this is 0 / 0, and there is no output.");
    }
    if (s.gradient) {
      const d = [s.d1, s.d2, s.d3], { ones, along, dx } = backward(d, a, s.eps);
      const parts = `${write(long(ones))} along (1, 1, 1) and ${write(long(along))} along â`;
      if (long(dx) < 0.005) {
        return `Nothing is left of the gradient d: it has ${parts}, which would only shift or scale a.`;
      }
      const divisor = s.eps ? is("√(σ² + eps)", it.std) : sigma;
      return `Layer norm removes two components of the gradient d: ${parts}. The rest, divided by `
        + `${divisor}, is dx, with norm ${write(long(dx))}${s.eps ? "" : ": it points along the circle"}.`;
    }
    if (s.stage < 1) {
      return `Three numbers are a point in space. Its height above the plane is √3 times the mean `
        + `of the three, ${mean}.`;
    }
    if (s.stage < 2) {
      return `After the mean, ${mean}, is subtracted, the point lies in the plane. Its distance from the `
        + `center is √3 times the standard deviation, ${sigma}.`;
    }
    if (s.stage > 2) {
      return "Gain and bias turn the circle into an ellipse, the same one for every example: they do not "
        + "restore μ or σ.";
    }
    if (s.eps) {
      return `The mean, ${mean}, is removed. With ${is("eps", s.eps)} the point stops `
        + `${write(ROOT - long(it.hat))} short of the circle, so the output still depends on ${sigma}.`;
    }
    return `Layer norm removes two directions: up and down (the mean, ${mean}), and in and out (the standard `
      + `deviation, ${sigma}). Only one angle of the three numbers is left.`;
  }
  function numbers(s) {
    const a = [s.a1, s.a2, s.a3], it = normalize(a, s.eps), d = [s.d1, s.d2, s.d3];
    const forward = [["a", "a", a, `μ = ${write(it.mean)}`],
      ["fall", "a − μ", it.centered, `σ = ${write(it.sigma)}`],
      ["out", "â", it.hat, `norm ${write(long(it.hat))}`],
      ["y", "y", affine(it.hat, GAIN, BIAS), "gain, bias"]];
    const { ones, along, dx } = backward(d, a, s.eps);
    const back = [["a", "d", d, "norm"], ["fall", "along 1", ones, "removed"],
      ["divide", "along â", along, "removed"], ["out", "dx", dx, "norm"]]
      .map(([kind, name, v, what]) => [kind, name, v, `${what} ${write(long(v))}`]);
    const cellText = (v) => (typeof v === "number" ? write(v) : v).replace(/.*NaN.*/, "–");
    return (s.gradient ? back : forward).map(([kind, name, values, more]) => [kind, name, ...[...values, more].map(cellText)]);
  }
  return { WIDTH, HEIGHT, UNIT, GAIN, BIAS, at, draw, say, numbers, write };
})();
