/* Canvases painted glimpse by glimpse, as recorded: networks side by side, at one update. */
const lnDraw = (() => {
  "use strict";
  const SIDE = 28, PIXELS = SIDE * SIDE, FOG = 7.5; // the canvas before the first glimpse: 1/2
  const GLIMPSE = 700, POINT = 550; // ms under play
  const MOVE_SHARE = 0.45; // share of it in which the window moves; then it paints
  const INK = 0.92; // of the full color in a pixel that is surely white
  const MARGIN = 2.5; // pixels of an image around it, where windows go, too
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let made = 0;

  async function unpack(base64) {
    const [data, all] = await lnCanvas.unpack(base64);
    const [P, N, T] = [data.updates.length, data.images, data.glimpses];
    const count = data.arms.length * P * 2 * N * T * PIXELS;
    const shades = all.subarray(0, count);
    const steps = new Int16Array(all.slice(count).buffer);
    const recordIndex = (arm, point, kind, kinds, image) =>
      ((arm * P + point) * kinds + kind) * N + image;
    for (let k = 0; k < count; k++) { // from what a glimpse changed to what is there after it
      if (Math.floor(k / PIXELS) % T) shades[k] = (shades[k] + shades[k - PIXELS]) % 16;
    }
    const canvas = (arm, point, dreams, image, glimpse) => {
      if (!glimpse) return new Float32Array(PIXELS).fill(FOG);
      const from = (recordIndex(arm, point, Number(dreams), 2, image) * T + glimpse - 1) * PIXELS;
      return Float32Array.from(shades.subarray(from, from + PIXELS));
    };
    const view = (arm, point, kind, image, glimpse) => {
      const from = (recordIndex(arm, point, kind, 3, image) * T + Math.max(0, glimpse - 1)) * 4;
      return Array.from(steps.subarray(from, from + 4), (v) => v / data.steps);
    };
    const bits = data.bits.map((text) => {
      const packed = text ? atob(text) : "";
      return Float32Array.from({ length: PIXELS }, (_, k) =>
        (packed.charCodeAt(k >> 3) >> (7 - (k & 7))) & 1 ? 15 : 0);
    });
    return { ...data, canvas, view, bits };
  }

  const { channels: parts, listed, number, slide } = lnCanvas;
  const smooth = (v) => { const x = Math.min(1, Math.max(0, v)); return x * x * (3 - 2 * x); };
  const mean = (a, b, share) => a.map((v, k) => v + share * (b[k] - v));

  function build(root, data) {
    const mine = `ln-draw-${++made}`, T = data.glimpses, last = data.updates.length - 1;
    const arms = data.arms.map((_, k) => k), end = arms.length - 1;
    // Where the bounds of first and last network are farthest apart, there is most to be seen.
    const apart = data.updates.map((_, k) => data.arms[0].bounds[k] - data.arms[end].bounds[k]);
    const state = { dreams: false, image: Math.min(4, data.images - 1), glimpse: T,
      point: end ? apart.indexOf(Math.max(...apart)) : last };

    const chip = (name, value, inside, checked) => `<label class="ln-draw-${name}"><input type="radio"
      name="${mine}-${name}" value="${value}" autocomplete="off"${checked ? " checked" : ""}>
      <span>${inside}</span></label>`;
    root.insertAdjacentHTML("beforeend", `<div class="ln-draw-body">
      <div class="ln-draw-bar">
        <fieldset class="ln-segments"><legend>The network</legend>
          ${chip("mode", 0, "reconstructs a digit", true)}${chip("mode", 1, "generates from noise")}</fieldset>
        <fieldset class="ln-draw-images"><legend data-part="which"></legend>${data.bits.map((_, k) =>
          chip("image", k, `<canvas aria-hidden="true"></canvas><i></i>`, k === state.image)).join("")}
        </fieldset>
      </div>
      <div class="ln-draw-bar">${slide("glimpse", "Glimpse", T)}${slide("point", "Training", last)}</div>
      <div class="ln-draw-arms">${data.arms.map((arm) => `<figure class="ln-draw-arm ln-draw-${arm.line}"
        style="--tone: var(--ln-${arm.color})">
        <figcaption><b>${arm.name}</b><span data-part="bound"></span></figcaption>
        <div class="ln-draw-see"><canvas class="ln-draw-read" role="img"></canvas>
          <p><strong data-part="count"></strong><span data-part="fact"></span></p></div>
        <canvas class="ln-draw-canvas" role="img"></canvas>
        <canvas class="ln-draw-strip" aria-hidden="true"></canvas></figure>`).join("")}</div>
      <p class="ln-draw-keys"><span class="ln-draw-key ln-draw-reads">read window</span>
        <span class="ln-draw-key ln-draw-paints">write window</span><span>Dots are the centers of the
        filters. The frame is as blurred as the filters.</span></p>
      <p class="ln-draw-says" data-part="says"></p><p class="ln-hush" role="status" data-part="status"></p>
    </div>`);
    const $ = (name, from = root) => from.querySelector(`[data-part="${name}"]`);
    const figures = [...root.querySelectorAll(".ln-draw-arm")];
    const inputs = (name) => [...root.querySelectorAll(`.ln-draw-${name} input`)];
    const small = inputs("image").map((input) => input.parentElement);

    /* A picture of 28 x 28 on a canvas, from paper to ink. */
    let colors;
    const dye = new Uint32Array(256), LEVELS = 255 / 15; // a color for each shade, and between
    const tile = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
    const tiled = tile.getContext("2d"), pixels = tiled.createImageData(SIDE, SIDE);
    const whole = new Uint32Array(pixels.data.buffer), bytes = new Uint8Array(dye.buffer);
    function readColors() {
      const v = lnCanvas.palette(root);
      colors = { card: v("card"), line: v("line"), read: v("first"), write: v("second"), ink: v("ink") };
      const paper = parts(colors.card), ink = parts(colors.ink);
      for (let k = 0; k < 256; k++) {
        for (let c = 0; c < 3; c++) bytes[4 * k + c] = paper[c] + (k / 255) * INK * (ink[c] - paper[c]);
        bytes[4 * k + 3] = 255;
      }
    }
    function put(pen, shades, x, y, size) {
      for (let k = 0; k < PIXELS; k++) whole[k] = dye[Math.round(shades[k] * LEVELS)];
      tiled.putImageData(pixels, 0, 0);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(tile, x, y, size, size);
    }
    /* A window: its filters' centers, a frame through the outer ones, blurred as they blur. */
    function frame(pen, [x, y, stride, deviation], filters, color, size) {
      const cell = size / (SIDE + 2 * MARGIN), reach = ((filters - 1) / 2) * stride;
      const wide = 2 * reach * cell;
      const [left, top] = [x, y].map((center) => (center + 0.5 + MARGIN - reach) * cell);
      pen.save();
      pen.lineJoin = "round";
      const blur = deviation * cell * devicePixelRatio, away = 4 * size; // a shadow without its thing
      pen.shadowColor = color;
      pen.shadowBlur = 1.5 * blur;
      pen.shadowOffsetX = away * devicePixelRatio;
      pen.globalAlpha = 0.35;
      pen.lineWidth = Math.max(2, deviation * cell);
      pen.strokeRect(left - away, top, wide, wide);
      pen.shadowColor = "transparent";
      for (const [width, tone, alpha] of [[4.5, colors.card, 0.8], [2, color, 1]]) {
        pen.globalAlpha = alpha;
        pen.strokeStyle = tone;
        pen.lineWidth = width;
        pen.strokeRect(left, top, wide, wide);
      }
      const dot = Math.min(2.2, Math.max(1, size / 130));
      for (let k = 0; k < filters * filters; k++) {
        const point = [left + ((k % filters) * wide) / (filters - 1),
          top + (Math.floor(k / filters) * wide) / (filters - 1)];
        for (const [radius, tone] of [[dot + 1.2, colors.card], [dot, color]]) {
          pen.fillStyle = tone;
          pen.beginPath();
          pen.arc(...point, radius, 0, 7);
          pen.fill();
        }
      }
      pen.restore();
    }

    function image(pen, shades, size) { // with its margin
      const cell = size / (SIDE + 2 * MARGIN);
      put(pen, shades, MARGIN * cell, MARGIN * cell, SIDE * cell);
      pen.globalAlpha = 1;
      pen.strokeStyle = colors.line;
      pen.lineWidth = 1;
      pen.strokeRect(MARGIN * cell, MARGIN * cell, SIDE * cell, SIDE * cell);
    }

    /* What is to be seen of a network in a state, and what lies between two of these. */
    const scene = ({ dreams, image, glimpse, point }) => arms.map((arm) => ({
      canvas: data.canvas(arm, point, dreams, image, glimpse),
      read: data.view(arm, point, 0, image, glimpse),
      write: data.view(arm, point, dreams ? 2 : 1, image, glimpse),
      present: glimpse ? 1 : 0,
    }));
    const between = (from, to, share) => to.map((b, k) => {
      const a = from[k], moved = smooth(share / MOVE_SHARE),
        done = smooth((share - MOVE_SHARE) / (1 - MOVE_SHARE));
      return { canvas: mean(a.canvas, b.canvas, done),
        present: a.present + moved * (b.present - a.present),
        read: mean(a.present ? a.read : b.read, b.read, moved),
        write: mean(a.present ? a.write : b.write, b.write, moved) };
    });

    const say = lnCanvas.speaker(root);
    let shown = null, going = 0;
    function draw(what) {
      shown = what;
      const { dreams, image: shot } = state;
      figures.forEach((figure, arm) => {
        const { canvas, read, write, present } = what[arm];
        const [large, side] = sheet(figure.querySelector(".ln-draw-canvas"));
        image(large, canvas, side);
        if (present) frame(large, write, data.sizes[1], colors.write, side);
        const [tiny, edge] = sheet(figure.querySelector(".ln-draw-read"));
        if (!dreams) {
          image(tiny, data.bits[shot], edge);
          frame(tiny, read, data.sizes[0], colors.read, edge);
        }
        strip(figure.querySelector(".ln-draw-strip"), arm);
      });
    }
    function sheet(canvas) {
      const [pen] = lnCanvas.sheet(canvas, canvas.clientWidth);
      return [pen, canvas.clientWidth];
    }
    const drawn = new WeakMap(); // a strip is drawn anew only where it shows something else
    function strip(canvas, arm) {
      const wide = canvas.clientWidth, key = JSON.stringify([state, wide, colors.card, devicePixelRatio]);
      if (!wide || drawn.get(canvas) === key) return;
      drawn.set(canvas, key);
      const { dreams, image, glimpse, point } = state, step = wide / T, gap = 3;
      const [pen] = lnCanvas.sheet(canvas, Math.round(step + 3));
      for (let t = 1; t <= T; t++) {
        pen.globalAlpha = t > glimpse ? 0.45 : 1;
        put(pen, data.canvas(arm, point, dreams, image, t), (t - 1) * step + gap / 2, 0, step - gap);
        pen.globalAlpha = 1;
        if (t === glimpse) lnCanvas.box(pen, (t - 1) * step + gap / 2, step - 1, step - gap, 3, colors.write);
      }
    }

    function updateTexts() {
      const { dreams, image, glimpse, point } = state, updates = number(data.updates[point]);
      $("glimpse-told").textContent = `${glimpse} of ${T}`;
      $("point-told").textContent = `${updates} updates`;
      $("glimpse").value = glimpse;
      $("point").value = point;
      $("glimpse").setAttribute("aria-valuetext", `glimpse ${glimpse} of ${T}`);
      $("point").setAttribute("aria-valuetext", `${updates} updates`);
      $("which").textContent = dreams ? "Sample" : "Digit";
      const facts = arms.map((arm) => {
        const [x, y, stride] = data.view(arm, point, dreams ? 2 : 1, image, glimpse);
        const wide = (stride * (data.sizes[1] - 1)).toFixed(0);
        if (!glimpse) return ["–", "empty canvas", "empty canvas"];
        if (dreams) return [wide, "pixels: width of the write window", `write window ${wide} pixels wide`];
        const canvas = data.canvas(arm, point, dreams, image, glimpse);
        const wrong = canvas.filter((v, k) => (v > FOG) !== (data.bits[image][k] > FOG)).length;
        return [wrong, `of ${PIXELS} pixels wrong`, `${wrong} pixels wrong`];
      });
      figures.forEach((figure, arm) => {
        const { bounds, name } = data.arms[arm];
        $("bound", figure).textContent = bounds[point] === null ? "diverged" : `${bounds[point].toFixed(1)} nats`;
        [$("count", figure).textContent, $("fact", figure).textContent] = facts[arm];
        figure.querySelector(".ln-draw-canvas").setAttribute("aria-label",
          `The canvas, ${name}: ${facts[arm][2]}`);
        const reads = figure.querySelector(".ln-draw-read");
        reads.setAttribute("aria-label", dreams ? "No input image"
          : `Input image, a ${data.digits[image]}, with the read window`);
        figure.classList.toggle("ln-draw-dreaming", dreams);
      });
      const named = data.arms.map((arm, k) => `${arm.name.toLowerCase()}: ${facts[k][2]}`);
      const what = dreams ? `sample ${image + 1}` : `digit ${data.digits[image]}`;
      const done = data.arms.filter((arm) => arm.bounds[point] !== null).map((arm) =>
        `${arm.bounds[point].toFixed(1)} (${arm.name.toLowerCase()})`);
      const sentence = `After ${updates} updates and ${glimpse} of ${T} glimpses, ${what}: ${named.join("; ")}. `
        + `Bound on test images, in nats: ${listed(done)}.`;
      say(sentence, player.on());
    }
    function thumbs() {
      small.forEach((label, k) => {
        const [pen, side] = sheet(label.querySelector("canvas"));
        put(pen, state.dreams ? data.canvas(end, last, true, k, T) : data.bits[k], 0, 0, side);
        const name = state.dreams ? `sample ${k + 1}` : `a ${data.digits[k]}`;
        label.querySelector("input").setAttribute("aria-label", name);
      });
    }
    /* Go to a state: at once, or in so many ms. */
    function go(next, time = 0) {
      Object.assign(state, next);
      updateTexts();
      cancelAnimationFrame(going);
      const from = shown, to = scene(state), begin = performance.now();
      if (!time || !from || calm.matches) return draw(to);
      going = requestAnimationFrame(function step(now) {
        const share = Math.min(1, Math.max(0, (now - begin) / time));
        draw(share < 1 ? between(from, to, share) : to);
        if (share < 1) going = requestAnimationFrame(step);
      });
    }
    const player = lnCanvas.players(root, { glimpse: "Draw", point: "Train" }, {
      go, rest: updateTexts,
      start(name, end) {
        const most = name === "glimpse" ? T : last, time = name === "glimpse" ? GLIMPSE : POINT;
        let timer = null;
        if (state[name] === most) go({ [name]: 0 });
        (function step() {
          if (state[name] === most) return end();
          go({ [name]: state[name] + 1 }, time);
          timer = setTimeout(step, time + 60);
        })();
        return () => clearTimeout(timer);
      },
    });
    for (const input of inputs("mode")) {
      input.addEventListener("change", () => {
        player.stop();
        go({ dreams: input.value === "1" });
        thumbs();
      });
    }
    for (const input of inputs("image")) {
      input.addEventListener("change", () => go({ image: Number(input.value) }));
    }
    for (const canvas of root.querySelectorAll(".ln-draw-strip")) { // a short way; the slider is the other
      canvas.addEventListener("click", (event) => {
        player.stop();
        const fraction = Math.floor((event.offsetX / canvas.clientWidth) * T);
        go({ glimpse: 1 + Math.min(T - 1, Math.max(0, fraction)) });
      });
    }

    return lnCanvas.follow(root, () => { readColors(); thumbs(); go({}); }, player);
  }

  return (root, painted) => lnCanvas.open(
    root, painted().then(unpack), (data) => build(root, data), "The drawings cannot be read",
  );
})();
