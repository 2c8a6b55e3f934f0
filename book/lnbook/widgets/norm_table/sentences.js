/* The sentences below a norm table: the normalization set of the chosen cell, its output, and warnings. */
const lnNormTableSentences = (() => {
  "use strict";
  const messages = lnNormTableWords;
  const { TEST_TIME, normalizationSets, typed } = lnNormTableCompute;
  const { shown, figure, signed, fill, count, upper } = lnNormTableTexts;

  function sentences(state, r, running) {
    const { norm, groups, eps, cell: [i, j], texts } = state;
    const B = state.example, F = state.feature, own = norm in messages.few;
    const named = (which, k, m) => fill(messages.cell[which], { i: k + 1, j: m + 1 });
    const all = normalizationSets(norm, B, F, groups), n = all[0].length, rms = norm === "RMS norm";
    const shares = own && n === 1 ? (rms ? "alone RMS" : "alone") : norm;
    const text = fill(messages.shares[shares], {
      Cell: upper(named("x", i, j)), mean: figure(r.mean[i][j]), std: figure(r.std[i][j]),
      x: figure(r.x[i][j], 6), i: i + 1, g: Math.floor(j / (F / groups)) + 1,
      others: count(messages.others[norm === "batch norm" ? "example" : "feature"], n - 1),
      means: count(messages.means[norm] ?? messages.means.mean,
        norm === TEST_TIME ? F : norm === "none" ? 0 : all.length),
    });
    const work = r.note[i][j] === "?" ? "" : fill(messages.work[norm] ?? messages.work.norm, {
      x: signed(r.x[i][j]), first: figure(r.x[i][j], 6), gain: signed(r.gain[j]),
      bias: signed(r.bias[j]), mean: signed(r.mean[i][j]), std: figure(r.std[i][j], 6),
      y: r.note[i][j] || shown(r.y[i][j]),
    });

    const warnings = [], degenerate = messages.degenerate;
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
      warnings.push(fill(messages.bad[kind],
        { Cell: upper(where), text: t.trim(), first, second }));
      if (bad.length > 1) warnings.push(count(messages.bad.more, bad.length - 1));
      warnings.push(messages.bad.then);
    }
    if (own && n === 1) {
      warnings.push(fill(degenerate[rms ? "one RMS" : eps ? "one" : "one, eps 0"],
        { Why: messages.few[norm][0] }));
    } else if (own && n === 2 && messages.few[norm][1]) {
      warnings.push(fill(degenerate.two, { Why: messages.few[norm][1] }));
    }
    if (own && (n > 1 || rms) && (!rms || !eps)) {
      const equal = all.filter((cells) => cells.every(([k, m]) =>
        r.x[k][m] === (rms ? 0 : r.x[cells[0][0]][cells[0][1]])));
      if (equal.length) {
        const [k, m] = equal[0][0], g = Math.floor(m / (F / groups)) + 1;
        let set = fill(messages.set[norm], { i: k + 1, g, j: m + 1 });
        if (equal.length > 1) set = count(messages.set.and, equal.length - 1, { set });
        warnings.push(fill(degenerate[rms ? "equal RMS" : eps ? "equal" : "equal, eps 0"],
          { set }));
      }
    }
    for (const key of ["too big", "too small"])
      if (r.note.flat().includes(key)) warnings.push(degenerate[key]);
    const known = running?.mean.length;
    if (norm === TEST_TIME && F > known) {
      warnings.push(count(degenerate["no running"], F - known, { j: known + 1 }));
    }
    return { text, work, warning: warnings.join(" ") };
  }

  return sentences;
})();
