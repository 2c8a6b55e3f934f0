/* A table into which the reader types, normalized as they type. No network; works from file://; nothing is stored. */
const lnNormTable = (() => {
  "use strict";
  const messages = lnNormTableWords;
  const NORMS = Object.keys(messages.about), EPS = ["0", "1e-5", "1e-3", "1e-1"];
  const MOST = { example: 16, feature: 8 };
  const { TEST_TIME, normalizationSets, normalize, typed } = lnNormTableCompute;
  const { block, shown, figure, width, fill, escaped } = lnNormTableTexts;

  /* Everything but the tables. */
  function frame(id, title, norms) {
    const select = (name, label, options, chosen) => `<div class="norm-table-choice norm-table-${name}">
      <label for="${id}-${name}">${label}</label><select id="${id}-${name}" autocomplete="off">${
      options.map((v) => `<option value="${v}"${v === chosen ? " selected" : ""}>${v}</option>`).join("")}</select></div>`;
    const stepper = (name, label) => `<div class="norm-table-step" role="group" aria-label="${name}s">
      <span>${label}</span>
      <button type="button" data-do="less ${name}" aria-label="Remove the last ${name}">−</button><output aria-live="off"></output>
      <button type="button" data-do="more ${name}" aria-label="Add one ${name}">+</button></div>`;
    return `<p class="norm-table-title">${escaped(title)}</p>
      <div class="norm-table-controls">
        ${select("norm", "Norm", norms)}${select("groups", "Groups", [])}${select("eps", "eps", EPS, "1e-5")}
        ${stepper("example", "Examples")}${stepper("feature", "Features")}
        <div class="norm-table-buttons"><button type="button" data-do="new">New numbers</button>
          <button type="button" data-do="start">Start values</button></div></div>
      <div class="norm-table-tables"></div>
      <p class="norm-table-about"></p>
      <div class="norm-table-said" role="status" aria-live="polite" aria-atomic="false">
        <p class="norm-table-text"></p>
        <p class="norm-table-warning" id="${id}-warning" hidden></p>
        <p class="norm-table-note" hidden></p></div>
      <p class="norm-table-work"></p>
      <details class="norm-table-paste"><summary>Paste a table of your own</summary>
        <label for="${id}-paste">One line per example, with tabs, commas, semicolons, or spaces between the numbers.
          Printed NumPy arrays work, too. (You can also paste several numbers at once into a cell of the table.)</label>
        <textarea id="${id}-paste" rows="4" spellcheck="false" autocomplete="off"></textarea>
        <button type="button" data-do="paste">Use these numbers</button></details>`;
  }

  /* x: rows of texts. running: mean and var from training, a number for each feature, or null. */
  return (root, { x, title, running }) => {
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", title);
    root.innerHTML = frame(root.id, title, NORMS.filter((name) => running || name !== TEST_TIME));
    const $ = (selector) => root.querySelector(selector);
    const [norm, groups, eps] = ["norm", "groups", "eps"].map((n) => $(`.norm-table-${n} select`));
    const state = { cell: [Math.min(x.length, 2) - 1, Math.min(x[0].length, 3) - 1] };
    let wanted = 2, seed = 0;

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
      put(x);
      [state.example, state.feature] = [x.length, x[0].length];
    }

    /* The tables: built when their shape changes, filled at every change. */
    const rms = () => state.norm === "RMS norm";
    const field = (which, i, j, text) => `<td><input type="text" size="1" data-at="${which} ${i} ${j}"`
      + ` value="${escaped(text)}" aria-label="${fill(messages.cell[which], { i: i + 1, j: j + 1 })}" autocomplete="off"`
      // No inputmode: the number pads of phones have no minus.
      + ` autocapitalize="off" spellcheck="false"></td>`;
    function build() {
      const { example: B, feature: F } = state, js = Array.from({ length: F }, (_, j) => j);
      const each = (f, list = js) => list.map(f).join("");
      const hidden = `<span class="norm-table-sr">${rms() ? "root mean square" : "mean and standard deviation"}</span>`;
      const signs = `<span class="norm-table-sign" aria-hidden="true">${rms() ? "RMS" : "μ<br>σ"}</span>`;
      const aside = ["layer norm", "RMS norm"].includes(state.norm);
      const below = ["batch norm", TEST_TIME].includes(state.norm);
      const between = { "group norm": state.groups, "instance norm": F }[state.norm] ?? Number(aside);
      const margin = (i, j, span = 0) => // beside a row, or below a row or a column
        `<td class="norm-table-margin${span ? "" : " norm-table-aside"}" data-of="${i} ${j}" colspan="${span || 1}"></td>`;
      const row = (name, cells, kind = "") =>
        `<tr${kind && ` class="${kind}"`}><th scope="row">${name}</th>${cells}</tr>`;
      let input = "", output = "";
      for (let i = 0; i < B; i++) {
        input += row(`E${i + 1}`, each((j) => field("x", i, j, state.texts.x[i][j]))
          + (aside ? margin(i, 0) : ""));
        output += row(`E${i + 1}`, each((j) => `<td data-at="y ${i} ${j}" tabindex="-1"></td>`));
        if (!between) continue;
        const size = F / between, kind = `${size > 2 ? " norm-table-wide" : ""}${aside ? " norm-table-narrow" : ""}`;
        input += row(signs + hidden, each((j) => margin(i, j, size), js.filter((j) => j % size === 0)), `norm-table-stats${kind}`);
        if (!aside) output += `<tr class="norm-table-gap${kind}" aria-hidden="true"><td colspan="${F + 1}"></td></tr>`;
      }
      const affine = each((which) => row(which,
        each((j) => field(which, 0, j, state.texts[which][0][j])), "norm-table-affine"),
      rms() ? ["gain"] : ["gain", "bias"]);
      const table = (kind, name, side, body, foot) => `<div class="norm-table-scroll"><table`
        + ` class="norm-table-${kind}"><caption>${name}</caption><thead><tr><td></td>${
          each((j) => `<th scope="col">F${j + 1}</th>`)}${side}</tr></thead><tbody>${body}</tbody>${
          foot && `<tfoot>${foot}</tfoot>`}</table></div>`;
      $(".norm-table-tables").innerHTML =
        table("x", "Input x", aside ? `<th scope="col">${hidden}</th>` : "", input,
          below ? row(signs + hidden, each((j) => margin(0, j, 1)), "norm-table-stats") : "")
        + table("y", "Output y", "", output, affine);
    }

    function update() {
      const { example: B, feature: F, texts } = state;
      const [numbers, gain, bias] = ["x", "gain", "bias"].map((w) =>
        texts[w].slice(0, B).map((row) => row.slice(0, F).map(typed)));
      const more = (list, rest) => list && [...list, ...Array(F).fill(rest)].slice(0, F);
      const trained = { mean: more(running?.mean, 0), var: more(running?.var, 1) };
      const r = { x: numbers, gain: gain[0], bias: bias[0],
        ...normalize(numbers, { ...state, gain: gain[0], bias: bias[0], running: trained }) };
      const mates = normalizationSets(state.norm, B, F, state.groups).find((cells) =>
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
          const bad = Number.isNaN(typed(el.value));
          el.toggleAttribute("aria-invalid", bad);
          if (bad) el.setAttribute("aria-invalid", "true");
          bad ? el.setAttribute("aria-describedby", root.id + "-warning")
            : el.removeAttribute("aria-describedby");
          td.classList.toggle("bad", bad);
        }
        if (which === "gain" || which === "bias") continue;
        const mine = chosen.has(`${i},${j}`), ends = (k, m) => mine && !chosen.has(`${k},${m}`);
        for (const [name, on] of Object.entries({ note: Boolean(note), set: mine,
          t: ends(i - 1, j), r: ends(i, j + 1), b: ends(i + 1, j), l: ends(i, j - 1),
          chosen: String(state.cell) === `${i},${j}` })) td.classList.toggle(name, on);
      }
      for (const td of root.querySelectorAll(".norm-table-margin")) {
        const [i0, j] = td.dataset.of.split(" ").map(Number);
        const i = state.norm === TEST_TIME ? state.cell[0] : i0;
        td.classList.toggle("mine", chosen.has(`${i},${j}`));
        const line = (sign, name, v) => `<span><span aria-hidden="true">${sign}</span>`
          + `<span class="norm-table-sr">${name}</span> <b>${v}</b></span>`;
        const isNarrow = td.classList.contains("norm-table-aside"); // a narrow column has no room for more
        const std = figure(r.std[i][j], isNarrow || td.colSpan > 1 ? 4 : 3);
        td.innerHTML = rms() ? line("RMS", "root mean square", std)
          : line("μ", "mean", figure(r.mean[i][j])) + line("σ", "standard deviation", std);
      }
      for (const t of root.querySelectorAll("table")) t.style.setProperty("--wide", `${Number(Math.min(12, wide).toFixed(1))}ch`);
      const sentences = lnNormTableSentences(state, r, running);
      for (const [kind, text] of Object.entries(
        { ...sentences, about: messages.about[state.norm] })) {
        const p = $(`.norm-table-${kind}`);
        if (p.textContent !== text) p.textContent = text;
        p.hidden = !text && kind === "warning";
      }
    }

    /* What changes more than one text: new tables, and the focus where it was. */
    function redo() {
      const focused = document.activeElement?.dataset?.at;
      const F = state.feature, whole = Array.from({ length: F }, (_, k) => k + 1).filter((g) => F % g === 0);
      state.norm = norm.value;
      state.eps = Number(eps.value);
      state.groups = Math.max(...whole.filter((g) => g <= wanted));
      groups.innerHTML = whole.map((g) => `<option>${g}</option>`).join("");
      groups.value = state.groups;
      $(".norm-table-groups").hidden = state.norm !== "group norm";
      state.cell = [Math.min(state.cell[0], state.example - 1), Math.min(state.cell[1], F - 1)];
      for (const button of root.querySelectorAll(".norm-table-step button")) {
        const [what, which] = button.dataset.do.split(" ");
        button.setAttribute("aria-disabled", state[which] === (what === "more" ? MOST[which] : 1));
        button.parentElement.querySelector("output").textContent = state[which];
      }
      build();
      update();
      if (focused) $(`[data-at="${focused}"]`)?.focus();
    }
    function note(text) {
      $(".norm-table-note").textContent = text;
      $(".norm-table-note").hidden = !text;
    }

    /* At a cell the table grows as far as it must; without one, the block is the table. */
    function paste(text, origin) {
      const { rows, separator } = block(text);
      if (!rows.length) return note(messages.nothing);
      const [i0, j0] = origin ?? [0, 0], wide = Math.max(...rows.map((row) => row.length));
      const B = Math.min(rows.length, MOST.example - i0), F = Math.min(wide, MOST.feature - j0);
      const before = origin ? [state.example, state.feature] : [0, 0];
      [state.example, state.feature] = [Math.max(before[0], i0 + B), Math.max(before[1], j0 + F)];
      for (let i = 0; i < state.example; i++) { // what nobody gave a number is empty, not invented
        for (let j = 0; j < state.feature; j++) {
          if (i >= before[0] || j >= before[1]) state.texts.x[i][j] = "";
        }
      }
      put(rows.slice(0, B).map((row) => row.slice(0, F)), i0, j0);
      redo();
      note(fill(messages.pasted, { rows: B, columns: F, separator })
        + (B < rows.length || F < wide ? ` ${messages["left out"]}` : ""));
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
    const cellOf = (el) => el.dataset.at?.split(" ").map((v, k) => k ? Number(v) : v);
    root.addEventListener("focusin", ({ target }) => {
      const cell = cellOf(target);
      if (!cell) return;
      if (target.select) { target.select(); target.dataset.before = target.value; }
      state.cell = cell[0] === "x" || cell[0] === "y" ? cell.slice(1) : [state.cell[0], cell[2]];
      update();
    });
    root.addEventListener("focusout", ({ target }) => { // a comma is seen to be read as what it was
      const cell = cellOf(target);
      const [form, second] = lnNumbers.forms(target.value ?? "");
      if (!cell || !/[,\s]/.test(target.value?.trim()) || !form || second) return;
      target.value = state.texts[cell[0]][cell[1]][cell[2]] = form;
    });
    root.addEventListener("input", ({ target }) => {
      if (target.tagName === "SELECT") {
        if (target === groups) wanted = Number(groups.value);
        return redo();
      }
      const cell = cellOf(target);
      if (!cell) return;
      note("");
      state.texts[cell[0]][cell[1]][cell[2]] = target.value;
      update();
    });
    root.addEventListener("paste", (event) => {
      const cell = cellOf(event.target), text = event.clipboardData.getData("text");
      if (!cell || cell[0] !== "x" || lnNumbers.forms(text).length) return; // one number
      const { rows } = block(text);
      if (rows.length < 2 && (rows[0]?.length ?? 0) < 2) return;
      event.preventDefault();
      paste(text, cell.slice(1));
    });
    root.addEventListener("keydown", (event) => {
      const { target, key } = event, cell = cellOf(target);
      if (!cell) return;
      const [which, i, j] = cell, to = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
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
  };
})();
