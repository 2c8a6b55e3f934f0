/* The page's half of lnbook.show.sheet: a table into which the reader types, normalized as they type.
   The only arithmetic in the book that is not Python's: `normalize`, compared with lnlib.norm by
   the tests. Words come from Python. No network; works from file://; nothing is kept. */
(() => {
  "use strict";
  const MOST = { example: 16, feature: 8 }, TEST_TIME = "batch norm at test time";

  /* For each mean, the cells [i, j] that share it. */
  function companies(norm, B, F, groups) {
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
    for (const cells of companies(norm, x.length, x[0].length, groups)) {
      const a = cells.map(([i, j]) => x[i][j]), own = norm !== TEST_TIME && norm !== "none";
      let mean = 0, std = 1, centered = a;
      if (norm === TEST_TIME) {
        mean = running.mean[cells[0][1]];
        std = Math.sqrt(running.var[cells[0][1]] + eps);
        centered = a.map((v) => v - mean);
      } else if (own) {
        if (norm !== "RMS norm") {
          // As lnlib.norm in float64: less the first number, equal numbers are exactly 0; what
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

  /* -- reading and writing numbers, as in lnbook/show/sheet.py -- */
  function number(text) {
    const parts = text.replace(/[−–]/g, "-").split("/").map((word) => {
      const whole = /^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?$/i.test(word.trim());
      return whole ? Number(word.trim().replace(",", ".")) : NaN;
    });
    if (parts.length === 1) return parts[0];
    return parts.length === 2 && parts[1] ? parts[0] / parts[1] : NaN;
  }
  const finite = (text) => Number.isFinite(number(text)) ? number(text) : NaN;

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
  function shown(v) {
    const size = Math.abs(v);
    if (size >= 1e5) return minus(v.toExponential(2));
    return fixed(v, size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
  }
  function figure(v, digits = 4) {
    if (!Number.isFinite(v)) return Number.isNaN(v) ? "?" : v < 0 ? "−∞" : "∞";
    if (v === 0) return "0";
    const [head, power] = v.toExponential(digits - 1).split("e");
    if (power < -4 || power >= 6) return minus(`${trimmed(head)}e${power}`);
    return trimmed(fixed(v, Math.max(0, digits - 1 - power)));
  }
  const width = (text) => text.length - 0.4 * (text.match(/[^0-9e]/g)?.length ?? 0); // in digits
  const signed = (v) => v < 0 ? `(${figure(v, 6)})` : figure(v, 6);
  const fill = (text, places) => text.replace(/\{(\w+)\}/g, (_, name) => places[name]);
  const count = (forms, n, places) => fill(forms[n === 1 ? 0 : 1], { n, ...places });
  const upper = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  /* -- sentences -- */
  function sentences(book, state, r) {
    const { words } = book, { norm, groups, eps, cell: [i, j], texts } = state;
    const B = state.example, F = state.feature, own = norm in words.few;
    const feature = (k) => book.columns[k] ?? `feature ${k + 1}`;
    const named = (which, k, m) => fill(words.cell[which], { i: k + 1, feature: feature(m) });
    const all = companies(norm, B, F, groups), n = all[0].length, rms = norm === "RMS norm";
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
      if (Number.isNaN(finite(t))) bad.push([t, named("x", k, m)]);
    }));
    for (const which of rms ? ["gain"] : ["gain", "bias"]) {
      texts[which][0].slice(0, F).forEach((t, m) => {
        if (Number.isNaN(finite(t))) bad.push([t, named(which, 0, m)]);
      });
    }
    if (bad.length) {
      const [t, where] = bad[0], huge = Math.abs(number(t)) === Infinity;
      said.push(fill(words.bad[huge ? "huge" : t.trim() ? "text" : "empty"],
        { Cell: upper(where), text: t.trim() }));
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
        let company = fill(words.company[norm], { i: k + 1, g, feature: feature(m) });
        if (equal.length > 1) company = count(words.company.and, equal.length - 1, { company });
        said.push(fill(say[rms ? "equal RMS" : eps ? "equal" : "equal, eps 0"], { company }));
      }
    }
    for (const key of ["too big", "too small"]) if (r.note.flat().includes(key)) said.push(say[key]);
    const known = book.running?.mean.length;
    if (norm === TEST_TIME && F > known) {
      const features = count(words.company.has, F - known, { feature: upper(feature(known)) });
      said.push(fill(say["no running"], { features }));
    }
    return { text, work, warning: said.join(" ") };
  }

  /* -- one sheet -- */
  function start(root) {
    const book = JSON.parse(root.querySelector(".sheet-data").textContent), { words } = book;
    const $ = (selector) => root.querySelector(selector);
    const [norm, groups, eps] = ["norm", "groups", "eps"].map((n) => $(`.sheet-${n} select`));
    const state = { cell: [Math.min(book.x.length, 2) - 1, Math.min(book.x[0].length, 3) - 1] };
    let wanted = book.groups, seed = 0;

    function random() { // mulberry32: the same numbers at every visit
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    }
    function draw(B, F) { // each example has a level and a spread of its own; 5 characters at most
      return Array.from({ length: B }, () => {
        const level = 50 * random() - 10, spread = 0.5 + 7.5 * random();
        return Array.from({ length: F }, () => {
          const bell = 1.73 * (random() + random() + random() + random() - 2);
          const v = Math.max(-99, Math.min(99, level + spread * bell));
          return String(Number(v.toFixed(v < -9.9 ? 1 : 2)));
        });
      });
    }
    function put(rows, i0 = 0, j0 = 0) {
      rows.forEach((row, i) => row.forEach((text, j) => { state.texts.x[i0 + i][j0 + j] = text; }));
    }
    function begin() {
      const row = (text) => [Array(MOST.feature).fill(text)];
      state.texts = { x: draw(MOST.example, MOST.feature), gain: row("1"), bias: row("0") };
      put(book.x);
      [state.example, state.feature] = [book.x.length, book.x[0].length];
    }

    /* The tables: built when their shape changes, filled at every change. */
    const head = (j) => escaped(book.columns[j] ?? `F${j + 1}`);
    const rms = () => state.norm === "RMS norm";
    const field = (which, i, j, text) => `<td><input type="text" size="1" data-at="${which} ${i} ${j}"`
      + ` value="${escaped(text)}" aria-label="${escaped(fill(words.cell[which],
        { i: i + 1, feature: book.columns[j] ?? `feature ${j + 1}` }))}" autocomplete="off"`
      // No inputmode: the number pads of phones have no minus.
      + ` autocapitalize="off" spellcheck="false"></td>`;
    function build() {
      const { example: B, feature: F } = state, js = Array.from({ length: F }, (_, j) => j);
      const each = (f, list = js) => list.map(f).join("");
      const hidden = `<span class="sheet-sr">${rms() ? "root mean square" : "mean and deviation"}</span>`;
      const signs = `<span class="sheet-sign" aria-hidden="true">${rms() ? "RMS" : "μ<br>σ"}</span>`;
      const aside = ["layer norm", "RMS norm"].includes(state.norm);
      const below = ["batch norm", TEST_TIME].includes(state.norm);
      const between = { "group norm": state.groups, "instance norm": F }[state.norm] ?? Number(aside);
      const margin = (i, j, span = 0) => // beside a row, or below a row or a column
        `<td class="sheet-margin${span ? "" : " sheet-aside"}" data-of="${i} ${j}" colspan="${span || 1}"></td>`;
      const row = (name, cells, kind = "") =>
        `<tr${kind && ` class="${kind}"`}><th scope="row">${name}</th>${cells}</tr>`;
      let x = "", y = "";
      for (let i = 0; i < B; i++) {
        x += row(`E${i + 1}`, each((j) => field("x", i, j, state.texts.x[i][j]))
          + (aside ? margin(i, 0) : ""));
        y += row(`E${i + 1}`, each((j) => `<td data-at="y ${i} ${j}" tabindex="-1"></td>`));
        if (!between) continue;
        const size = F / between, kind = `${size > 2 ? " sheet-wide" : ""}${aside ? " sheet-narrow" : ""}`;
        x += row(signs + hidden, each((j) => margin(i, j, size), js.filter((j) => j % size === 0)), `sheet-stats${kind}`);
        if (!aside) y += `<tr class="sheet-gap${kind}" aria-hidden="true"><td colspan="${F + 1}"></td></tr>`;
      }
      const affine = each((which) => row(which,
        each((j) => field(which, 0, j, state.texts[which][0][j])), "sheet-affine"),
      rms() ? ["gain"] : ["gain", "bias"]);
      const table = (kind, name, side, body, foot) => `<div class="sheet-scroll"><table`
        + ` class="sheet-${kind}"><caption>${name}</caption><thead><tr><td></td>${
          each((j) => `<th scope="col">${head(j)}</th>`)}${side}</tr></thead><tbody>${body}</tbody>${
          foot && `<tfoot>${foot}</tfoot>`}</table></div>`;
      $(".sheet-tables").innerHTML =
        table("x", "Input x", aside ? `<th scope="col">${hidden}</th>` : "", x,
          below ? row(signs + hidden, each((j) => margin(0, j, 1)), "sheet-stats") : "")
        + table("y", "Output y", "", y, affine);
    }

    function update() {
      const { example: B, feature: F, texts } = state;
      const [x, gain, bias] = ["x", "gain", "bias"].map((w) =>
        texts[w].slice(0, B).map((row) => row.slice(0, F).map(finite)));
      const more = (list, rest) => list && [...list, ...Array(F).fill(rest)].slice(0, F);
      const running = { mean: more(book.running?.mean, 0), var: more(book.running?.var, 1) };
      const r = { x, gain: gain[0], bias: bias[0],
        ...normalize(x, { ...state, gain: gain[0], bias: bias[0], running }) };
      const mates = companies(state.norm, B, F, state.groups).find((cells) =>
        cells.some(([i, j]) => i === state.cell[0] && j === state.cell[1]));
      const chosen = new Set(mates.map(String));
      const peak = Math.max(2, ...r.y.flat().filter(Number.isFinite).map(Math.abs));
      const wide = Math.max(4.5, ...texts.x.slice(0, B).flatMap((row) => row.slice(0, F).map(width)));

      for (const el of root.querySelectorAll("[data-at]")) {
        const [which, i, j] = el.dataset.at.split(" ").map((v, k) => k ? Number(v) : v);
        const td = el.closest("td"), note = which === "y" ? r.note[i][j] : "";
        if (which === "y") {
          const y = r.y[i][j];
          td.textContent = note || shown(y);
          td.style.cssText = note ? "" : `--share:${(100 * Math.abs(y) / peak).toFixed(1)}%;`
            + `--tone:var(--ln-${y < 0 ? "low" : "high"})`;
        } else {
          const bad = Number.isNaN(finite(el.value));
          el.toggleAttribute("aria-invalid", bad);
          if (bad) el.setAttribute("aria-invalid", "true");
          bad ? el.setAttribute("aria-describedby", root.id + "-warning")
            : el.removeAttribute("aria-describedby");
          td.classList.toggle("bad", bad);
        }
        if (which === "gain" || which === "bias") continue;
        const mine = chosen.has(`${i},${j}`), ends = (k, m) => mine && !chosen.has(`${k},${m}`);
        for (const [name, on] of Object.entries({ note: Boolean(note), company: mine,
          t: ends(i - 1, j), r: ends(i, j + 1), b: ends(i + 1, j), l: ends(i, j - 1),
          chosen: String(state.cell) === `${i},${j}` })) td.classList.toggle(name, on);
      }
      for (const td of root.querySelectorAll(".sheet-margin")) {
        const [i0, j] = td.dataset.of.split(" ").map(Number);
        const i = state.norm === TEST_TIME ? state.cell[0] : i0;
        td.classList.toggle("mine", chosen.has(`${i},${j}`));
        const line = (sign, name, v) => `<span><span aria-hidden="true">${sign}</span>`
          + `<span class="sheet-sr">${name}</span> <b>${v}</b></span>`;
        const beside = td.classList.contains("sheet-aside"); // a narrow column has no room for more
        const std = figure(r.std[i][j], beside || td.colSpan > 1 ? 4 : 3);
        td.innerHTML = rms() ? line("RMS", "root mean square", std)
          : line("μ", "mean", figure(r.mean[i][j])) + line("σ", "deviation", std);
      }
      for (const t of root.querySelectorAll("table")) t.style.setProperty("--wide", `${Number(Math.min(12, wide).toFixed(1))}ch`);
      const said = sentences(book, state, r);
      for (const [kind, text] of Object.entries({ ...said, about: words.about[state.norm] })) {
        const p = $(`.sheet-${kind}`);
        if (p.textContent !== text) p.textContent = text;
        p.hidden = !text && kind === "warning";
      }
    }

    /* What changes more than one text: new tables, and the focus where it was. */
    function redo() {
      const at = document.activeElement?.dataset?.at;
      const F = state.feature, whole = Array.from({ length: F }, (_, k) => k + 1).filter((g) => F % g === 0);
      state.norm = norm.value;
      state.eps = Number(eps.value);
      state.groups = Math.max(...whole.filter((g) => g <= wanted));
      groups.innerHTML = whole.map((g) => `<option>${g}</option>`).join("");
      groups.value = state.groups;
      $(".sheet-groups").hidden = state.norm !== "group norm";
      state.cell = [Math.min(state.cell[0], state.example - 1), Math.min(state.cell[1], F - 1)];
      for (const button of root.querySelectorAll(".sheet-step button")) {
        const [what, which] = button.dataset.do.split(" ");
        button.setAttribute("aria-disabled", state[which] === (what === "more" ? MOST[which] : 1));
        button.parentElement.querySelector("output").textContent = state[which];
      }
      build();
      update();
      if (at) $(`[data-at="${at}"]`)?.focus();
    }
    function note(text) {
      $(".sheet-note").textContent = text;
      $(".sheet-note").hidden = !text;
    }

    /* At a cell the table grows as far as it must; without one, the block is the table. */
    function paste(text, at) {
      const { rows, separator } = block(text);
      if (!rows.length) return note(words.nothing);
      const [i0, j0] = at ?? [0, 0], wide = Math.max(...rows.map((row) => row.length));
      const B = Math.min(rows.length, MOST.example - i0), F = Math.min(wide, MOST.feature - j0);
      const before = at ? [state.example, state.feature] : [0, 0];
      [state.example, state.feature] = [Math.max(before[0], i0 + B), Math.max(before[1], j0 + F)];
      for (let i = 0; i < state.example; i++) { // what nobody gave a number is empty, not invented
        for (let j = 0; j < state.feature; j++) {
          if (i >= before[0] || j >= before[1]) state.texts.x[i][j] = "";
        }
      }
      put(rows.slice(0, B).map((row) => row.slice(0, F)), i0, j0);
      redo();
      note(fill(words.pasted, { rows: B, columns: F, separator })
        + (B < rows.length || F < wide ? ` ${words["left out"]}` : ""));
    }

    const actions = {
      new: () => put(draw(state.example, state.feature)), start: begin,
      less: (which) => { state[which] = Math.max(1, state[which] - 1); },
      more: (which) => { state[which] = Math.min(MOST[which], state[which] + 1); },
    };
    root.addEventListener("click", ({ target }) => {
      const [what, which] = (target.closest("[data-do]")?.dataset.do ?? "").split(" ");
      if (!what) return;
      note("");
      if (what === "paste") return paste($("textarea").value);
      actions[what](which);
      redo();
    });
    const place = (el) => el.dataset.at?.split(" ").map((v, k) => k ? Number(v) : v);
    root.addEventListener("focusin", ({ target }) => {
      const at = place(target);
      if (!at) return;
      if (target.select) { target.select(); target.dataset.before = target.value; }
      state.cell = at[0] === "x" || at[0] === "y" ? at.slice(1) : [state.cell[0], at[2]];
      update();
    });
    root.addEventListener("focusout", ({ target }) => { // a decimal comma is seen to be read as one
      const at = place(target);
      if (!at || !target.value?.includes(",") || Number.isNaN(finite(target.value))) return;
      target.value = state.texts[at[0]][at[1]][at[2]] = target.value.replaceAll(",", ".");
    });
    root.addEventListener("input", ({ target }) => {
      if (target.tagName === "SELECT") {
        if (target === groups) wanted = Number(groups.value);
        return redo();
      }
      const at = place(target);
      if (!at) return;
      note("");
      state.texts[at[0]][at[1]][at[2]] = target.value;
      update();
    });
    root.addEventListener("paste", (event) => {
      const at = place(event.target), text = event.clipboardData.getData("text");
      if (!at || at[0] !== "x" || !Number.isNaN(finite(text))) return;
      const { rows } = block(text);
      if (rows.length < 2 && (rows[0]?.length ?? 0) < 2) return;
      event.preventDefault();
      paste(text, at.slice(1));
    });
    root.addEventListener("keydown", (event) => {
      const { target, key } = event, at = place(target);
      if (!at) return;
      const [which, i, j] = at, to = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
        ArrowRight: [0, 1], Enter: [event.shiftKey ? -1 : 1, 0] }[key];
      if (key === "Escape" && target.select) {
        target.value = target.dataset.before;
        target.dispatchEvent(new Event("input", { bubbles: true }));
      }
      if (!to || event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && key !== "Enter")) return;
      if (to[1] && target.select) { // within a text the arrows move the cursor
        const { selectionStart: from, selectionEnd: end, value: { length } } = target;
        if (!(from === 0 && end === length) && (from !== end || from !== (to[1] < 0 ? 0 : length))) return;
      }
      event.preventDefault();
      const column = which === "y" ? "y" : null, last = state.example;
      const line = { gain: last, bias: last + 1 }[which] ?? i; // gain and bias follow the examples
      const next = line + to[0], kind = column ?? (next < last ? "x" : next === last ? "gain" : "bias");
      $(`[data-at="${kind} ${kind === "x" || kind === "y" ? next : next - last - (kind === "bias")} ${j + to[1]}"]`)?.focus();
    });

    begin();
    redo();
    root.dataset.ready = "yes";
  }

  window.lnSheet = { normalize, companies, number, block, shown, figure };
  const find = () => document.querySelectorAll(".ln-sheet").forEach(start);
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", find) : find();
})();
