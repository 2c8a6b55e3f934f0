/* The controls, the hands in the picture, the state and its address. */
const lnSphere = (() => {
  "use strict";
  const { plus, times, camera, average, UP } = lnSpace;
  const REACH = 2, SPEED = 0.75, SWING = 40, PAUSE = 300; // of a; stages a second; degrees; ms
  const TWEEN = 350, INTRO_MS = 4000; // ms of a jump, and of the first turn
  const STAGES = ["a", "− μ", "÷ σ", "g, b"];
  const angle = (v) => `${Math.round(v)}°`.replace("-", "−");
  const plain = (v) => lnSphereScene.write(v);
  const stage = (v) => (v % 1 ? `→ ${STAGES[Math.ceil(v)]}` : STAGES[v]);
  /* name: label, low, high, step, start, text */
  const NUMBERS = {
    a1: ["a₁", -REACH, REACH, 0.01, 1.8, plain], a2: ["a₂", -REACH, REACH, 0.01, 0.2, plain],
    a3: ["a₃", -REACH, REACH, 0.01, 1, plain], stage: ["Stage", 0, 3, 0.02, 2, stage],
    eps: ["eps", 0, 0.5, 0.01, 0, plain], d1: ["d₁", -REACH, REACH, 0.01, 1, plain],
    d2: ["d₂", -REACH, REACH, 0.01, -0.6, plain], d3: ["d₃", -REACH, REACH, 0.01, 1.4, plain],
    turn: ["Turn", -180, 180, 1, -25, angle], tilt: ["Tilt", 0, 90, 1, 24, angle],
  };
  const SWITCHES = ["cloud", "gradient"];
  const START = {
    ...Object.fromEntries(Object.entries(NUMBERS).map(([k, v]) => [k, v[4]])),
    cloud: false, gradient: false,
  };
  const POINTS = { a: ["a1", "a2", "a3"], d: ["d1", "d2", "d3"] };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  /* Keep what is known and allowed; whatever else was typed into an address is left out. */
  function allowed(values, before) {
    const state = { ...before };
    for (const [key, [, low, high]] of Object.entries(NUMBERS)) {
      const value = Number(values[key] || NaN);
      if (value >= low && value <= high) state[key] = value;
    }
    for (const key of SWITCHES) {
      if (["yes", "no"].includes(values[key])) state[key] = values[key] === "yes";
    }
    return state;
  }

  return (root, { cloud, settings = {}, live = false }) => {
    const $ = (name) => root.querySelector(`[data-part="${name}"]`);
    const initial = { ...START, ...settings };
    const addressed = () => lnAddress.read().get(root.id);
    const read = () => allowed(Object.fromEntries(addressed() ?? []), initial);
    let state = live ? initial : read(), shown = { ...state };

    const row = (key) => {
      const [label, low, high, step] = NUMBERS[key];
      const play = key === "stage" ? `<button type="button" class="ln-button" data-part="play"></button>` : "";
      return `<label class="ln-sphere-row" data-row="${key}"><span>${label}</span>${play}<input`
        + ` type="range" class="ln-slider" data-key="${key}" min="${low}" max="${high}" step="${step}"`
        + ` autocomplete="off"><output></output></label>`;
    };
    const act = (name, text) => `<button type="button" class="ln-button" data-act="${name}">${text}</button>`;
    const way = (key, text) => `<button type="button" class="ln-button" data-way="${key}">${text}</button>`;
    const holder = document.createElement("template");
    holder.innerHTML = `<div class="ln-sphere-body">
      <p class="ln-sphere-title" id="${root.id}-title">Layer norm maps three numbers onto a circle</p>
      <div class="ln-sphere-stage" data-part="stage" tabindex="0" role="img"
        aria-label="${root.dataset.alt}" aria-describedby="${root.id}-says"></div>
      <div class="ln-sphere-side">
        <div class="ln-sphere-ways ln-segments" role="group" aria-label="Direction">
          ${way("no", "Forward")}${way("yes", "Gradient")}</div>
        ${["a1", "a2", "a3", "eps"].map(row).join("")}
        <div class="ln-sphere-either">
          <div data-part="forward">${row("stage")}
            <label class="ln-sphere-flip"><input type="checkbox" data-part="cloud" autocomplete="off">
              Fifty more examples</label>
            <div class="ln-sphere-acts">${act("shift", "Shift a")}${act("scale", "Scale a")}
              ${act("equal", "All equal")}</div>
            <p class="ln-sphere-hint">Drag a or its projection, or turn the scene.</p></div>
          <div data-part="back">${["d1", "d2", "d3"].map(row).join("")}
            <div class="ln-sphere-acts">${act("ones", "d along (1, 1, 1)")}${act("along", "d along â")}
            </div></div></div>
        <table><caption class="ln-sphere-ear">The numbers of the picture</caption>
          <tbody data-part="numbers"></tbody></table>
      </div>
      <div class="ln-sphere-view">${["turn", "tilt"].map(row).join("")}
        <div class="ln-sphere-acts">${act("above", "From above")}${act("side", "From the side")}
          ${act("back", "Reset")}</div></div>
      <p class="ln-sphere-says" id="${root.id}-says" data-part="says" role="status" aria-live="polite">
      </p></div>`;
    root.replaceChildren(holder.content);
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("viewBox", `0 0 ${lnSphereScene.WIDTH} ${lnSphereScene.HEIGHT}`);
    $("stage").append(picture);

    // What is shown runs after what is chosen.
    let frameRequest = 0, saving = 0, jump = null, playing = false, before = 0, grabbed = null;
    const later = () => { frameRequest ||= requestAnimationFrame(frame); };
    function frame(now) {
      frameRequest = 0;
      if (playing) {
        state.stage = Math.min(3, state.stage + (SPEED * Math.min(100, now - before)) / 1000);
        before = now;
        if (state.stage === 3) play(false);
        later();
      }
      shown = { ...state };
      if (jump) {
        jump.began ??= now;
        const part = Math.min(1, (now - jump.began) / jump.ms), k = part * part * (3 - 2 * part);
        for (const key of Object.keys(NUMBERS)) {
          shown[key] = jump.from[key] + k * (state[key] - jump.from[key]);
        }
        if (part === 1) jump = null; else later();
      }
      draw();
    }
    function draw() {
      picture.innerHTML = lnSphereScene.draw(shown, cloud);
      for (const field of root.querySelectorAll("[data-key]")) {
        const { key } = field.dataset, text = NUMBERS[key][5](shown[key]);
        field.value = shown[key];
        field.setAttribute("aria-valuetext", NUMBERS[key][5](state[key]));
        field.nextElementSibling.textContent = text;
      }
      for (const button of root.querySelectorAll("[data-way]")) {
        button.setAttribute("aria-pressed", String(state.gradient === (button.dataset.way === "yes")));
      }
      $("cloud").checked = state.cloud;
      $("forward").classList.toggle("ln-sphere-away", state.gradient);
      $("back").classList.toggle("ln-sphere-away", !state.gradient);
      $("numbers").innerHTML = lnSphereScene.numbers(state).map(([kind, name, ...cells]) =>
        `<tr class="ln-sphere-of-${kind}"><th scope="row">${name}</th>`
        + cells.map((v) => `<td>${v}</td>`).join("") + "</tr>").join("");
      const sentence = lnSphereScene.say(state);
      if ($("says").textContent !== sentence) $("says").textContent = sentence;
      root.dataset.still = String(!jump && !playing);
    }
    /* Change what is given; a jump is shown on its way, where the reader lets things move. */
    function change(values, ms = 0) {
      const from = { ...shown };
      state = { ...state, ...values };
      jump = ms && !calm.matches ? { from, ms } : null;
      later();
      clearTimeout(saving);
      if (!live) saving = setTimeout(save, PAUSE);
    }
    function save() {
      const moved = Object.entries(state).filter(([key, value]) => value !== initial[key]);
      lnAddress.save(root.id, moved.map(([key, v]) =>
        [key, v === true ? "yes" : v === false ? "no" : Number(v.toFixed(4))]));
    }
    function play(on) {
      [playing, before] = [on, performance.now()];
      $("play").textContent = on ? "❚❚" : calm.matches ? "❯" : "▶";
      $("play").setAttribute("aria-label", `${on ? "Pause" : calm.matches ? "Next" : "Play"}: Stage`);
      $("says").setAttribute("aria-live", on ? "off" : "polite");
    }
    const point = (name) => POINTS[name].map((key) => state[key]);
    /* Move a point as far as it may go. */
    function move(name, step) {
      const here = point(name);
      const room = here.map((v, i) => (step[i] ? (Math.sign(step[i]) * REACH - v) / step[i] : 1));
      const target = plus(here, step, Math.max(0, Math.min(1, ...room)));
      return Object.fromEntries(POINTS[name].map((key, i) => [key, target[i]]));
    }
    const to = (name, values) => move(name, plus(values, point(name), -1));

    // Hands: a goes up and down and across, its shadow anywhere in the plane, the ground turns.
    function pointerPosition({ clientX, clientY }) {
      const box = picture.getBoundingClientRect(), k = lnSphereScene.WIDTH / box.width / lnSphereScene.UNIT;
      return [clientX * k, clientY * k];
    }
    $("stage").addEventListener("pointerdown", (event) => {
      if (event.button) return;
      grabbed = { name: event.target.dataset.grab ?? "view", at: pointerPosition(event) };
      $("stage").setPointerCapture(event.pointerId);
      root.dataset.grabbed = grabbed.name;
      if (grabbed.name !== "view") event.preventDefault();
    });
    $("stage").addEventListener("touchstart", (event) => { // the page must not scroll meanwhile
      if (event.target.dataset.grab) event.preventDefault();
    }, { passive: false });
    $("stage").addEventListener("pointermove", (event) => {
      if (!grabbed) return;
      const [x, y] = pointerPosition(event), [dx, dy] = [x - grabbed.at[0], grabbed.at[1] - y];
      grabbed.at = [x, y];
      const { right, away, cos, sin } = camera(state.turn, state.tilt);
      if (grabbed.name === "view") {
        const turn = ((state.turn - 40 * dx + 540) % 360) - 180;
        const tilt = event.pointerType === "touch" ? state.tilt : state.tilt - 30 * dy;
        return change({ turn, tilt: Math.min(90, Math.max(0, tilt)) });
      }
      const across = times(right, dx), deep = Math.max(0.15, sin);
      if (grabbed.name === "shadow") return change(move("a", plus(across, away, dy / deep)));
      const rise = cos > 0.45 ? times(UP, dy / cos) : times(away, dy / deep);
      change(move(grabbed.name, plus(across, rise)));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      $("stage").addEventListener(end, () => {
        grabbed = null;
        delete root.dataset.grabbed;
      });
    }
    $("stage").addEventListener("keydown", (event) => {
      const [turn, tilt] = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, 5],
        ArrowDown: [0, -5] }[event.key] ?? [];
      if (turn === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      change({ turn: ((state.turn + turn + 540) % 360) - 180,
        tilt: Math.min(90, Math.max(0, state.tilt + tilt)) });
    });

    // Controls.
    const acts = {
      shift: () => move("a", times(UP, (Math.min(...point("a")) > -1 ? -1 : 1) * Math.sqrt(3))),
      scale: () => to("a", times(point("a"), Math.max(...point("a").map(Math.abs)) > 1 ? 0.5 : 2)),
      equal: () => to("a", Array(3).fill(average(point("a")))),
      ones: () => to("d", [1, 1, 1]),
      along: () => to("d", lnSpace.normalize(point("a"), state.eps).hat),
      above: () => ({ tilt: 90 }),
      side: () => ({ tilt: 0 }),
      back: () => ({ ...initial }),
    };
    root.addEventListener("click", ({ target }) => {
      const { act: name, way: to } = target.dataset;
      if (name) change(acts[name](), TWEEN);
      if (to) change({ gradient: to === "yes" });
    });
    root.addEventListener("input", ({ target }) => {
      const { key } = target.dataset;
      if (key === "stage") play(false);
      if (key) change({ [key]: Number(target.value) });
      else change({ cloud: target.checked });
    });
    $("play").addEventListener("click", () => {
      if (calm.matches) return change({ stage: (Math.floor(state.stage) + 1) % 4 });
      if (!playing && state.stage === 3) state.stage = 0;
      play(!playing);
      change({});
    });
    calm.addEventListener("change", () => play(false));

    play(false);
    draw();
    root.dataset.ready = "yes";
    // A first turn, so that it is seen to be a space; a touch ends it.
    const visibility = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      visibility.disconnect();
      if (calm.matches || addressed()) return;
      shown.turn -= SWING;
      jump = { from: { ...shown }, ms: INTRO_MS };
      later();
    }, { threshold: 0.4 });
    visibility.observe($("stage"));
    const touched = () => {
      visibility.disconnect();
      if (jump?.ms === INTRO_MS) change({ turn: shown.turn });
    };
    for (const touch of ["pointerdown", "keydown", "input"]) {
      root.addEventListener(touch, touched, { capture: true });
    }
    const followAddress = () => addressed() && change(read(), TWEEN);
    if (!live) {
      addEventListener("hashchange", followAddress);
      if (lnAddress.first() === root.id) root.scrollIntoView();
    }
    return () => {
      visibility.disconnect();
      cancelAnimationFrame(frameRequest);
      removeEventListener("hashchange", followAddress);
    };
  };
})();
