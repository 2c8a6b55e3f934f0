/* The controls, the state and its address, the pace: what holds the playground together. */
const lnPlayground = (() => {
  "use strict";
  const MEASURE = 250; // ms between two measurements on the held-out examples while it runs
  const BUDGET = 100, SHORT = 20; // ms of training for one answer: in a Worker, in the page itself
  const SPEAK = 3000; // ms between two sentences of the status while it runs
  const SHOW = { updates: 800, pace: 200, seen: 0.5 }; // what the small one plays, once half of it is seen
  const GOAL = 0.2; // an error below it: the network has learned
  const EXPLODED = 100; // the size of the last hidden layer
  const FADED = 1 / 20; // its size, in that of the first
  const ALIKE = 0.1; // the share of it that tells examples apart

  const same = (...values) => Object.fromEntries(values.map((v) => [v, String(v)]));
  const SWITCH = { no: "no", yes: "yes" };
  const NORMS = { none: "no normalization", layer: "layer norm", batch: "batch norm", rms: "RMS norm" };
  /* name: label, values and their texts, where to start */
  const SETTINGS = {
    data: ["Data", { digits: "digits", spiral: "spiral", rings: "rings", moons: "moons" }, "digits"],
    depth: ["Hidden layers", same(...Array.from({ length: 30 }, (_, i) => i + 1)), "10"],
    width: ["Units per layer", same(8, 16, 24, 32, 48, 64), "32"],
    activation: ["Activation",
      { relu: "ReLU", tanh: "tanh", gelu: "GELU", identity: "identity" }, "tanh"],
    norm: ["Normalization", NORMS, "layer"],
    place: ["Norm position", { before: "before activation", after: "after activation" }, "before"],
    bias: ["Bias before norm", SWITCH, "no"],
    residual: ["Residual connections", SWITCH, "no"],
    size: ["Initialization (std)", {
      0.1: "0.1 × He", 0.25: "0.25 × He", 0.41: "PyTorch (0.41)", 0.5: "0.5 × He",
      0.71: "0.71 × He", 1: "He", 1.4: "1.4 × He", 2: "2 × He", 4: "4 × He",
    }, "0.41"],
    batch: ["Batch size", same(1, 2, 4, 8, 16, 32, 64, 128), "16"],
    optimizer: ["Optimizer", { sgd: "SGD", adam: "Adam" }, "sgd"],
    rate: ["Learning rate", same(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1), "0.01"],
    seed: ["Seed", same(1, 2, 3, 4, 5, 6, 7, 8, 9), "1"],
  };
  const SHARED = ["data", "seed"]; // what both networks always have in common
  const NUMBERS = ["depth", "width", "size", "batch", "rate", "seed"];
  const PACES = {
    10: "10 updates per second", 30: "30 updates per second", 100: "100 updates per second",
    0: "as fast as possible",
  };
  const START = {
    ...Object.fromEntries(Object.entries(SETTINGS).map(([key, [, , value]]) => [key, value])),
    differs: "norm", a: "none", b: "layer", pace: "100", example: "3",
  };
  let made = 0;

  const { element } = lnCanvas;
  const options = (values) => Object.entries(values)
    .sort(([p], [q]) => (Number(p) || 0) - (Number(q) || 0)) // an object puts 1 before 0.1
    .map(([v, text]) => `<option value="${v}">${text}</option>`).join("");
  const choices = (key) => key === "differs"
    ? Object.fromEntries(Object.keys(SETTINGS).filter((k) => !SHARED.includes(k))
      .map((k) => [k, SETTINGS[k][0]]))
    : key === "pace" ? PACES : SETTINGS[key][1];

  /* Keep what is known and allowed; whatever else was typed into an address is left out. */
  function allowed(requested, before) {
    const state = { ...before };
    const take = (key, values) => {
      const value = String(requested[key] ?? "");
      if (Object.hasOwn(values, value)) state[key] = value;
    };
    for (const key of [...Object.keys(SETTINGS), "differs", "pace"]) take(key, choices(key));
    for (const arm of ["a", "b"]) {
      take(arm, SETTINGS[state.differs][1]);
      if (!Object.hasOwn(SETTINGS[state.differs][1], state[arm])) {
        state[arm] = state[state.differs];
      }
    }
    if (/^[0-9]{1,4}$/.test(requested.example ?? ""))
      state.example = String(Number(requested.example));
    return state;
  }

  /* From the address: what was chosen, and `at`, how far it had been trained. */
  function read() {
    const stored = lnAddress.read().get("play");
    return stored ? Object.fromEntries(stored) : null;
  }
  const updateCount = (storedValues) =>
    (/^[0-9]{1,5}$/.test(storedValues?.at ?? "") ? Number(storedValues.at) : 0);

  function arm(state, k) {
    const chosen = { ...state, [state.differs]: state["ab"[k]] };
    const options = {};
    for (const key of Object.keys(SETTINGS)) {
      options[key] = NUMBERS.includes(key) ? Number(chosen[key]) : chosen[key];
    }
    options.residual = chosen.residual === "yes";
    options.bias = chosen.bias === "yes";
    return options;
  }

  const number = (v) => {
    if (v < 1e-99) return "0";
    const power = Math.floor(Math.log10(v));
    const raised = String(power).replace(/./g, (d) => ({ "-": "⁻" })[d] || "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
    return power < -2 || power > 3 ? `${(v / 10 ** power).toFixed(0)} × 10${raised}`
      : String(Number(v.toPrecision(2)));
  };
  const percent = (v) => `${Math.round(100 * v)}%`;

  return (root, { small = false, settings = {}, live = false, digits }) => {
    made++;
    const $ = (name) => root.querySelector(`[data-part="${name}"]`);
    const addressed = !live && !small && made === 1; // one on a page has the address
    const fromAddress = addressed ? read() : null;
    let state = allowed(fromAddress ?? {}, allowed(settings, START));

    // The page.
    const select = (key, label, extra = "") => `<label class="ln-playground-setting"><span>${label}</span>`
      + `<select class="ln-select" data-key="${key}" autocomplete="off"${extra}></select></label>`;
    const score = (k) => `<strong data-part="error-${k}">–</strong> <span>${small
      ? '<span class="ln-playground-wide">digits </span>read' : "held-out error"}</span>`;
    const card = (k) => `<section class="ln-playground-net" data-part="net-${k}" aria-label="Network `
      + `${"AB"[k]}"><div class="ln-playground-top"><b class="ln-playground-letter">${"AB"[k]}</b>`
      + select("ab"[k], "", ` aria-label="Network ${"AB"[k]}"`)
      + `<p class="ln-playground-score">${score(k)}</p></div><canvas data-part="canvas-${k}" role="img" aria-label=""></canvas>`
      + `<p class="ln-playground-says" data-part="says-${k}"></p></section>`;
    const reading = (k) => `<span data-lights='[data-part="net-${k}"]'></span>`;
    const shared = Object.keys(SETTINGS).map((key) => select(key, SETTINGS[key][0])).join("");
    root.append(element(`<div class="ln-playground-body${small ? " ln-playground-small" : ""}">
      <div class="ln-playground-bar">
        <button type="button" class="ln-button ln-playground-go" data-part="go">Start</button>
        <button type="button" class="ln-button" data-part="step">Step</button>
        <button type="button" class="ln-button" data-part="reset">Reset</button>
        <span class="ln-playground-count"><b data-part="count">0</b> updates</span>
        ${small ? "" : select("pace", "", ' aria-label="Speed"')}
        ${small || live ? "" : `<button type="button" class="ln-button" data-part="copy">Copy link</button>
        <input class="ln-playground-link" data-part="link" readonly hidden aria-label="Link to this state">`}
      </div>
      ${small ? "" : `<div class="ln-playground-challenges" role="group" aria-label="Challenges">
        <span>Predict:</span> ${LN_CHALLENGES.map((c, i) => `<button type="button" class="ln-button" data-challenge="${i}"
          aria-pressed="false">${c.name}</button>`).join("")}</div>
      <div class="ln-playground-ask" data-part="ask" hidden></div>
      <details class="ln-playground-more" data-part="more"><summary class="ln-opens">Settings</summary>
        <div class="ln-playground-settings">${shared}</div>
      </details>
      <div class="ln-playground-follow">${select("differs", "A and B differ in")}
        <span class="ln-playground-example"><span data-part="follow"></span>
        <button type="button" class="ln-button" data-part="before" aria-label="Follow the previous example">‹</button>
        <button type="button" class="ln-button" data-part="after" aria-label="Follow the next example">›</button>
        <button type="button" class="ln-button" data-part="hardest">Hardest for B</button></span></div>`}
      <div class="ln-playground-pair">${card(0)}${card(1)}</div>
      ${small ? `<p class="ln-playground-verdict" data-part="verdict" aria-hidden="true"><span></span>${
        reading(0)}<span></span>${reading(1)}<span></span></p>` : ""}
      <canvas class="ln-playground-curves" data-part="curves" role="img" aria-label=""></canvas>
      <p class="ln-hush" data-part="status" role="status" aria-live="polite"></p>
      ${small ? `<p class="ln-playground-note"><a data-part="all" href="playground.html">Open the full playground:
        depth, initialization, other norms, ten challenges</a></p>` : `
      <div class="ln-playground-foot">
        <details data-part="code"><summary class="ln-opens">Show the code</summary>
          <p>The same in PyTorch, for <select class="ln-select" data-part="which" aria-label="Code of network"
            autocomplete="off"><option value="0">A</option><option value="1" selected>B</option>
          </select>:</p><pre tabindex="0"><code data-part="program"></code></pre></details>
        <details data-part="numbers"><summary class="ln-opens">The numbers behind the figures</summary>
          <div class="ln-playground-table ln-values" data-part="table" tabindex="0" role="region"
            aria-label="The numbers behind the figures"></div></details>
      </div>`}
    </div>`));
    root.dataset.ready = "yes";

    // The networks, in a Worker.
    const background = lnBackground(lnEngine, lnWorker, received);
    const { send } = background;

    // What the run has come to.
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let id = 0, running = false, waiting = false, closed = false, stop = 0, challenge = null;
    let showing = false; // the small one plays by itself when it is first seen
    let owed = 0; // steps asked for while an answer was on its way
    let view, losses, errors, updates, began, due, measured, spoken, announced;

    function reset(until = 0) {
      id++;
      [updates, owed, measured, spoken, announced, stop] = [0, 0, 0, 0, "", until];
      showing = false;
      $("count").textContent = "0";
      [view, losses, errors] = [null, [[], []], [[], []]];
      play(until > 0);
      waiting = true;
      const message = {
        id, arms: [arm(state, 0), arm(state, 1)], data: state.data, seed: Number(state.seed),
        example: Number(state.example),
      };
      const mine = id;
      ready(state.data).then(() => mine === id && !closed && send({ make: message }));
      show();
    }
    let sent = false; // the digits, once
    const ready = async (data) => {
      if (data !== "digits" || sent) return;
      const loaded = await digits();
      if (!sent) send({ digits: loaded });
      sent = true;
    };

    function received(m) {
      if (closed || m.id !== id) return;
      if ("example" in m) {
        state.example = String(m.example);
        return save();
      }
      waiting = false;
      const old = view;
      updates = m.updates;
      m.losses.forEach((l, k) => losses[k].push(...l));
      m.nets.forEach((net, k) => {
        const { depth, width } = arm(state, k);
        Object.assign(net, { depth, units: width });
        // What is lost stays as it last was.
        if (m.lost[k] && old) m.nets[k] = { ...old.nets[k], error: net.error };
        m.nets[k].map ??= old?.nets[k].map;
        m.nets[k].read ??= old?.nets[k].read;
        if (net.error !== undefined && errors[k].at(-1)?.[0] !== updates) {
          errors[k].push([updates, m.lost[k] ? 1 : net.error]);
        }
      });
      m.points ??= old?.points ?? null;
      m.wall ??= old?.wall ?? null;
      if (state.data === "digits") m.digits = { mean: 4.884, std: 6.017 };
      view = m;
      dirty = true;
      if (stop && updates >= stop) {
        [stop, showing] = [0, false];
        play(false);
        finish();
      } else if (!running) save(); // an answer that was on its way when the reader paused
      else if (unpaced()) next(performance.now()); // the Worker goes on while this is drawn
      wake();
    }

    let dirty = true, drawn = 0, awake = 0;
    /* Ask for what is due: updates while it runs, else a step or a measurement. */
    function next(now) {
      if (waiting) return;
      if (running) {
        const pace = showing ? SHOW.pace : Number(state.pace), fast = unpaced();
        let n = fast ? 200 : Math.min(200, Math.floor(((now - began) * pace) / 1000) - due);
        if (stop) n = Math.min(n, stop - updates);
        if (n <= 0) return;
        if (fast || n === 200) [began, due] = [now, 0]; else due += n;
        const full = now - measured > MEASURE || (stop && updates + n >= stop);
        if (full) measured = now;
        waiting = true;
        send({ train: n, full, budget: background.apart() ? BUDGET : SHORT });
      } else if (view && (owed || !view.full)) { // at rest, all is measured
        waiting = true;
        send(owed ? { train: 1, full: true } : { measure: true });
        owed = Math.max(0, owed - 1);
      }
    }
    /* To an address's place, or for a reader who wants no motion. */
    const unpaced = () => showing ? calm.matches : !Number(state.pace) || (stop && !challenge);
    function frame(now) {
      awake = 0;
      if (closed) return;
      next(now);
      if (dirty && view && (!calm.matches || !running || now - drawn > 500)) {
        draw(now);
        [dirty, drawn] = [false, now];
      }
      if (running || (dirty && view)) wake();
    }
    /* A frame at a time, and none at rest: another figure may want the browser's time. */
    function wake() {
      awake ||= requestAnimationFrame(frame);
    }

    function play(on) {
      running = on;
      [began, due] = [performance.now(), 0];
      $("go").textContent = on ? "Pause" : "Start";
      root.dataset.running = on ? "yes" : "no";
      wake();
      if (on) {
        owed = 0;
        return;
      }
      save();
      [spoken, dirty] = [0, true];
    }

    // What is to be seen, in words.
    const what = () => (state.data === "digits" ? "digit" : "point");
    const named = (k) => SETTINGS[state.differs][1][state["ab"[k]]];
    const label = (k) => state.differs === "norm" ? named(k)
      : `${SETTINGS[state.differs][0].toLowerCase()} ${named(k)}`;
    function diagnosis(k) {
      const net = view.nets[k], { depth } = net, last = net.activity[depth - 1];
      if (view.lost[k]) return `Diverged at update ${view.lost[k]}: the loss became infinite.`;
      const sizes = `RMS activation ${number(net.activity[0].size)} in layer\u00a01, ${number(last.size)} in layer\u00a0`
        + `${depth}.`;
      if (last.size > EXPLODED) return `The signal explodes: ${sizes}`;
      if (last.size < FADED * net.activity[0].size) return `The signal fades: ${sizes}`;
      const share = last.apart < 0.01 ? "under 1%" : percent(last.apart);
      return last.apart < ALIKE
        ? `Layer ${depth} is nearly the same for every ${what()}: ${share} of it varies with the ${what()}.`
        : `The signal arrives at layer\u00a0${depth}: ${share} of it varies with the ${what()}.`;
    }
    const error = (k) => errors[k].at(-1)?.[1];
    const after = () => updates === 1 ? "1 update" : `${updates.toLocaleString("en")} updates`;
    const reads = (k) => view.nets[k].read.filter(Boolean).length;
    /* What the wall of digits shows, in a sentence. */
    function verdict() {
      const total = view.nets[0].read.length;
      return [`After ${after()}, A (${label(0)}) reads `, reads(0), ` of ${total} held-out digits, `
        + `B (${label(1)}) reads `, reads(1), "."];
    }
    function status() {
      if (small) return `${verdict().join("")} ${[0, 1].map((k) => `${"AB"[k]}: ${diagnosis(k)}`).join(" ")}`;
      const each = [0, 1].map((k) => `${"AB"[k]}, ${label(k)}, misclassifies ${percent(error(k))} of `
        + `the held-out ${what()}s. ${diagnosis(k)}`);
      return `After ${after()}: ${each.join(" ")}`;
    }

    // The pictures.
    function themeColors() {
      const v = lnCanvas.palette(root), names = ["soft", "zero", "card", "line", "negative", "positive",
        "none", "layer", "batch", "rms", "sgd", "adam", "first", "second", "third"];
      const values = Object.fromEntries(names.map((name) => [name, v(name)]));
      return { ...values, ink: v("text"), classes: [values.first, values.second, values.third] };
    }
    function draw(now) {
      const colors = themeColors(), arms = [0, 1].map((k) => arm(state, k));
      const differ = (name) => arms[0][name] !== arms[1][name];
      const thing = !differ("norm") && differ("optimizer") ? "optimizer" : "norm";
      const own = arms.map((settings) => colors[settings[thing]]);
      for (const k of [0, 1]) {
        const canvas = $(`canvas-${k}`), net = view.nets[k];
        root.querySelector(`[data-part="net-${k}"]`).style.setProperty("--ln-playground-mine", own[k]);
        lnPictures.network(canvas, colors, view, k,
          { small, color: own[k], activation: arms[k].activation });
        $(`error-${k}`).textContent = error(k) === undefined ? "–"
          : small ? `${reads(k)} of ${net.read.length}` : percent(error(k));
        $(`says-${k}`).textContent = diagnosis(k);
        canvas.setAttribute("aria-label",
          `Network ${"AB"[k]}, ${label(k)}: one held-out ${what()} in its ${net.depth} layers. `
          + "The sentences below describe it.");
      }
      if (small && view.nets[0].read) {
        verdict().forEach((text, k) => { $("verdict").children[k].textContent = text; });
      }
      lnPictures.curves($("curves"), colors,
        { updates, losses, errors, colors: own, dashed: own[0] === own[1], small });
      $("curves").setAttribute("aria-label", small
        ? "Share of the held-out digits that A and B classify correctly, by update"
        : "Loss and held-out error of A and B by update");
      $("count").textContent = updates.toLocaleString("en");
      if (!small) {
        $("follow").textContent = `Followed: held-out ${what()} ${Number(state.example) + 1}`;
      }
      if (view.full && (!running || now - spoken > SPEAK)) {
        spoken = now;
        const message = status();
        if (message !== announced) $("status").textContent = announced = message;
        if (!running && $("numbers")?.open) table();
      }
    }
    function table() {
      const rows = view.nets.flatMap((net, k) => net.activity.map((a, l) => [
        "AB"[k], l + 1, number(a.size), percent(a.apart), percent(a.dead), number(net.slopes[l])]));
      const idle = arm(state, 0).activation === "tanh" ? "saturated units" : "dead units";
      const head = ["network", "layer", "RMS activation", `varies with the ${what()}`, idle, "gradient norm"];
      $("table").replaceChildren(element(`<table><caption>After ${updates} updates</caption><thead>
        <tr>${head.map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>
        ${rows.map((r) => `<tr>${r.map((v) => `<td>${v}</td>`).join("")}</tr>`).join("")}
        </tbody></table>`));
    }

    // Controls and the address.
    function show() {
      for (const field of root.querySelectorAll("[data-key]")) {
        const { key } = field.dataset, values = choices(key === "a" || key === "b" ? state.differs : key);
        const html = options(values);
        if (field.dataset.html !== html) field.innerHTML = field.dataset.html = html;
        field.value = state[key];
        field.closest("label").hidden = key === state.differs;
        field.disabled = idle(key);
        field.title = field.disabled ? "This setting has no effect with the current normalization" : "";
      }
      for (const k of [0, 1]) {
        const field = root.querySelector(`[data-key="${"ab"[k]}"]`);
        field.setAttribute("aria-label", `Network ${"AB"[k]}: ${SETTINGS[state.differs][0]}`);
      }
      if (!small) program();
    }
    /* What would change nothing: there is no norm, none behind the summed inputs, or batch norm,
       which takes a bias before it away again. */
    function idle(key) {
      if (key !== "bias" && key !== "place") return false;
      return [0, 1].every((k) => {
        const { norm, place } = arm(state, k);
        return norm === "none" || (key === "bias" && (place === "after" || norm === "batch"));
      });
    }
    function chosen() {
      const changed = Object.entries(state).filter(([key, value]) => value !== START[key]);
      return updates ? [...changed, ["at", updates]] : changed;
    }
    function save() {
      if (small) $("all").href = lnAddress.link("play", chosen(), "playground.html");
      else if (addressed) lnAddress.save("play", chosen());
    }
    function program() {
      const k = Number($("which").value);
      $("program").textContent = lnProgram(arm(state, k), updates || 500);
    }
    function change(values) {
      state = allowed(values, state);
      reset();
    }

    // Challenges: predict, run, read.
    function choose(i) {
      const c = LN_CHALLENGES[i];
      challenge = { ...c, i };
      state = allowed(c.settings, { ...START, pace: state.pace });
      reset();
      for (const button of root.querySelectorAll("[data-challenge]")) {
        button.setAttribute("aria-pressed", String(Number(button.dataset.challenge) === i));
      }
      const outcomes = ["only A", "only B", "both", "neither"];
      $("ask").hidden = false;
      $("ask").replaceChildren(element(`<div><p><b>${c.name}.</b> A: ${label(0)}. B: ${label(1)}.
        After ${c.updates.toLocaleString("en")} updates, which network will misclassify fewer
        than ${percent(GOAL)} of the held-out ${what()}s?</p><p class="ln-playground-outcomes">
        ${outcomes.map((o) => `<button type="button" class="ln-button" data-outcome="${o}">${o}</button>`).join("")}
        </p></div>`));
    }
    function predict(outcome) {
      challenge.predicted = outcome;
      for (const button of $("ask").querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.outcome === outcome));
      }
      if (updates) reset();
      stop = challenge.updates;
      play(true);
    }
    function finish() {
      if (!challenge?.predicted) return;
      const [a, b] = [0, 1].map((k) => error(k) < GOAL);
      const outcome = a && b ? "both" : a ? "only A" : b ? "only B" : "neither";
      const right = outcome === challenge.predicted;
      $("ask").append(element(`<p class="ln-playground-why" role="status"><b>${right ? "As you predicted"
        : `You predicted ${challenge.predicted}. Result`}: ${outcome}.</b> A misclassifies
        ${percent(error(0))}, B ${percent(error(1))}. ${challenge.why}</p>`));
      challenge = { ...challenge, predicted: null };
    }
    function leaveChallenge() {
      challenge = null;
      $("ask").hidden = true;
      for (const button of root.querySelectorAll("[data-challenge]")) {
        button.setAttribute("aria-pressed", "false");
      }
    }

    const on = (name, act) => $(name)?.addEventListener("click", act);
    on("go", () => {
      if (!running && challenge?.predicted && updates < challenge.updates) stop = challenge.updates;
      play(!running);
    });
    on("step", () => {
      play(false);
      owed++;
      wake();
    });
    on("reset", () => reset());
    for (const [name, move] of [["before", -1], ["after", 1]]) {
      on(name, () => send({ example: Number(state.example) + move }));
    }
    on("hardest", () => send({ example: "hardest" }));
    on("copy", () => {
      save();
      lnCanvas.copy(lnAddress.link("play", chosen()), $("copy"), $("link"));
    });
    root.addEventListener("change", ({ target }) => {
      const { key, part } = target.dataset;
      if (part === "which") return program();
      if (!key) return;
      if (key === "pace") {
        state.pace = target.value;
        [began, due] = [performance.now(), 0];
        return save();
      }
      if (!small) leaveChallenge();
      if (key === "differs") { // both start from what was shared; the shared one returns
        const next = { ...state, differs: target.value, [state.differs]: state.b };
        const values = Object.keys(SETTINGS[target.value][1]), now = state[target.value];
        next.a = now;
        next.b = values.find((v) => v !== now && (target.value !== "norm" || v === "layer"))
          ?? values.find((v) => v !== now);
        return change(next);
      }
      change({ [key]: target.value });
    });
    root.addEventListener("click", ({ target }) => {
      if (target.dataset.challenge) choose(Number(target.dataset.challenge));
      else if (target.dataset.outcome) predict(target.dataset.outcome);
    });
    root.addEventListener("toggle", ({ target }) => {
      if (target.dataset.part === "numbers" && target.open && view) table();
      if (target.dataset.part === "code" && target.open) program();
    }, true);

    const redraw = () => {
      dirty = true;
      wake();
    };
    const unwatch = lnCanvas.watch(root, redraw);
    const moved = () => {
      const typed = addressed ? read() : null;
      if (!typed) return;
      state = allowed(typed, START);
      leaveChallenge();
      reset(updateCount(typed));
    };
    addEventListener("hashchange", moved);
    if (!small && matchMedia("(min-width: 641px)").matches) $("more").open = true;

    reset(updateCount(fromAddress));
    const sight = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      sight.disconnect();
      if (updates || running) return;
      [stop, showing] = [SHOW.updates, true];
      play(true);
    }, { threshold: SHOW.seen });
    if (small) sight.observe(root);
    return () => { // a notebook takes its output away
      closed = true;
      background.stop();
      unwatch();
      sight.disconnect();
      removeEventListener("hashchange", moved);
    };
  };
})();
