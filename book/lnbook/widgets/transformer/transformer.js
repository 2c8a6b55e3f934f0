/* Controls, state and address of the transformer whose norms can be switched off. */
const lnTransformer = (() => {
  "use strict";
  const COUNT = 80; // characters that are written
  const SPEAK = 900; // ms of rest before the status is said
  const SHOWN = 8; // next characters
  const SAVE = 250; // ms of rest before the address follows
  const STEP = 30; // ms between two characters that are written
  const RULER = 8; // nats at its end
  const NORMS = ["1 attention", "2 feed-forward", "3 attention", "4 feed-forward", "5 output"];
  const SWITCH = { l: "on", r: "RMS", f: "frozen", o: "off" };
  const HEATS = { 0: "0: most probable", 0.5: "0.5", 0.8: "0.8", 1: "1" };
  const LEVELS = [1, 2, 4]; // bits; the last level begins above a uniform guess
  const START = { look: "2", at: "99", heat: "0.8", seed: "1" }; // text and norms come from the page
  const FORMS = {
    text: /^[^]{0,200}$/, norms: /^[lrfo]{5}$/, look: /^[0-4]$/, at: /^\d{1,2}$/,
    heat: /^(0|0\.5|0\.8|1)$/, seed: /^\d{1,6}$/,
  };
  const ALIKE = 0.1, MUCH = 1; // nats
  const OUTCOMES = {
    loss: { hardly: "by less than 0.1 nats", some: "by 0.1 to 1 nat", much: "by more than 1 nat" },
    confidence: { more: "more confident", alike: "about as confident as before",
      less: "less confident" },
  };
  const READ_AS = { "’": "'", "‘": "'", "–": "-", "—": "-", "…": "...", "\t": " ", "\u00a0": " ",
    "\r": "" };
  let made = 0;

  const { element, escape: safe, listed } = lnCanvas;
  /* Keep what is known and allowed; whatever else was typed into an address is left out. */
  function allowed(values, before) {
    const state = { ...before };
    for (const [key, form] of Object.entries(FORMS)) {
      const value = String(Object.hasOwn(values, key) ? values[key] : "");
      if (Object.hasOwn(values, key) && form.test(value)) state[key] = value;
    }
    return state;
  }
  function read() {
    const stored = lnAddress.read().get("run");
    return stored ? Object.fromEntries(stored) : null;
  }
  const nats = (v) => (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0));
  const percent = (p) => (p >= 0.995 && p < 1 ? "> 99%" : p < 0.005 ? "< 1%" : `${Math.round(100 * p)}%`);
  const spoken = (c) => ({ " ": "space", "\n": "new line" })[c] ?? `“${c}”`;
  const probability = (bits) => (bits > 9.9 ? "p < 0.001" : `p = ${(2 ** -bits).toFixed(bits > 3.3 ? 3 : 2)}`);
  const sign = (c) => (c === "\n" ? "↵" : c);

  return (root, { settings = {}, live = false, weights }) => {
    made++;
    const $ = (name) => root.querySelector(`[data-part="${name}"]`);
    const addressed = !live && made === 1; // one on a page has the address
    const mine = `ln-transformer-${made}`;
    const first = allowed(settings, START); // where a challenge without a sentence goes back to
    let state = allowed((addressed && read()) || {}, first);

    const row = (name, i) => `<fieldset class="ln-transformer-row ln-segments"><legend><span class="ln-hush">Norm</span> ${name}</legend>`
      + Object.entries(SWITCH).map(([key, text]) => `<label class="ln-transformer-${key}"><input
        type="radio" name="${mine}-${i}" value="${key}" data-norm="${i}"
        autocomplete="off"><span>${text}</span></label>`).join("") + "</fieldset>";
    const pick = (part, values, label) => `<label>${label} <select class="ln-select" data-part="${part}"
      autocomplete="off">${Object.entries(values).sort(([p], [q]) => p - q).map(([v, text]) =>
      `<option value="${v}">${text}</option>`).join("")}</select></label>`;
    root.append(element(`<div class="ln-transformer-body">
      <div class="ln-transformer-challenges" role="group" aria-label="Challenges"><span>Predict:</span>
        ${LN_TRANSFORMER_CHALLENGES.map((c, i) => `<button type="button" class="ln-button" data-challenge="${i}"
          aria-pressed="false">${c.name}</button>`).join("")}</div>
      <div class="ln-transformer-ask" data-part="ask" hidden></div>
      <div class="ln-transformer-first">
        <div class="ln-transformer-words">
          <label class="ln-transformer-sentence"><span>Your sentence</span> <span data-part="count"></span>
            <textarea data-part="text" rows="2" maxlength="64" spellcheck="false" autocomplete="off"
              autocapitalize="off"></textarea></label>
          <p class="ln-transformer-left-out" data-part="left-out" role="status" hidden></p>
          <div class="ln-transformer-texts">${[1, 0].map((k) => `<section data-part="side-${k}">
            <p class="ln-transformer-name" data-part="whose-${k}">All norms on</p>
            <p data-part="text-${k}" data-side="${k}" tabindex="0" role="slider" aria-valuemin="1"><span
              data-part="read-${k}"></span><span data-part="wrote-${k}"></span></p></section>`).join("")}</div>
          <p class="ln-transformer-legend" data-part="legend"></p>
        </div>
        <div class="ln-transformer-norms">
          ${NORMS.map(row).join("")}
          <fieldset class="ln-transformer-row ln-transformer-all ln-segments"><legend>All five</legend>${Object.entries(SWITCH).map(
            ([key, text]) => `<button type="button" class="ln-button" data-all="${key}"
              aria-label="${text}, all five norms">${text}</button>`).join("")}</fieldset>
          <p class="ln-transformer-score">Loss: <strong data-part="loss">–</strong> <span data-part="loss-says">nats
            per character on your sentence</span></p>
          <div class="ln-transformer-ruler" aria-hidden="true"><i class="ln-transformer-blind" data-part="blind"></i>
            <i class="ln-transformer-usual" data-part="usual"></i><i class="ln-transformer-now" data-part="now"></i></div>
          <p class="ln-transformer-recorded" data-part="recorded"></p>
        </div>
        <div class="ln-transformer-surprise">
          <p class="ln-transformer-verdict" data-part="verdict"></p>
          <p class="ln-transformer-points" data-part="points"></p>
        </div>
      </div>
      <div class="ln-transformer-bar">${pick("heat", HEATS, "Temperature")}
        <button type="button" class="ln-button" data-part="again">Sample again</button>
        <button type="button" class="ln-button" data-part="reset">Reset</button>
        ${live ? "" : `<button type="button" class="ln-button" data-part="copy">Copy link</button>
        <input class="ln-transformer-link" data-part="link" readonly hidden aria-label="Link to this state">`}
      </div>
      <div class="ln-transformer-inside">
        <section class="ln-transformer-next"><p class="ln-transformer-name">Next character</p><ol data-part="next"></ol>
          <p class="ln-transformer-note" data-part="tick">The line shows the probability with all norms on.</p></section>
        <section class="ln-transformer-stream">
          <div class="ln-transformer-bar">${pick("look", { ...NORMS }, "Residual stream at norm")}
            <label class="ln-transformer-at">Character <input type="range" class="ln-slider" data-part="at" min="0" max="1"
              autocomplete="off"></label></div>
          <canvas data-part="canvas" role="img" aria-label=""></canvas>
          <p class="ln-transformer-says" data-part="says"></p>
        </section>
      </div>
      <p class="ln-hush" data-part="status" role="status" aria-live="polite"></p>
      <details data-part="numbers"><summary class="ln-opens">The numbers behind the pictures</summary>
        <div class="ln-transformer-table ln-values" data-part="table" tabindex="0" role="region"
          aria-label="The numbers behind the pictures"></div></details>
    </div>`));

    const calm = matchMedia("(prefers-reduced-motion: reduce)");

    // The model, in a Worker.
    const background = lnBackground(lnTransformerEngine, lnTransformerWorker, received);
    const { send } = background;

    let model = null, id = 0, waiting = false, owed = false, closed = false;
    let view = null, challenge = null, pending = null;
    let wrote = [[], []], revealed = 0, revealing = 0; // yours, and that with all norms on
    let pointed = null; // a character that was written

    /* The sentence as the model reads it, what was left out, and what was read as something else. */
    function sentence() {
      const known = model.characters, chars = [], out = new Set(), changed = new Set();
      for (const c of state.text) {
        const read = known.includes(c) ? c : READ_AS[c];
        if (read === undefined) out.add(c);
        else {
          if (read !== c && c !== "\r") changed.add(c);
          chars.push(...read);
        }
      }
      const length = model.settings.length, dropped = Math.max(0, chars.length - length);
      return { chars: chars.length ? chars.slice(-length) : ["\n"], out: [...out],
        changed: [...changed], dropped, empty: !chars.length };
    }

    let saving = 0;
    function request() {
      clearTimeout(saving);
      saving = setTimeout(save, SAVE);
      if (!model) return;
      if (waiting) { owed = true; return; }
      [waiting, owed] = [true, false];
      const reading = sentence(), { chars } = reading;
      id++;
      pending = { chars, norms: state.norms, reading };
      send({ id, tokens: chars.map((c) => model.characters.indexOf(c)), norms: state.norms,
        how: { temperature: Number(state.heat), seed: Number(state.seed) }, count: COUNT });
    }
    function received(m) {
      if (closed || m.id !== id) return;
      if (m.current) {
        waiting = false;
        if (owed) return request();
        view = { ...pending, ...m };
        [wrote, revealed, pointed] = [[[], []], 0, null];
        draw();
        root.dataset.ready = "yes";
        if (challenge?.predicted && view.norms === challenge.norms) finish();
        return;
      }
      wrote[m.baseline ? 1 : 0].push(...m.written);
      revealing ||= setTimeout(reveal, STEP);
    }
    const allOn = () => view.norms === "lllll";
    const sides = () => (allOn() ? [0] : [0, 1]);
    function yours() {
      const { norms } = view, changed = [...NORMS.keys()].filter((i) => norms[i] !== "l");
      const kinds = new Set(changed.map((i) => norms[i]));
      if (kinds.size > 1) return "your settings";
      const which = changed.length % NORMS.length ? `norm${changed.length > 1 ? "s" : ""} ${
        listed(changed.map((i) => i + 1))}` : "all norms";
      return `${which} ${SWITCH[norms[changed[0] ?? 0]]}`;
    }
    const level = (bits) => [...LEVELS, uniform()].filter((edge) => bits >= edge).length;
    const uniform = () => Math.log2(model.characters.length);

    // What is to be seen.
    let colors = null; // of this theme
    function themeColors() {
      const css = getComputedStyle(root), v = (name) => css.getPropertyValue(name).trim();
      return colors ??= { ink: v("--ln-text"), soft: v("--ln-soft"), zero: v("--ln-zero"),
        negative: v("--ln-negative"), positive: v("--ln-positive"), bar: v("--ln-gray"),
        frozen: v("--ln-kept") };
    }
    function draw() {
      if (!view) return;
      const { current, baseline, chars, reading } = view, T = chars.length;
      picture(); // first: it asks how wide it is, which is known as long as nothing has changed
      $("count").textContent = `${reading.empty ? 0 : T} of ${model.settings.length} characters`;
      const notes = [];
      if (reading.out.length) {
        const them = reading.out.length > 1 ? "them" : "it";
        notes.push(`Left out, because the training text does not contain ${them}: `
          + `${listed(reading.out.map(spoken))}.`);
      }
      if (reading.changed.length) {
        notes.push(`${listed(reading.changed.map((c) => `${spoken(c)} is read as `
          + `${spoken(READ_AS[c])}`))}.`);
      }
      if (reading.dropped) notes.push(`The model reads only the last ${model.settings.length} characters.`);
      if (reading.empty) notes.push("The sentence is empty, so the model starts after a line break.");
      if ($("left-out").textContent !== notes.join(" ")) $("left-out").textContent = notes.join(" ");
      $("left-out").hidden = !notes.length;
      texts();
      legend();
      verdict();
      cost();
      next(current, baseline);
    }
    /* Characters, each on the color of its surprise; the very first has none. */
    const colored = (chars, bits, from) => chars.map((c, i) => `<span data-at="${from + i}"${
      bits[i] === undefined ? "" : ` data-level="${level(bits[i])}"`}>${safe(sign(c))}</span>`).join("");
    function texts() {
      const { chars, current, baseline, reading } = view;
      $("side-1").hidden = allOn();
      for (const k of [0, 1]) {
        $(`wrote-${k}`).textContent = "";
        $(`read-${k}`).innerHTML = reading.empty ? ""
          : colored(chars, [undefined, ...(k ? baseline : current).bits], 0);
        const name = k ? "all norms on" : yours();
        $(`text-${k}`).setAttribute("aria-label", `Surprise of each character, ${name}`);
      }
      $("whose-0").textContent = `${yours()[0].toUpperCase()}${yours().slice(1)}`;
      point();
    }
    /* One more character of each text, or all where motion is not wanted. */
    function reveal() {
      const written = Math.min(...sides().map((k) => wrote[k].length)), { length } = view.chars;
      const next = calm.matches ? written : Math.min(written, revealed + 1);
      for (const k of sides()) {
        const fresh = wrote[k].slice(revealed, next);
        $(`wrote-${k}`).insertAdjacentHTML("beforeend", colored(
          fresh.map(({ token }) => model.characters[token]), fresh.map(({ bits }) => bits),
          length + revealed));
      }
      revealed = next;
      revealing = revealed < written ? setTimeout(reveal, STEP) : 0;
      if (revealed === COUNT) {
        verdict();
        speak();
      }
    }
    function legend() {
      const edges = [0, ...LEVELS, uniform()].map((v) => v.toFixed(2).replace(".00", ""));
      $("legend").innerHTML = `Surprise −log<sub>2</sub> p in bits: <span>${edges.map((edge, i) =>
        `<span data-level="${i}">${edges[i + 1] ? `${edge}–${edges[i + 1]}` : `> ${edge}`}</span>`).join(" ")}</span> <span>▸ continuation</span>`;
    }
    /* The character that is looked at: of the sentence in both texts, else of one of them. */
    function point() {
      const { chars, current, baseline } = view, T = chars.length;
      const at = pointed?.at ?? Math.min(T - 1, Number(state.at));
      const of = (k) => (at < T ? (k ? baseline : current).bits[at - 1] : wrote[k][at - T].bits);
      const says = (k) => (at ? `${probability(of(k))}, ${of(k).toFixed(1)} bits` : "the first, not predicted");
      const character = spoken(at < T ? chars[at] : model.characters[wrote[pointed.side][at - T].token]);
      for (const e of root.querySelectorAll(".ln-transformer-here")) e.classList.remove("ln-transformer-here");
      const shown = pointed ? [pointed.side] : sides();
      for (const k of shown) {
        root.querySelector(`[data-part="text-${k}"] [data-at="${at}"]`)?.classList.add("ln-transformer-here");
        const ends = { valuenow: at + 1, valuemax: T + COUNT, valuetext: `${at + 1}, ${character}: ${says(k)}` };
        for (const [name, value] of Object.entries(ends)) $(`text-${k}`).setAttribute(`aria-${name}`, value);
      }
      $("points").innerHTML = `Character ${at + 1}, <b>${safe(character)}</b>: ${at ? shown.toReversed().map((k) =>
        `${says(k)} (${k ? "all norms on" : yours()})`).join("; ") : says(0)}. <span class="ln-transformer-note">Underlined: a surprise of more than ${
        uniform().toFixed(2)} bits, that of a uniform guess.</span>`;
    }
    function verdict() {
      const mean = (k) => nats(wrote[k].slice(0, COUNT).reduce((sum, { bits }) => sum + bits, 0) / COUNT);
      const { current, baseline } = view, known = current.loss === current.loss;
      const bits = [current, baseline].map(({ loss }) => nats(loss / Math.LN2));
      $("verdict").innerHTML = `${known ? `<b>Your sentence: ${bits[1]} bits per character with all norms on${
        allOn() ? "" : `, ${bits[0]} with ${yours()}`}.</b>` : ""} ${revealed < COUNT ? ""
        : `${allOn() ? "What it writes itself" : "What they write themselves"}: ${listed(sides().toReversed().map(mean))}.`}`;
    }
    function cost() {
      const { current, baseline, norms } = view,
        toPercent = (v) => `${(100 * Math.min(RULER, v)) / RULER}%`;
      const known = current.loss === current.loss; // a single character has no loss
      $("loss").textContent = known ? nats(current.loss) : "–";
      $("loss-says").textContent = `nats per character on your sentence${
        known && !allOn() ? `; ${nats(baseline.loss)} with all norms on` : ""}`;
      for (const [name, value] of [["now", current.loss], ["usual", baseline.loss],
        ["blind", Math.log(model.characters.length)]]) {
        $(name).style.left = toPercent(known ? value : 0);
      }
      root.querySelector(".ln-transformer-ruler").classList.toggle("ln-transformer-beyond", current.loss > RULER);
      const seeds = model.recorded?.[norms], span = (v) => [Math.min(...v), Math.max(...v)].map(nats);
      $("recorded").textContent = seeds
        ? `On validation text, ${seeds.length} seeds: ${span(seeds).join(" to ")} nats per character.`
        : "This setting was not measured on validation text.";
      $("recorded").textContent += ` The mark shows a uniform guess, ${
        nats(Math.log(model.characters.length))}.`;
    }
    function next(current, baseline) {
      const order = Array.from(current.chances.keys()).sort((p, q) =>
        current.chances[q] - current.chances[p]);
      $("next").innerHTML = order.slice(0, SHOWN).map((k) => `<li><b>${
        safe({ " ": "space", "\n": "line" }[model.characters[k]] ?? model.characters[k])}</b><span
        class="ln-transformer-chance"><i style="width:${100 * current.chances[k]}%"></i>${allOn() ? ""
        : `<u style="left:${100 * baseline.chances[k]}%"></u>`}</span><span>${
        percent(current.chances[k])}</span></li>`).join("");
      $("tick").style.visibility = allOn() ? "hidden" : "visible";
    }
    let shown = null;
    function picture() {
      const { current, chars, norms } = view, T = chars.length, l = Number(state.look);
      const position = Math.min(T - 1, Number(state.at)), slider = $("at");
      slider.max = T - 1;
      slider.value = position;
      slider.disabled = T < 2;
      slider.setAttribute("aria-valuetext", `${position + 1} of ${T}: ${spoken(chars[position])}`);
      const { before, after } = current.stream[l];
      shown = lnTransformerPictures.stream($("canvas"), themeColors(),
        { chars, before, after, at: position, frozen: model.deviations[l] });
      const [b, a] = shown.map(({ stats }) => stats), { short } = lnTransformerPictures;
      const span = (rows) => [Math.min, Math.max].map((f) => short(f(...rows.map((r) => r.std))));
      const out = b.outliers.slice(0, 4).map(({ k, times }) => `${k} (${short(times)} times the median RMS)`);
      const what = `The standard deviation (std) of a character is between ${
        span(b.rows).join(" and ")} before the norm and between ${
        span(a.rows).join(" and ")} after it. ${out.length
        ? `Outlier features: ${listed(out)}.` : "No feature is an outlier."}`;
      $("says").textContent = `${what} Character ${position + 1}, ${spoken(chars[position])}: mean ${
        b.rows[position].mean.toFixed(2).replace("-", "−")}, std ${short(b.rows[position].std)}; `
        + `after the norm, std ${short(a.rows[position].std)}. The line marks the constant of “frozen”, `
        + `${short(model.deviations[l])}.`;
      $("canvas").setAttribute("aria-label", `The residual stream at norm ${NORMS[l]}, ${SWITCH[norms[l]]}: ${T} `
        + "characters by 64 features, before and after the norm, described by the sentences below.");
      if ($("numbers").open) table();
    }
    function look(at, side) {
      pointed = at < view.chars.length ? null : { at, side };
      if (pointed) return point();
      state.at = String(at);
      picture();
      point();
    }
    function table() {
      const { chars, current } = view, [b, a] = shown.map(({ stats }) => stats.rows);
      const f = (v) => v.toFixed(2).replace("-", "−");
      $("table").innerHTML = `<table><caption>The residual stream at norm ${NORMS[state.look]}</caption><thead><tr>${
        ["character", "surprise (bits)", "mean before", "std before", "mean after", "std after"]
          .map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${
        chars.map((c, t) => `<tr><th scope="row">${safe(spoken(c))}</th><td>${
          t ? f(current.bits[t - 1]) : "–"}</td>${[b[t].mean, b[t].std, a[t].mean, a[t].std]
          .map((v) => `<td>${f(v)}</td>`).join("")}</tr>`).join("")}</tbody></table>`;
    }
    let quiet = 0;
    function speak() {
      clearTimeout(quiet);
      quiet = setTimeout(() => {
        const { current } = view, k =
          current.chances.indexOf(Math.max(...current.chances));
        const message = `Mean surprise. ${$("verdict").textContent.trim()} The most probable next character is ${spoken(model.characters[k])}, ${
          percent(current.chances[k])}. `
          + sides().toReversed().map((k) => `${k ? "All norms on" : "Your settings"}: ${wrote[k].map(
            ({ token }) => model.characters[token]).join("").replace(/\s+/g, " ")}`).join(". ");
        if ($("status").textContent !== message) $("status").textContent = message;
      }, SPEAK);
    }

    // Controls and the address.
    function show() {
      if ($("text").value !== state.text) $("text").value = state.text;
      for (const field of root.querySelectorAll("[data-norm]")) {
        field.checked = state.norms[field.dataset.norm] === field.value;
      }
      $("heat").value = state.heat;
      $("look").value = state.look;
      $("again").disabled = state.heat === "0";
    }
    function change(values) {
      state = allowed(values, state);
      show();
      request();
    }
    const chosen = () => Object.entries(state).filter(([key, value]) => value !== first[key]);
    function save() {
      if (addressed) lnAddress.save("run", chosen());
    }

    // Challenges: predict, run, read.
    function choose(i) {
      const c = LN_TRANSFORMER_CHALLENGES[i];
      challenge = { ...c };
      change({ norms: "lllll", ...(view?.chars.length > 9 ? {} : { text: first.text }) });
      for (const button of root.querySelectorAll("[data-challenge]")) {
        button.setAttribute("aria-pressed", String(Number(button.dataset.challenge) === i));
      }
      const question = c.asks === "loss" ? "By how much will the loss on your sentence rise?"
        : "How confident will the model be about the next characters?";
      $("ask").hidden = false;
      $("ask").replaceChildren(element(`<div><p><b>${c.name}.</b> ${c.what} ${question}</p>
        <p class="ln-transformer-outcomes">${Object.entries(OUTCOMES[c.asks]).map(([key, text]) =>
          `<button type="button" class="ln-button" data-outcome="${key}">${text}</button>`).join("")}</p></div>`));
    }
    function predict(outcome) {
      if (challenge.told) return;
      challenge.predicted = outcome;
      for (const button of $("ask").querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.outcome === outcome));
      }
      change({ norms: challenge.norms });
    }
    function finish() {
      const { current, baseline } = view, { asks, predicted } = challenge;
      const more = asks === "loss" ?
        current.loss - baseline.loss : current.entropy - baseline.entropy;
      const outcome = asks === "loss" ? (more < ALIKE ? "hardly" : more < MUCH ? "some" : "much")
        : more < -ALIKE ? "more" : more < ALIKE ? "alike" : "less";
      const what = OUTCOMES[asks], explanation = asks === "loss"
        ? `The loss goes from ${nats(baseline.loss)} to ${nats(current.loss)} nats per character.`
        : `The entropy of its predictions goes from ${nats(baseline.entropy)} to ${nats(current.entropy)} nats, and the loss `
          + `from ${nats(baseline.loss)} to ${nats(current.loss)}.`;
      $("ask").append(element(`<p class="ln-transformer-why" role="status"><b>${outcome === predicted
        ? "As you predicted" : "Not as you predicted"}: ${what[outcome]}.</b> ${explanation}
        ${challenge.why}</p>`));
      challenge = { ...challenge, predicted: null, told: true };
    }
    function leave() {
      challenge = null;
      $("ask").hidden = true;
      for (const button of root.querySelectorAll("[data-challenge]")) {
        button.setAttribute("aria-pressed", "false");
      }
    }

    const on = (name, act) => $(name)?.addEventListener("click", act);
    on("again", () => change({ seed: String((Number(state.seed) + 1) % 1e6) }));
    on("reset", () => {
      leave();
      state = { ...first };
      show();
      request();
    });
    on("copy", () => {
      lnCanvas.copy(lnAddress.link("run", chosen()), $("copy"), $("link"));
    });
    root.addEventListener("input", ({ target }) => {
      const { part, norm } = target.dataset;
      if (part === "text") change({ text: target.value });
      else if (part === "at") {
        if (view) look(Number(target.value));
        save();
      } else if (norm !== undefined) {
        if (challenge) leave();
        const norms = [...state.norms];
        norms[norm] = target.value;
        change({ norms: norms.join(""), look: norm }); // what was switched is shown
      } else if (part === "heat") change({ heat: target.value });
      else if (part === "look") {
        state.look = target.value;
        save();
        if (view) picture();
      }
    });
    root.addEventListener("click", ({ target }) => {
      const { challenge: i, outcome, all } = target.dataset;
      if (i) choose(Number(i));
      else if (outcome) predict(outcome);
      else if (all) {
        leave();
        change({ norms: all.repeat(5) });
      }
    });
    const touch = (event) => {
      if (!shown || (event.type === "pointermove" && event.pointerType !== "mouse")) return;
      const y = event.clientY - $("canvas").getBoundingClientRect().top;
      for (const { room } of shown) {
        const row = Math.floor((y - room.top) / room.row);
        if (y >= room.top && y < room.bottom && String(row) !== state.at) {
          look(row);
        }
      }
    };
    $("canvas").addEventListener("pointermove", touch);
    $("canvas").addEventListener("pointerdown", touch);
    const over = (event) => {
      const at = event.target.dataset.at;
      if (at !== undefined) look(Number(at), Number(event.target.closest("[data-side]").dataset.side));
    };
    for (const k of [0, 1]) {
      $(`text-${k}`).addEventListener("pointerover", over);
      $(`text-${k}`).addEventListener("pointerdown", over);
      $(`text-${k}`).addEventListener("keydown", (event) => {
        if (!view) return;
        const last = view.chars.length + revealed - 1;
        const now = Number($(`text-${k}`).getAttribute("aria-valuenow")) - 1;
        const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
          Home: 0, End: last }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        look(Math.max(0, Math.min(last, to)), k);
      });
    }
    root.addEventListener("toggle", ({ target }) => {
      if (target.dataset.part === "numbers" && target.open && view) table();
    }, true);

    const unwatch = lnCanvas.watch(root, () => {
      colors = null;
      if (view) picture();
    });
    const moved = () => {
      const typed = addressed ? read() : null;
      if (!typed) return;
      leave();
      state = allowed(typed, first);
      show();
      request();
    };
    addEventListener("hashchange", moved);

    show();
    Promise.resolve(typeof weights === "function" ? weights() : weights).then((loaded) => {
      if (closed) return;
      model = { ...loaded, characters: Array.from(loaded.characters) };
      send({ weights: loaded });
      request();
    }, (error) => {
      $("left-out").hidden = false;
      $("left-out").textContent = `The model cannot be read: ${error.message}.`;
      root.dataset.ready = "failed";
    });
    return () => { // a notebook takes its output away
      closed = true;
      for (const timer of [quiet, revealing, saving]) clearTimeout(timer);
      background.stop();
      unwatch();
      removeEventListener("hashchange", moved);
    };
  };
})();
