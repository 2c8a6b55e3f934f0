/* What is said of a sheet, as sentences.py says it; the words come from Python. */
const lnNormTableSentences = (() => {
  "use strict";
  const { TEST_TIME, normalizationSets, typed } = lnNormTableCompute;
  const { shown, figure, signed, fill, count, upper } = lnNormTableTexts;

  function sentences(book, state, r) {
    const { words } = book, { norm, groups, eps, cell: [i, j], texts } = state;
    const B = state.example, F = state.feature, own = norm in words.few;
    const feature = (k) => book.columns[k] ?? `feature ${k + 1}`;
    const named = (which, k, m) => fill(words.cell[which], { i: k + 1, feature: feature(m) });
    const all = normalizationSets(norm, B, F, groups), n = all[0].length, rms = norm === "RMS norm";
    const shares = own && n === 1 ? (rms ? "alone RMS" : "alone") : norm;
    const text = fill(words.shares[shares], {
      Cell: upper(named("x", i, j)), mean: figure(r.mean[i][j]), std: figure(r.std[i][j]),
      x: figure(r.x[i][j], 6), i: i + 1, g: Math.floor(j / (F / groups)) + 1,
      others: count(words.others[norm === "batch norm" ? "example" : "feature"], n - 1),
      means: count(words.means[norm] ?? words.means.mean,
        norm === TEST_TIME ? F : norm === "none" ? 0 : all.length),
    });
    const work = r.note[i][j] === "?" ? "" : fill(words.work[norm] ?? words.work.norm, {
      x: signed(r.x[i][j]), first: figure(r.x[i][j], 6), gain: signed(r.gain[j]),
      bias: signed(r.bias[j]), mean: signed(r.mean[i][j]), std: figure(r.std[i][j], 6),
      y: r.note[i][j] || shown(r.y[i][j]),
    });

    const said = [], say = words.degenerate;
    const bad = [];
    texts.x.slice(0, B).forEach((row, k) => row.slice(0, F).forEach((t, m) => {
      if (Number.isNaN(typed(t))) bad.push([t, named("x", k, m)]);
    }));
    for (const which of rms ? ["gain"] : ["gain", "bias"]) {
      texts[which][0].slice(0, F).forEach((t, m) => {
        if (Number.isNaN(typed(t))) bad.push([t, named(which, 0, m)]);
      });
    }
    if (bad.length) {
      const [t, where] = bad[0], forms = lnNumbers.forms(t), [first, second] = forms;
      const kind = lnNumbers.readings(t).length === 2 ? "two"
        : forms.some((form) => Math.abs(lnNumbers.value(form)) === Infinity) ? "huge"
          : t.trim() ? "text" : "empty";
      said.push(fill(words.bad[kind], { Cell: upper(where), text: t.trim(), first, second }));
      if (bad.length > 1) said.push(count(words.bad.more, bad.length - 1));
      said.push(words.bad.then);
    }
    if (own && n === 1) {
      said.push(fill(say[rms ? "one RMS" : eps ? "one" : "one, eps 0"], { Why: words.few[norm][0] }));
    } else if (own && n === 2 && words.few[norm][1]) {
      said.push(fill(say.two, { Why: words.few[norm][1] }));
    }
    if (own && (n > 1 || rms) && (!rms || !eps)) {
      const equal = all.filter((cells) => cells.every(([k, m]) =>
        r.x[k][m] === (rms ? 0 : r.x[cells[0][0]][cells[0][1]])));
      if (equal.length) {
        const [k, m] = equal[0][0], g = Math.floor(m / (F / groups)) + 1;
        let set = fill(words.set[norm], { i: k + 1, g, feature: feature(m) });
        if (equal.length > 1) set = count(words.set.and, equal.length - 1, { set });
        said.push(fill(say[rms ? "equal RMS" : eps ? "equal" : "equal, eps 0"], { set }));
      }
    }
    for (const key of ["too big", "too small"]) if (r.note.flat().includes(key)) said.push(say[key]);
    const known = book.running?.mean.length;
    if (norm === TEST_TIME && F > known) {
      const features = count(words.set.has, F - known, { feature: upper(feature(known)) });
      said.push(fill(say["no running"], { features }));
    }
    return { text, work, warning: said.join(" ") };
  }

  return sentences;
})();
