/* The canvas, the controls, and the captions in the order of two networks. */
const lnCaptionRanking = (() => {
  "use strict";
  const NORMS = { none: "No norm", layer: "Layer norm" };
  const FIRST = 10; // captions that are looked at
  const SMALL = 8; // objects at most, where a picture is drawn by lot
  const STEP = 0.02, LEAST = 0.03, TINY = 0.12; // shares of the canvas
  const GROW = 1.15; // of a size
  const SPEAK = 700; // ms of rest before the status is said
  const PAUSE = 250; // ms of rest before the address is written
  const MOST = 60; // objects that an address may bring
  const SLICE = 12; // ms of ranking all pictures between two looks at what is else to be done
  // Chosen for what is in them, before a network had ranked them.
  const STARTS = { Surfer: 68, Dog: 333, "Dog and cat": 20, Tennis: 15, Giraffe: 151, Desk: 391 };
  const NEW = ["person", "dog", "cat", "horse", "car", "boat", "surfboard", "skateboard", "umbrella",
    "chair", "pizza", "laptop"];
  // How large a new one is: shares of the canvas; others are squares.
  const SIZES = { person: [0.2, 0.6], car: [0.4, 0.28], boat: [0.4, 0.35], horse: [0.4, 0.45],
    surfboard: [0.45, 0.14], skateboard: [0.28, 0.13], umbrella: [0.35, 0.3], chair: [0.22, 0.4] };
  const EMPTY = { w: 640, h: 480, boxes: [], own: null };
  const CALLED = { tvmonitor: "TV", aeroplane: "airplane", motorbike: "motorcycle" };
  let made = 0;

  const { element, escape: safe } = lnCanvas;
  const clip = (v, low, high) => Math.min(Math.max(v, low), high);

  return (root, { picture, point, load, live = false }) => {
    const mine = `ln-caption-ranking-${++made}`, addressed = !live && made === 1; // one on a page has the address
    const { features, Network, order, rankOf } = lnCaptionRankingEngine;
    const $ = (name) => root.querySelector(`[data-part="${name}"]`);
    let data = null, scene = { ...EMPTY }, at = point, chosen = -1, closed = false;
    let quiet = 0, saving = 0, whole = false; // whole: the picture as it is
    const networks = {}; // of each point: by norm, and how well they do on all pictures

    const column = (norm) => `<section class="ln-caption-ranking-${norm}" aria-label="${NORMS[norm]}">
      <p class="ln-caption-ranking-norm">${NORMS[norm]}</p>
      <p class="ln-caption-ranking-own" data-part="own-${norm}"></p><ol data-part="list-${norm}"></ol></section>`;
    root.append(element(`<div class="ln-caption-ranking-body">
      <div class="ln-caption-ranking-bar" role="group" aria-label="Example images"><span>Example images:</span>
        ${Object.entries(STARTS).map(([name, k]) =>
          `<button type="button" class="ln-button" data-picture="${k}">${name}</button>`).join("")}
        <button type="button" class="ln-button" data-part="lot">Random</button>
        <button type="button" class="ln-button" data-part="empty">Clear</button>${live ? "" : `
        <button type="button" class="ln-button" data-part="copy">Copy link</button>
        <input class="ln-caption-ranking-link" data-part="link" readonly hidden
          aria-label="Link to this scene">`}</div>
      <div class="ln-caption-ranking-work">
        <div class="ln-caption-ranking-made">
          <div class="ln-caption-ranking-frame"><div class="ln-caption-ranking-stage" data-part="stage" role="group"
            aria-label="Canvas" aria-describedby="${mine}-how"></div></div>
          <p class="ln-caption-ranking-hint" data-part="hint"></p>
          <div class="ln-caption-ranking-bar ln-caption-ranking-tools" role="group" aria-label="Selected object">
            <select class="ln-select" data-part="which" aria-label="Selected object" autocomplete="off"></select>
            <button type="button" class="ln-button" data-tool="grow" aria-label="Larger">+</button>
            <button type="button" class="ln-button" data-tool="shrink" aria-label="Smaller">−</button>
            <button type="button" class="ln-button" data-tool="remove">Remove</button></div>
          <div class="ln-caption-ranking-bar ln-caption-ranking-new" role="group" aria-label="Add an object"><span>Add:</span>
            ${NEW.map((name) => `<button type="button" class="ln-button" data-new="${name}">${name}</button>`).join("")}
            <select class="ln-select" data-part="more" aria-label="Add another object" autocomplete="off">
              <option value="">more …</option></select></div>
          <p class="ln-caption-ranking-note" id="${mine}-how">Drag an object to move it, or its corner to resize it.
            Tap the empty canvas to move the selected object there. <span class="ln-caption-ranking-keys">Keys:
            arrows move, Shift and arrows resize, + and − scale, Delete removes.</span></p>
        </div>
        <div class="ln-caption-ranking-found">
          <label class="ln-caption-ranking-time"><span>Training updates: <output data-part="updates"></output></span>
            <input type="range" class="ln-slider" data-part="at" min="0" max="${point}" value="${point}"
              autocomplete="off"></label>
          <div class="ln-caption-ranking-columns">${Object.keys(NORMS).map(column).join("")}</div>
          <p class="ln-caption-ranking-note" data-part="all"></p>
        </div>
      </div>
      <p class="ln-hush" role="status" aria-live="polite" data-part="status"></p>
      <p class="ln-caption-ranking-note" data-part="credit"></p>
    </div>`));

    // The state in the address: #scene, the point, and a picture or objects in pixels.
    function values() {
      const { w, h, boxes, own } = scene, pairs = [["at", at]];
      if (own !== null) pairs.push(["picture", own]);
      if (!whole) {
        const named = boxes.map(([c, ...box]) => [data.categories[c], ...box]);
        pairs.push(["size", `${w}x${h}`], ["boxes", named.join(";")]);
      }
      return pairs;
    }
    function save() {
      if (!addressed || !data) return;
      clearTimeout(saving);
      saving = setTimeout(() => lnAddress.save("scene", values()), PAUSE);
    }
    const parseIndex = (text, count) => (/^\d{1,4}$/.test(text ?? "") && Number(text) < count
      ? Number(text) : null);
    /* A box whose object is known and that lies within the canvas; else nothing. */
    function boxOf(text, w, h) {
      const [name, ...numbers] = text.split(","), c = data.categories.indexOf(name);
      const [x1, y1, x2, y2] = numbers.map(Number);
      return c >= 0 && numbers.length === 4 && 0 <= x1 && x1 < x2 && x2 <= w && 0 <= y1 && y1 < y2
        && y2 <= h ? [[c, x1, y1, x2, y2]] : [];
    }
    /* Take what the address says; what cannot be is left as it is. Say whether it says anything. */
    function arrive() {
      const values = addressed ? lnAddress.read().get("scene") : null;
      if (!values) return false;
      at = parseIndex(values.get("at"), data.updates.length) ?? point;
      const own = parseIndex(values.get("picture"), data.pictures.length);
      const size = /^(\d{2,4})x(\d{2,4})$/.exec(values.get("size") ?? "");
      whole = !size;
      chosen = -1;
      if (size) {
        const [w, h] = [Number(size[1]), Number(size[2])];
        const boxes = (values.get("boxes") ?? "").split(";").slice(0, MOST)
          .flatMap((text) => boxOf(text, w, h));
        scene = { w, h, boxes, own };
      } else take(own ?? picture);
      return true;
    }

    // The canvas.
    const name = (c) => CALLED[data.categories[c]] ?? data.categories[c];
    function stage() {
      const { w, h, boxes } = scene, stage = $("stage"), percent = (v, of) => `${(100 * v) / of}%`;
      stage.style.setProperty("--ratio", w / h);
      while (stage.children.length > boxes.length) stage.lastChild.remove();
      boxes.forEach(([c, x1, y1, x2, y2], k) => {
        const marker = stage.children[k] ?? stage.appendChild(element(`<button type="button"
          class="ln-caption-ranking-object"><svg viewBox="0 0 24 24" preserveAspectRatio="none" aria-hidden="true"
          ><path fill-rule="evenodd"/></svg><span></span><i aria-hidden="true"></i></button>`));
        const area = (x2 - x1) * (y2 - y1);
        Object.assign(marker.style, { left: percent(x1, w), top: percent(y1, h),
          width: percent(x2 - x1, w), height: percent(y2 - y1, h),
          zIndex: 1 + boxes.filter(([, a, b, d, e]) => (d - a) * (e - b) > area).length });
        marker.classList.toggle("ln-caption-ranking-tiny", (x2 - x1) / w < TINY || (y2 - y1) / h < TINY);
        marker.dataset.object = k;
        marker.setAttribute("aria-pressed", String(k === chosen));
        marker.setAttribute("aria-label", `${name(c)}, ${Math.round((100 * (x1 + x2)) / 2 / w)}% from the `
          + `left, ${Math.round((100 * (y1 + y2)) / 2 / h)}% from the top, ${
            Math.round((100 * (x2 - x1)) / w)}% wide`);
        marker.querySelector("path").setAttribute("d", LN_SCENE_GLYPHS[data.categories[c]] ?? "");
        marker.querySelector("span").textContent = name(c);
      });
      $("which").innerHTML = boxes.length ? boxes.map(([c], k) => `<option value="${k}"${
        k === chosen ? " selected" : ""}>${k + 1}: ${name(c)}</option>`).join("")
        : "<option>no objects</option>";
      for (const tool of root.querySelectorAll("[data-tool]")) tool.disabled = !boxes[chosen];
      $("which").disabled = !boxes.length;
      $("hint").textContent = boxes.length ? "" : "The canvas is empty. Add an object.";
      for (const button of root.querySelectorAll("[data-picture]")) {
        button.setAttribute("aria-pressed", String(Number(button.dataset.picture) === scene.own));
      }
    }
    /* Put an object where it is asked for, in whole pixels and within the canvas. */
    function put(k, x1, y1, x2, y2) {
      const { w, h } = scene;
      const wide = clip(Math.round(x2 - x1), Math.ceil(LEAST * w), w);
      const tall = clip(Math.round(y2 - y1), Math.ceil(LEAST * h), h);
      const x = clip(Math.round(x1), 0, w - wide), y = clip(Math.round(y1), 0, h - tall);
      const boxes = [...scene.boxes];
      boxes[k] = [boxes[k][0], x, y, x + wide, y + tall];
      scene = { ...scene, boxes };
      whole = false;
      draw();
      save();
    }
    function scale(k, factor) {
      const [, x1, y1, x2, y2] = scene.boxes[k], dx = ((factor - 1) * (x2 - x1)) / 2;
      const dy = ((factor - 1) * (y2 - y1)) / 2;
      put(k, x1 - dx, y1 - dy, x2 + dx, y2 + dy);
    }
    function add(c) {
      const { w, h, boxes } = scene, [wide, tall] = SIZES[data.categories[c]] ?? [0.25, 0.3];
      const shift = 0.06 * ((boxes.length % 5) - 2); // not all on one spot
      const x = (0.5 + shift) * w - (wide * w) / 2, y = (0.55 + shift) * h - (tall * h) / 2;
      scene = { ...scene, boxes: [...boxes, [c, 0, 0, 1, 1]] };
      chosen = boxes.length;
      put(chosen, x, y, x + wide * w, y + tall * h);
    }
    function remove(k) {
      scene = { ...scene, boxes: scene.boxes.filter((_, i) => i !== k) };
      chosen = Math.min(k, scene.boxes.length - 1);
      whole = false;
      draw();
      save();
      ($("stage").children[chosen] ?? $("more")).focus();
    }
    function take(k) {
      const [, w, h, boxes] = data.pictures[k];
      scene = { w, h, boxes, own: k };
      chosen = -1;
      whole = true;
      draw();
    }

    // The captions.
    const recall = (share) => `${Math.round(100 * share)}%`;
    function draw() {
      if (!data) return;
      stage();
      $("updates").textContent = data.updates[at].toLocaleString("en");
      $("at").setAttribute("aria-valuetext", `${data.updates[at]} updates`);
      const pair = networks[at];
      if (!pair) return;
      const x = features(scene, data.categories.length), descriptions = [];
      for (const norm of Object.keys(NORMS)) {
        const penalties = pair[norm].penalties(x), own = scene.own;
        const rank = own === null ? null : rankOf(penalties, own);
        $(`own-${norm}`).innerHTML = own === null ? "your own scene" : "correct caption: "
          + `<b>rank ${rank}</b>`;
        const first = order(penalties).slice(0, FIRST);
        const item = (c, k) => `<li value="${k}"${c === own ? ' class="ln-caption-ranking-right"' : ""}>${
          c === own ? "<b>✓ correct:</b> " : ""}${safe(data.pictures[c][4])}<i style="width:${
          (100 * penalties[c]).toFixed(1)}%"></i></li>`;
        $(`list-${norm}`).innerHTML = first.map((c, k) => item(c, k + 1)).join("")
          + (own === null || first.includes(own) ? "" : item(own, rank));
        descriptions.push(`${NORMS[norm]}: ${own === null ? "" : `correct caption at rank ${rank}, `}top caption “${
          data.pictures[first[0]][4]}”`);
      }
      if (pair.shares) {
        $("all").textContent = `All ${data.pictures.length} test images: the correct caption is in the `
          + `top ten (R@10) for ${recall(pair.shares.none)} without normalization and for ${
            recall(pair.shares.layer)} with layer norm. The bar under a caption is its penalty.`;
      }
      clearTimeout(quiet);
      quiet = setTimeout(() => { $("status").textContent = `${descriptions.join(". ")}.`; }, SPEAK);
    }
    /* In how many of all pictures the own caption is among the first ten: in slices. */
    function tally(k, from = 0, hits = { none: 0, layer: 0 }) {
      if (closed) return;
      const end = performance.now() + SLICE, count = data.pictures.length;
      let at = from;
      for (; at < count && performance.now() < end; at++) {
        const [, w, h, boxes] = data.pictures[at];
        const x = features({ w, h, boxes }, data.categories.length);
        for (const norm of Object.keys(NORMS)) {
          hits[norm] += rankOf(networks[k][norm].penalties(x), at) <= FIRST;
        }
      }
      if (at < count) setTimeout(() => tally(k, at, hits));
      else {
        networks[k].shares = { none: hits.none / count, layer: hits.layer / count };
        if (k === Number($("at").value)) draw();
      }
    }
    async function move(k) {
      at = k;
      draw();
      if (networks[k]) return;
      const packed = await load(`networks-${k}.js`);
      networks[k] ??= Object.fromEntries(Object.entries(packed)
        .map(([norm, content]) => [norm, new Network(content)]));
      if (closed || at !== k) return;
      draw();
      root.dataset.ready = "yes";
      tally(k);
    }
    const failed = (error) => {
      $("hint").textContent = `The networks cannot be loaded: ${error.message}.`;
      root.dataset.ready = "failed";
    };

    // What the reader does.
    const choose = (k) => {
      chosen = k;
      stage();
    };
    root.addEventListener("click", ({ target, clientX, clientY }) => {
      const { picture, tool, new: added, part } = target.closest("button")?.dataset ?? target.dataset;
      if (!data) return;
      if (picture) {
        take(Number(picture));
        save();
      } else if (part === "copy") {
        lnCanvas.copy(lnAddress.link("scene", values()), $("copy"), $("link"));
      } else if (added) add(data.categories.indexOf(added));
      else if (tool === "remove") remove(chosen);
      else if (tool) scale(chosen, tool === "grow" ? GROW : 1 / GROW);
      else if (part === "empty") {
        scene = { ...EMPTY };
        chosen = -1;
        whole = false;
        draw();
        save();
      } else if (part === "lot") {
        const few = data.pictures.flatMap(([, , , boxes], k) => (
          boxes.length > 1 && boxes.length <= SMALL && k !== scene.own ? [k] : []));
        take(few[Math.floor(Math.random() * few.length)]);
        save();
      } else if (target === $("stage") && scene.boxes[chosen]) {
        const { left, top, width, height } = target.getBoundingClientRect();
        const [, x1, y1, x2, y2] = scene.boxes[chosen];
        const dx = ((clientX - left) / width) * scene.w - (x1 + x2) / 2;
        const dy = ((clientY - top) / height) * scene.h - (y1 + y2) / 2;
        put(chosen, x1 + dx, y1 + dy, x2 + dx, y2 + dy);
      }
    });
    root.addEventListener("input", ({ target }) => {
      const { part } = target.dataset;
      if (part === "at") {
        move(Number(target.value)).catch(failed);
        save();
      } else if (part === "which") choose(Number(target.value));
      else if (part === "more" && target.value) {
        add(Number(target.value));
        target.value = "";
      }
    });
    root.addEventListener("keydown", (event) => {
      const k = event.target.dataset.object;
      if (k === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      const [, x1, y1, x2, y2] = scene.boxes[k], { key, shiftKey } = event;
      const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
      if (!arrow && !["+", "-", "Delete", "Backspace"].includes(key)) return;
      event.preventDefault();
      chosen = Number(k);
      if (arrow) {
        const dx = STEP * scene.w * arrow[0], dy = STEP * scene.h * arrow[1];
        if (shiftKey) put(chosen, x1, y1, x2 + dx, y2 + dy);
        else put(chosen, x1 + dx, y1 + dy, x2 + dx, y2 + dy);
      } else if (key === "+" || key === "-") scale(chosen, key === "+" ? GROW : 1 / GROW);
      else remove(chosen);
    });
    root.addEventListener("focusin", ({ target }) => {
      if (target.dataset.object !== undefined) choose(Number(target.dataset.object));
    });
    let held = null;
    $("stage").addEventListener("pointerdown", (event) => {
      const marker = event.target.closest(".ln-caption-ranking-object");
      if (!marker || event.button) return;
      const k = Number(marker.dataset.object);
      choose(k);
      held = { k, box: scene.boxes[k], x: event.clientX, y: event.clientY,
        grip: event.target.localName === "i" };
      marker.setPointerCapture(event.pointerId);
    });
    $("stage").addEventListener("pointermove", ({ clientX, clientY }) => {
      if (!held) return;
      const { width, height } = $("stage").getBoundingClientRect(), [, x1, y1, x2, y2] = held.box;
      const dx = ((clientX - held.x) / width) * scene.w, dy = ((clientY - held.y) / height) * scene.h;
      if (held.grip) put(held.k, x1, y1, x2 + dx, y2 + dy);
      else put(held.k, x1 + dx, y1 + dy, x2 + dx, y2 + dy);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      $("stage").addEventListener(end, () => { held = null; });
    }

    load("pictures.js").then((loaded) => {
      if (closed) return null;
      data = loaded;
      $("credit").textContent = data.credit;
      $("more").append(...data.categories.map((c, k) => [CALLED[c] ?? c, k]).sort(([a], [b]) =>
        (a < b ? -1 : 1)).map(([text, k]) => new Option(text, k)));
      $("at").max = data.updates.length - 1;
      if (!arrive()) take(picture);
      $("at").value = at;
      return move(at);
    }).catch(failed);
    const moved = () => {
      if (!data || !arrive()) return;
      $("at").value = at;
      move(at).catch(failed);
    };
    addEventListener("hashchange", moved);
    return () => { // a notebook takes its output away
      closed = true;
      for (const timer of [quiet, saving]) clearTimeout(timer);
      removeEventListener("hashchange", moved);
    };
  };
})();
