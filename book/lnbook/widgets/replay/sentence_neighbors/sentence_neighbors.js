/* Maps of sentences and the recorded nearest neighbors of one of them, for several networks side by side. */
const lnSentenceNeighbors = (() => {
  "use strict";
  const EDGE = 100, HIGH = 0.8, ROOM = 1.12; // of the recorded places, and of the map around them
  const POINT = 700; // ms under play
  const NEAR = 18; // pixels from the pointer to a sentence, at most
  const FIRST = "Come in"; // the sentence that a reader sees first begins so
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let made = 0;

  async function unpack(base64) {
    const [data, all] = await lnCanvas.unpack(base64);
    const [P, N, K] = [data.updates.length, data.texts.length, data.count];
    const count = data.arms.length * P * N * 2;
    const positions = new Int8Array(all.slice(0, count).buffer), near = new Uint16Array(all.slice(count).buffer);
    const map = (arm, point) => Float32Array.from(positions.subarray((arm * P + point) * N * 2, (arm * P + point + 1) * N * 2));
    const nearest = (arm, point, sentence) => {
      const from = ((arm * P + point) * N + sentence) * K;
      return Array.from(near.subarray(from, from + K));
    };
    return { ...data, map, nearest, marked: data.categories.map(({ members }) => new Set(members)) };
  }

  const { escape, number, percent } = lnCanvas;
  const smooth = (v) => v * v * (3 - 2 * v);

  function build(root, data) {
    const mine = `ln-sentence-neighbors-${++made}`, last = data.updates.length - 1, arms = data.arms.map((_, k) => k);
    const order = data.texts.map((_, k) => k).sort((a, b) => data.texts[a].localeCompare(data.texts[b], "en"));
    const first = data.texts.findIndex((text) => text.startsWith(FIRST));
    const state = { point: last, sentence: Math.max(0, first), mark: 0 };

    root.insertAdjacentHTML("beforeend", `<div class="ln-sentence-neighbors-body">
      <div class="ln-sentence-neighbors-bar"><div class="ln-sentence-neighbors-slide"><button type="button" class="ln-button" data-part="play" aria-pressed="false"></button>
        <label><span>Training: <output data-part="point-told"></output></span><input type="range" class="ln-slider"
        data-part="point" min="0" max="${last}" step="1" autocomplete="off"></label></div>
        <div class="ln-sentence-neighbors-pick"><label><span>Sentence</span><select class="ln-select" data-part="sentence" autocomplete="off">${order.map((k) =>
          `<option value="${k}">${escape(data.texts[k])}</option>`).join("")}</select></label>
          <button type="button" class="ln-button" data-part="any">Random</button></div></div>
      <fieldset class="ln-sentence-neighbors-marks ln-segments"><legend>Highlight</legend>${data.categories.map(({ name }, k) => `<label><input
        type="radio" name="${mine}-mark" value="${k}" autocomplete="off"${k ? "" : " checked"}>
        <span>${name}</span></label>`).join("")}</fieldset>
      <div class="ln-sentence-neighbors-arms">${data.arms.map((arm) => `<figure class="ln-sentence-neighbors-arm ln-sentence-neighbors-${arm.line}"
        style="--tone: var(--ln-${arm.color})">
        <figcaption><b>${arm.name}</b><span data-part="loss"></span></figcaption>
        <canvas class="ln-sentence-neighbors-map" role="img"></canvas>
        <div class="ln-sentence-neighbors-beside"><p class="ln-sentence-neighbors-nearest">Nearest neighbors of “<span data-part="to"></span>”</p>
        <ol>${Array.from({ length: data.count }, (_, k) =>
          `<li><button type="button" data-place="${k}"></button></li>`).join("")}</ol>
        <p class="ln-sentence-neighbors-agreement" data-part="agreement"></p></div></figure>`).join("")}</div>
      <p class="ln-sentence-neighbors-keys">Lines connect the selected sentence with its ${data.count} nearest neighbors in all ${data.size}
        dimensions; the map is a projection to two. <b>Bold:</b> also a neighbor in another network. Click any point or sentence.</p>
      <p class="ln-sentence-neighbors-says" data-part="says"></p><p class="ln-hush" role="status" data-part="status"></p>
    </div>`);
    const $ = (name, from = root) => from.querySelector(`[data-part="${name}"]`);
    const figures = [...root.querySelectorAll(".ln-sentence-neighbors-arm")];

    const say = lnCanvas.speaker(root);
    let colors, shown = null, going = 0, under = null;
    function readColors() {
      const v = lnCanvas.palette(root);
      colors = { card: v("card"), ink: v("ink"), gray: v("gray"), mark: v("second"),
        tones: data.arms.map((arm) => v(arm.color)) };
    }
    const toPixels = (map, k, size) => [0.5 + map[2 * k] / (2 * EDGE * ROOM), HIGH / 2 - map[2 * k + 1] / (2 * EDGE * ROOM)].map((v) => v * size);
    function dot(pen, [x, y], radius, color, alpha = 1) {
      pen.globalAlpha = alpha;
      pen.fillStyle = color;
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fill();
      pen.globalAlpha = 1;
    }
    function draw(maps) {
      shown = maps;
      const marked = data.marked[state.mark];
      figures.forEach((figure, arm) => {
        const canvas = figure.querySelector(".ln-sentence-neighbors-map");
        const [pen, size] = lnCanvas.sheet(canvas, HIGH * canvas.clientWidth), map = maps[arm];
        const small = size < 220 ? 0.75 : 1, tone = colors.tones[arm], here = toPixels(map, state.sentence, size);
        for (let k = 0; k < data.texts.length; k++) if (!marked.has(k)) dot(pen, toPixels(map, k, size), 1.9 * small, colors.gray, 0.45);
        for (const k of marked) { // by its form, too: a square
          const [x, y] = toPixels(map, k, size), wide = 4.6 * small;
          lnCanvas.box(pen, x - wide / 2, y - wide / 2, wide, wide, colors.mark, 0.85);
        }
        const near = data.nearest(arm, state.point, state.sentence);
        pen.strokeStyle = tone;
        pen.lineWidth = 1.5;
        pen.globalAlpha = 0.7;
        for (const k of near) {
          pen.beginPath();
          pen.moveTo(...here);
          pen.lineTo(...toPixels(map, k, size));
          pen.stroke();
        }
        for (const k of near) {
          dot(pen, toPixels(map, k, size), 5.5 * small, colors.card);
          dot(pen, toPixels(map, k, size), 4.2 * small, tone);
        }
        dot(pen, here, 8.5 * small, colors.card);
        dot(pen, here, 7 * small, colors.ink);
        dot(pen, here, 3 * small, colors.card);
        if (under?.arm === arm) drawLabel(pen, toPixels(map, under.sentence, size), data.texts[under.sentence], size);
      });
    }
    function drawLabel(pen, [x, y], text, size) { // what the pointer is on
      pen.font = "12px system-ui, sans-serif";
      const wide = Math.min(size - 4, pen.measureText(text).width + 12), high = 20;
      const left = Math.max(2, Math.min(size - wide - 2, x - wide / 2)), top = y > 34 ? y - 30 : y + 12;
      dot(pen, [x, y], 4, colors.ink);
      lnCanvas.box(pen, left, top, wide, high, colors.ink);
      pen.fillStyle = colors.card;
      pen.textAlign = "left";
      pen.fillText(text, left + 6, top + 14, wide - 12);
    }

    function updateTexts() {
      const { point, sentence, mark } = state, updates = `${number(data.updates[point])} updates`;
      const text = data.texts[sentence], { description, chance } = data.categories[mark];
      $("point-told").textContent = updates;
      $("point").value = point;
      $("point").setAttribute("aria-valuetext", updates);
      $("sentence").value = sentence;
      const lists = arms.map((arm) => data.nearest(arm, point, sentence));
      figures.forEach((figure, arm) => {
        const { losses, explained, agreement } = data.arms[arm];
        $("loss", figure).textContent = losses[point] === null ? "diverged" : `${losses[point].toFixed(2)} nats per word`;
        $("to", figure).textContent = text;
        figure.querySelectorAll("li button").forEach((button, k) => {
          const neighbor = lists[arm][k];
          button.textContent = data.texts[neighbor];
          button.classList.toggle("ln-sentence-neighbors-shared", lists.some((list, otherArm) => otherArm !== arm && list.includes(neighbor)));
        });
        const share = percent(agreement[mark][point]);
        $("agreement", figure).textContent = `Of the neighbors of ${description}, ${share} are of this kind (chance level: ${percent(chance)}).`;
        figure.querySelector(".ln-sentence-neighbors-map").setAttribute("aria-label", `Map of ${data.texts.length} sentences, `
          + `${data.arms[arm].name.toLowerCase()}, ${percent(explained[point])} of the vectors’ variance; nearest neighbors of “${text}”: `
          + lists[arm].map((k) => `“${data.texts[k]}”`).join(", "));
      });
      const firsts = arms.map((arm) => `“${data.texts[lists[arm][0]]}” (${data.arms[arm].name.toLowerCase()})`);
      const end = arms.length - 1, shared = lists[0].filter((k) => lists[end].includes(k)).length;
      const common = end ? ` ${shared} of ${data.count} are the same with ${data.arms[0].name.toLowerCase()} and ${data.arms[end].name.toLowerCase()}.` : "";
      const agreement = data.arms.map((arm) => percent(arm.agreement[mark][point])).join(", ");
      const message = `After ${updates}, the nearest neighbor of “${text}” is ${firsts.join(", ")}.${common} `
        + `Of the neighbors of ${description}, ${agreement} are of this kind; chance level is ${percent(chance)}.`;
      say(message, train.on());
    }
    /* Go to a state: at once, or in so many ms. */
    function go(next, time = 0) {
      Object.assign(state, next);
      updateTexts();
      cancelAnimationFrame(going);
      const from = shown, to = arms.map((arm) => data.map(arm, state.point)), begin = performance.now();
      if (!time || !from || calm.matches) return draw(to);
      going = requestAnimationFrame(function step(now) {
        const share = smooth(Math.min(1, Math.max(0, (now - begin) / time)));
        draw(share < 1 ? to.map((map, arm) => map.map((v, k) => from[arm][k] + share * (v - from[arm][k]))) : to);
        if (share < 1) going = requestAnimationFrame(step);
      });
    }
    const train = lnCanvas.train($("play"), $("point"), {
      last, time: POINT, current: () => state.point, go: (point, time) => go({ point }, time), rest: updateTexts,
    });
    $("sentence").addEventListener("change", (event) => go({ sentence: Number(event.target.value) }));
    $("any").addEventListener("click", () => go({ sentence: Math.floor(Math.random() * data.texts.length) }));
    for (const input of root.querySelectorAll(".ln-sentence-neighbors-marks input")) {
      input.addEventListener("change", () => go({ mark: Number(input.value) }));
    }
    figures.forEach((figure, arm) => {
      const canvas = figure.querySelector(".ln-sentence-neighbors-map");
      const sentenceAt = ({ offsetX, offsetY }) => {
        let best = null, least = NEAR ** 2;
        for (let k = 0; k < data.texts.length; k++) {
          const [x, y] = toPixels(shown[arm], k, canvas.clientWidth), away = (x - offsetX) ** 2 + (y - offsetY) ** 2;
          if (away < least) [best, least] = [k, away];
        }
        return best;
      };
      canvas.addEventListener("click", (event) => {
        const sentence = sentenceAt(event);
        if (sentence !== null) go({ sentence });
      });
      canvas.addEventListener("pointermove", (event) => {
        if (event.pointerType !== "mouse" || train.on()) return;
        const sentence = sentenceAt(event);
        canvas.style.cursor = sentence === null ? "" : "pointer";
        under = sentence === null ? null : { arm, sentence };
        draw(shown);
      });
      canvas.addEventListener("pointerleave", () => {
        under = null;
        draw(shown);
      });
      for (const button of figure.querySelectorAll("li button")) {
        button.addEventListener("click", () => {
          go({ sentence: data.nearest(arm, state.point, state.sentence)[Number(button.dataset.place)] });
        });
      }
    });

    return lnCanvas.follow(root, () => { readColors(); go({}); }, train);
  }

  return (root, packed) => lnCanvas.open(
    root, packed().then(unpack), (data) => build(root, data), "The maps cannot be loaded",
  );
})();
