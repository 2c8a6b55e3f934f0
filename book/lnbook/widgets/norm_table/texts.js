/* How a norm table parses pasted text and formats numbers. */
const lnNormTableTexts = (() => {
  "use strict";
  /* Split a pasted table into rows of words, and name the separator. Brackets mark the rows of a printed NumPy
     array, which may continue over several lines. A comma is a decimal comma if there are also tabs or
     semicolons, or only spaces. */
  function block(text) {
    const framed = text.includes("[");
    let lines = framed ? [...text.matchAll(/\[([^[\]]*)\]/g)].map((m) => m[1])
      : text.split(/\r?\n|\r/);
    lines = lines.map((line) => line.replace(/[\r\n]+/g, " ").replace(/[\s,;]+$/, ""))
      .filter((line) => line.trim());
    const all = lines.join("\n"), bare = lines.map((line) => line.trim());
    let separator = "spaces", between = /\s+/;
    if (all.includes("\t") && !framed) [separator, between] = ["tabs", "\t"];
    else if (all.includes(";")) [separator, between] = ["semicolons", ";"];
    else if (all.includes(",") && (framed || all.includes(".") || /,[ \t]/.test(all)
      || !bare.some((line) => /\s/.test(line)))) [separator, between] = ["commas", ","];
    else lines = bare;
    return { rows: lines.map((l) => l.split(between).map((word) => word.trim())), separator };
  }

  const minus = (text) => text.replace("e+", "e").replaceAll("-", "−");
  const trimmed = (t) => t.includes(".") ? t.replace(/\.?0+$/, "") : t;
  const fixed = (v, n) => minus(v.toFixed(n).replace(/^-(?=[0.]*$)/, ""));
  /* Format a number for a column, so that decimal points are aligned. */
  function shown(v) {
    const size = Math.abs(v);
    if (size >= 1e5) return minus(v.toExponential(2));
    return fixed(v, size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
  }
  /* Format a number for a sentence. */
  function figure(v, digits = 4) {
    if (!Number.isFinite(v)) return Number.isNaN(v) ? "?" : v < 0 ? "−∞" : "∞";
    if (v === 0) return "0";
    const [head, power] = v.toExponential(digits - 1).split("e");
    if (power < -4 || power >= 6) return minus(`${trimmed(head)}e${power}`);
    return trimmed(fixed(v, Math.max(0, digits - 1 - power)));
  }
  const width = (text) => text.length - 0.4 * (text.match(/[^0-9e]/g)?.length ?? 0); // in digits
  const signed = (v) => v < 0 ? `(${figure(v, 6)})` : figure(v, 6);
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const count = (forms, n, values) => fill(forms[n === 1 ? 0 : 1], { n, ...values });
  const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  return { block, shown, figure, width, signed, fill, count, upper, escaped };
})();
