/* Numbers as people type them: "1,155", "1 155", "−3", "1e-3", "1/4". The twin of numbers.py, which
   says what is read how. */
window.lnNumbers ??= (() => {
  "use strict";
  const GAP = " \u00a0\u2009\u202f";
  const whole = (source) => new RegExp(`^[+-]?(?:${source})$`, "i");
  const grouped = (separator) => `[1-9][0-9]{0,2}([${separator}])[0-9]{3}(?:\\1[0-9]{3})*`;
  const POINT = whole(`(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:e[+-]?[0-9]+)?|${grouped(`,${GAP}`)}(?:\\.[0-9]*)?`);
  const COMMA = whole(`[0-9]*,[0-9]+(?:e[+-]?[0-9]+)?|[0-9]+,|${grouped(GAP)},[0-9]*`);

  // What groups is left out, the point is a point; nothing if it is no number so.
  function plain(part, point) {
    if (point === "," && part.includes(","))
      return COMMA.test(part) ? part.replace(new RegExp(`[${GAP}]`, "g"), "").replace(",", ".") : "";
    return POINT.test(part) ? part.replace(new RegExp(`[,${GAP}]`, "g"), "") : "";
  }
  function forms(text) {
    const parts = text.replace(/[−–]/g, "-").split("/").map((part) => part.trim());
    const all = [".", ","].map((point) => parts.map((part) => plain(part, point)));
    return parts.length > 2 ? [] : [...new Set(all.filter((w) => w.every(Boolean)).map((w) => w.join("/")))];
  }
  function value(form) {
    const [over, under] = form.split("/").map(Number);
    return under === undefined ? over : under ? over / under : NaN;
  }
  function readings(text, unit = "") {
    text = text.trim();
    if (unit && text.toLowerCase().endsWith(unit.toLowerCase())) text = text.slice(0, -unit.length);
    return [...new Set(forms(text).map(value))].filter(Number.isFinite);
  }
  return { forms, value, readings };
})();
