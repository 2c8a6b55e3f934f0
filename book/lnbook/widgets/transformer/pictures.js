/* The stream before and after a norm, on a canvas: a row a character, a column a feature. Colors
   come from the page's CSS variables; `look` has them by name. */
const lnTransformerPictures = (() => {
  "use strict";
  const HEAD = 22, FOOT = 18, LABEL = 20, GAP = 6;
  const FULL = 3; // root mean squares of the whole map: the fullest color
  const OUTLIER = 5; // an outlier's root mean square, in that of the median feature

  const { sheet, write, box } = lnCanvas;

  /* Of T rows of numbers: mean and standard deviation of each row, the root mean square of all, and the
     features that stand out, the largest first, in the median feature's root mean square. */
  function measure(values, T) {
    const width = values.length / T, rows = [], squares = new Float64Array(width);
    for (let t = 0; t < T; t++) {
      const row = values.subarray(t * width, (t + 1) * width);
      const mean = row.reduce((a, b) => a + b, 0) / width;
      const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / width;
      rows.push({ mean, std: Math.sqrt(variance) });
      row.forEach((v, k) => { squares[k] += v * v; });
    }
    const total = squares.reduce((a, b) => a + b, 0);
    const sorted = Float64Array.from(squares).sort(), h = Math.floor(width / 2);
    const root = (v) => Math.sqrt(v / T);
    const median = width % 2 ? root(sorted[h]) : (root(sorted[h - 1]) + root(sorted[h])) / 2;
    const outliers = [...squares].map((s, k) => ({ k, times: root(s) / median }))
      .filter(({ times }) => times > OUTLIER).sort((p, q) => q.times - p.times);
    return { rows, size: Math.sqrt(total / values.length), outliers };
  }

  /* A pixel a number: a share of the color of its sign on the ground. */
  const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  function pixels(theme, values, n, T, full) {
    const image = document.createElement("canvas"), ground = parts(theme.zero);
    const [above, below] = [parts(theme.positive), parts(theme.negative)];
    [image.width, image.height] = [n, T];
    const pen = image.getContext("2d"), data = pen.createImageData(n, T);
    values.forEach((v, i) => {
      const share = Math.min(1, Math.abs(v) / full), color = v < 0 ? below : above;
      for (let c = 0; c < 3; c++) data.data[4 * i + c] = ground[c] + share * (color[c] - ground[c]);
      data.data[4 * i + 3] = 255;
    });
    pen.putImageData(data, 0, 0);
    return image;
  }

  const sign = (c) => ({ " ": "·", "\n": "↵" })[c] ?? c;
  const short = (v) => (v < 9.95 ? v.toFixed(1) : v < 1e4 ? v.toFixed(0) : v.toExponential(0));

  /* One map with the standard deviation of each row. */
  function part(pen, theme, o, x, y, width, row, name) {
    const { values, stats, chars, at, frozen } = o, T = chars.length, n = values.length / T;
    const strip = o.strip, wide = width - LABEL - GAP - strip, left = x + LABEL, cell = wide / n;
    const bars = left + wide + GAP, tall = T * row;
    write(pen, name, left, y - 7, theme.ink);
    write(pen, "std", bars, y - 7, theme.soft);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(pixels(theme, values, n, T, FULL * stats.size || 1), left, y, wide, tall);
    const most = Math.max(...stats.rows.map((r) => r.std), frozen ?? 0) || 1;
    stats.rows.forEach(({ std }, t) => {
      const long = (strip * std) / most, top = y + t * row;
      write(pen, sign(chars[t]), x + LABEL - 7, top + row / 2 + 3.5, t === at ? theme.ink : theme.soft,
        "center", Math.max(8, Math.min(12, row)));
      box(pen, bars, top + 0.5, strip, row - 1, theme.zero);
      box(pen, bars, top + 0.5, long, row - 1, t === at ? theme.ink : theme.bar);
    });
    if (frozen) box(pen, bars + (strip * frozen) / most - 1, y - 3, 2, tall + 6, theme.frozen);
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(left - 1, y + at * row - 0.5, wide + 2, row + 1);
    let beyond = -99;
    for (const { k } of stats.outliers.slice(0, 4).sort((p, q) => p.k - q.k)) {
      const middle = left + (k + 0.5) * cell;
      box(pen, middle - 0.75, y + tall, 1.5, 5, theme.ink);
      if (middle - beyond > 18) write(pen, k, middle, y + tall + 15, theme.ink, "center", 11);
      beyond = middle;
    }
    return { left, top: y, bottom: y + tall, row };
  }

  /* Both maps: beside each other, or one under the other where it is narrow. */
  function stream(canvas, theme, { chars, before, after, at, frozen }) {
    const T = chars.length, narrow = canvas.clientWidth < 560;
    const row = Math.max(narrow ? 8 : 9, Math.min(15, (narrow ? 290 : 400) / T));
    const mapHeight = HEAD + T * row + FOOT,
      [pen, width] = sheet(canvas, narrow ? 2 * mapHeight : mapHeight);
    const wide = narrow ? width : (width - 14) / 2, strip = narrow ? 56 : 64;
    const parts = [before, after].map((values, i) => {
      const stats = measure(values, T);
      const room = part(pen, theme, { values, stats, chars, at, strip, frozen: i ? 0 : frozen },
        narrow ? 0 : i * (wide + 14), HEAD + (narrow ? i * mapHeight : 0), wide, row,
        i ? "After the norm" : "Before the norm");
      return { stats, room };
    });
    return parts;
  }

  return { stream, measure, sign, short };
})();
