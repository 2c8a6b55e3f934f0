/* The pictures, on canvases. Colors come from the page's CSS variables; `look` has them by name. */
const lnPictures = (() => {
  "use strict";
  const REACH = 2.2; // of the plane's map, as in worker.js

  const { sheet, write, box } = lnCanvas;

  const superscript = (v) => "10" + String(v).replace(/./g,
    (d) => ({ "-": "⁻" })[d] || "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  const log = (v) => (v > 0 ? Math.log10(v) : v === 0 ? -99 : NaN);
  const percent = (v) => `${Math.round(100 * v)}%`;

  /* One example in all layers: one column per layer, one cell per unit, colored by its sign. */
  function heat(pen, theme, net, x, y, width, height, scale) {
    const { depth, units, heat: values } = net, w = width / depth, h = height / units;
    box(pen, x, y, width, height, theme.zero);
    for (let l = 0; l < depth; l++) {
      for (let u = 0; u < units; u++) {
        const v = values[l * units + u] / scale;
        box(pen, x + l * w, y + u * h, w + 0.3, h + 0.3, v < 0 ? theme.negative : theme.positive,
          v === v ? Math.min(1, Math.abs(v)) : 0);
      }
    }
    for (let l = 1; l < depth; l++) box(pen, x + l * w - 0.5, y, 1, height, theme.card);
  }

  /* The pixels of the n-th digit, but for those with less ink than `least`. */
  function pixels(pen, inputs, n, x, y, side, color, { mean, std }, { least = 0, opacity = 1 } = {}) {
    const pixel = side / 8;
    for (let i = 0; i < 64; i++) {
      const ink = Math.max(0, Math.min(1, (inputs[64 * n + i] * std + mean) / 16));
      if (ink < least) continue;
      box(pen, x + (i % 8) * pixel, y + Math.floor(i / 8) * pixel, pixel + 0.3, pixel + 0.3, color,
        ink * opacity);
    }
  }
  function digit(pen, theme, input, x, y, side, scale) {
    box(pen, x, y, side, side, theme.zero);
    pixels(pen, input, 0, x, y, side, theme.ink, scale);
  }

  /* Held-out digits, those that are read in the network's color: how many rows, for this width. */
  const GAP = 2, columnsFor = (width) => (width > 240 ? 20 : 10);
  const cellFor = (width) => (width + GAP) / columnsFor(width);
  const wallHeight = (count, width) => Math.ceil(count / columnsFor(width)) * cellFor(width);
  function wall(pen, theme, inputs, read, scale, color, x, y, width) {
    const columns = columnsFor(width), cell = cellFor(width), side = cell - GAP;
    read.forEach((right, n) => {
      const left = x + (n % columns) * cell, top = y + Math.floor(n / columns) * cell;
      box(pen, left, top, side, side, right ? color : theme.zero, right ? 0.28 : 1);
      pixels(pen, inputs, n, left, top, side, right ? color : theme.soft, scale,
        { least: 0.05, opacity: right ? 1 : 0.35 });
    });
  }

  /* What the network says of every point, the held-out points, and the one that is followed. */
  function plane(pen, theme, view, net, x, y, side) {
    const at = (v) => ((v + REACH) / (2 * REACH)) * side;
    box(pen, x, y, side, side, theme.zero);
    if (net.map) {
      const n = Math.sqrt(net.map.length), cell = side / n;
      net.map.forEach((c, i) => {
        if (c >= 0) {
          box(pen, x + (i % n) * cell, y + Math.floor(i / n) * cell, cell + 0.4, cell + 0.4,
            theme.classes[c], 0.4);
        }
      });
    }
    view.points?.y.forEach((c, i) => {
      const px = x + at(view.points.x[2 * i]), py = y + side - at(view.points.x[2 * i + 1]);
      box(pen, px - 1.2, py - 1.2, 2.4, 2.4, theme.classes[c]);
      box(pen, px - 1.2, py - 1.2, 2.4, 2.4, theme.ink, 0.35);
    });
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x + at(view.input[0]), y + side - at(view.input[1]), 5, 0, 7);
    pen.stroke();
  }

  /* The answer: one bar per class, the right one in the network's color. */
  function rows(pen, theme, net, view, color, x, y, width, height) {
    const row = height / net.chances.length;
    net.chances.forEach((p, i) => {
      const right = i === view.label, top = y + i * row;
      write(pen, i, x + 7, top + 0.78 * row, right ? theme.ink : theme.soft, "right");
      box(pen, x + 12, top + 1, width - 12, row - 3, theme.zero);
      if (p === p) {
        box(pen, x + 12, top + 1, Math.max(1, (width - 12) * p), row - 3, right ? color : theme.soft);
      }
    });
  }
  function columns(pen, theme, net, view, color, x, y, width, height) {
    const step = width / net.chances.length, tall = height - 14;
    net.chances.forEach((p, i) => {
      const right = i === view.label, left = x + i * step;
      box(pen, left, y, step - 2, tall, theme.zero);
      if (p === p) box(pen, left, y + tall * (1 - p), step - 2, tall * p, right ? color : theme.soft);
      write(pen, i, left + step / 2 - 1, y + height - 1, right ? theme.ink : theme.soft, "center");
    });
  }

  /* A strip under the heat map: one value per layer. */
  function strip(pen, theme, color, values, x, y, width, height, { low, high, ticks, name }, labels) {
    const at = (v) => y + height * (1 - (v - low) / (high - low)), step = width / values.length;
    const base = at(0);
    box(pen, x, y, width, height, theme.zero);
    for (const t of ticks) {
      box(pen, x, at(t) - 0.5, width, 1, t === 0 && low < 0 ? theme.soft : theme.line);
      if (labels) write(pen, name(t), x - 6, at(t) + 4, theme.soft, "right");
    }
    values.forEach((v, l) => {
      const left = x + l * step + 0.5, wide = Math.max(1, step - 1);
      if (v !== v || v === Infinity) return box(pen, left, y, wide, height, theme.positive, 0.4);
      const top = Math.min(y + height, Math.max(y, at(v)));
      box(pen, left, Math.min(top, base), wide, Math.abs(top - base), color, 0.3);
      box(pen, left, Math.min(y + height - 3, Math.max(y, top - 1.5)), wide, 3, color);
    });
  }

  const LOG = { low: -6, high: 3, ticks: [-6, -3, 0, 3], name: superscript };
  const LARGE = 42, LITTLE = 22; // heights of strips
  const SHARE = { low: 0, high: 1, ticks: [0, 1], name: percent };

  /* A network: the example, its way through the layers, the answer, and under each layer what is
     measured there. `view` is what worker.js told, with `digits` (of the pixels) or points. */
  function network(canvas, theme, view, k, { small, color, activation }) {
    const net = view.nets[k], narrow = canvas.clientWidth < 380, onPlane = !view.digits;
    const brief = small && canvas.clientWidth < 240; // the wall has digits enough
    const tall = brief ? 72 : small || narrow ? 118 : 110;
    const side = narrow ? (onPlane ? 116 : 60) : onPlane ? tall : 72;
    const below = narrow && !brief ? side + 8 : 0;
    const shown = small && view.wall && net.read;
    const strips = small ? 26 + wallHeight(100, canvas.clientWidth) : 4 * 18 + 2 * (LARGE + LITTLE) + 18;
    const [pen, width] = sheet(canvas, 18 + tall + below + strips);
    const left = narrow ? 0 : side + (small ? 12 : Math.max(12, 44 - side + 28));
    const right = narrow ? 0 : 64, wide = width - left - right;
    const thing = onPlane ? "point" : "digit";
    let y = 18;
    write(pen, `${narrow ? "A" : "One held-out"} ${thing}, layer by layer`, left, y - 6, theme.ink);
    heat(pen, theme, net, left, y, wide, tall, activation === "tanh" ? 1 : 2);
    const draw = (x, top) => onPlane ? plane(pen, theme, view, net, x, top, side)
      : digit(pen, theme, view.input, x, top, side, view.digits);
    if (brief) {
      y += tall;
    } else if (narrow) {
      y += tall + 8;
      draw(0, y);
      columns(pen, theme, net, view, color, side + 10, y, width - side - 10, side);
      y += side;
    } else {
      draw(0, y + (tall - side) / 2);
      rows(pen, theme, net, view, color, left + wide + 8, y, right - 8, tall);
      y += tall;
    }
    if (shown) {
      write(pen, narrow ? "100 held-out digits" : "100 held-out digits; colored: classified correctly", 0, y + 20, theme.ink);
      wall(pen, theme, view.wall, net.read, view.digits, color, 0, y + 26, width);
    }
    if (small) return;
    const add = (title, values, scale, height) => {
      y += 18;
      write(pen, title, left, y - 4, theme.ink);
      strip(pen, theme, color, values, left, y, wide, height, scale, !narrow);
      y += height;
    };
    const { activity } = net, idle = activation === "tanh" ? "Saturated units" : "Dead units";
    add("RMS of the activations", activity.map((a) => log(a.size)), LOG, LARGE);
    add(`Varies with the ${thing}`, activity.map((a) => a.apart), SHARE, LITTLE);
    add(idle, activity.map((a) => a.dead), SHARE, LITTLE);
    add("Weight gradient norm", net.slopes.slice(0, net.depth).map(log), LOG, LARGE);
    write(pen, "layer 1", left, y + 14, theme.soft);
    if (net.depth > 1) write(pen, net.depth, left + wide, y + 14, theme.soft, "right");
  }

  /* Two curves by update, labelled at their ends. */
  function curves(canvas, theme, { updates, losses, errors, colors, dashed, small }) {
    const LEFT = 46; // room for the ticks' names
    const narrow = canvas.clientWidth < 560, plots = small ? 1 : 2;
    const stacked = narrow && plots > 1;
    const tall = small ? 78 : 96, height = stacked ? 2 * (tall + 46) : tall + 42;
    const [pen, width] = sheet(canvas, height), end = Math.max(200, updates);
    const wide = (width - plots * (LEFT + 20)) / (stacked ? 1 : plots) + (stacked ? LEFT + 20 : 0);
    function plot(i, title, top, ticks, name, series) {
      const x = LEFT + (stacked ? 0 : i * (wide + LEFT + 20)), y = 20 + (stacked ? i * (tall + 46) : 0);
      write(pen, title, x, y - 7, theme.ink);
      for (const t of ticks) {
        const at = y + tall * (1 - t / top);
        box(pen, x, at - 0.5, wide, 1, theme.line);
        write(pen, name(t), x - 6, at + 4, theme.soft, "right");
      }
      write(pen, "0", x, y + tall + 15, theme.soft);
      write(pen, `${end.toLocaleString("en")} updates`, x + wide, y + tall + 15, theme.soft, "right");
      const ends = series.map((points, k) => {
        let last = null, on = false;
        pen.strokeStyle = colors[k];
        pen.lineWidth = 2;
        pen.lineJoin = "round";
        pen.setLineDash(dashed && k ? [6, 3] : []);
        pen.beginPath();
        for (const [u, v] of points) {
          if (v !== v) { on = false; continue; }
          const at = [x + (wide * u) / end, y + tall * (1 - Math.min(top, v) / top)];
          if (on) pen.lineTo(...at); else pen.moveTo(...at);
          [on, last] = [true, at];
        }
        pen.stroke();
        pen.setLineDash([]);
        return last;
      });
      const [a, b] = ends;
      if (a && b && Math.abs(a[1] - b[1]) < 14) { // labels that would cover each other
        const middle = (a[1] + b[1]) / 2, up = a[1] <= b[1] ? -7 : 7;
        [a[1], b[1]] = [middle + up, middle - up];
      }
      pen.font = "650 13px system-ui, sans-serif";
      ends.forEach((at, k) => at && write(pen, "AB"[k], at[0] + 5, at[1] + 4.5, colors[k]));
      pen.font = "12px system-ui, sans-serif";
    }
    const read = errors.map((points) => points.map(([u, e]) => [u, 1 - e]));
    const error = small ? ["Held-out digits classified correctly", 1, [0, 0.5, 1], percent, read]
      : ["Error on held-out examples", 1, [0, 0.5, 1], percent, errors];
    if (!small) {
      plot(0, "Training loss, smoothed (nats)", 3, [0, 1, 2, 3], String,
        losses.map(smooth));
    }
    plot(small ? 0 : 1, ...error);
  }

  function smooth(values) {
    const points = [], stride = Math.ceil(values.length / 300);
    let mean = values[0], weight = 0;
    values.forEach((v, i) => {
      weight = 0.9 * weight + 0.1;
      if (v === v) mean = mean === mean ? mean + (0.1 / weight) * (v - mean) : v;
      if (i % stride === 0 || i === values.length - 1) points.push([i + 1, v === v ? mean : NaN]);
    });
    return points;
  }

  return { network, curves };
})();
