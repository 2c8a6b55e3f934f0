/* Statistics of units by their place in the image, as recorded: norms side by side. */
const lnActivationMaps = (() => {
  "use strict";
  const SIDE = 28;
  const ROW = 8; // small maps in a row
  const plain = (v) => `${v <= -0.005 ? "−" : ""}${Math.abs(v).toFixed(2)}`;
  // What is drawn: its words, how it is written, and which distance has the full color.
  const STATISTICS = {
    on: { label: "fraction active", ends: ["50 percentage points lower", "50 higher"],
      unit: "points", write: (v) => `${(100 * v).toFixed(0)}%`, factor: 100, digits: 1, full: () => 0.5,
      says: "turned on by" },
    mean: { label: "mean", ends: ["2 std lower", "2 std higher"], unit: "", digits: 2,
      write: plain, factor: 1, full: (deviation) => 2 * deviation, says: "mean" },
    deviation: { label: "standard deviation", ends: ["0", "twice as large"], unit: "", digits: 2,
      write: plain, factor: 1, full: (_, rest) => rest, says: "standard deviation" },
  };
  let made = 0;

  async function unpack(base64) {
    const [data, all] = await lnCanvas.unpack(base64);
    let offset = SIDE * SIDE;
    for (const { layers } of data.arms) for (const { channels, side, statistics } of layers) {
      for (const statistic of Object.values(statistics)) {
        const whole = new Int8Array(all.buffer, all.byteOffset + offset, data.passes.length * channels * side * side);
        for (let k = 0; k < whole.length; k++) if (k % side) whole[k] += whole[k - 1];
        offset += whole.length;
        const size = channels * side * side;
        statistic.map = (point, channel) => { // of one channel, or the mean of all
          const values = new Float32Array(side * side), from = point * size;
          const [first, last] = channel ? [channel - 1, channel] : [0, channels];
          const part = statistic.step[point] / (last - first);
          for (let c = first; c < last; c++) {
            for (let k = 0; k < values.length; k++) values[k] += part * whole[from + c * values.length + k];
          }
          return values;
        };
      }
    }
    return { ...data, ink: all.subarray(0, SIDE * SIDE) };
  }

  const { channels: parts } = lnCanvas;
  const onRing = (k, side) => {
    const x = k % side, y = (k - x) / side;
    return !x || !y || x === side - 1 || y === side - 1;
  };
  function ends(map, side) { // means of the ring and of the rest
    const sum = [0, 0], count = [0, 0];
    map.forEach((v, k) => { const i = onRing(k, side) ? 0 : 1; sum[i] += v; count[i] += 1; });
    return [sum[0] / count[0], sum[1] / count[1]];
  }

  function build(root, load, first) {
    const mine = `ln-activation-maps-${++made}`, last = first.passes.length - 1;
    const state = { pictures: "mnist", crop: 0, layer: 0, statistic: "on", before: 0, point: last, channel: 0 };
    let data = first;
    const pills = (name, label, options) => `<fieldset class="ln-activation-maps-pills ln-segments"><legend>${label}</legend>
      ${Object.entries(options).map(([value, text]) => `<label><input type="radio" name="${mine}-${name}"
      data-of="${name}" value="${value}" autocomplete="off"${String(state[name]) === value ? " checked" : ""}>
      <span>${text}</span></label>`).join("")}</fieldset>`;
    const slide = (name, label, most) => `<label class="ln-activation-maps-slide"><span>${label} <output
      data-part="${name}-told"></output></span><input type="range" class="ln-slider" data-part="${name}" min="0"
      max="${most}" step="1" autocomplete="off"></label>`;
    root.insertAdjacentHTML("beforeend", `<div class="ln-activation-maps-body"><div class="ln-activation-maps-bar">
      ${pills("pictures", "Images", { mnist: "MNIST", fashion_small: "Fashion-MNIST" })}
      ${pills("crop", "Border", { 0: "uncropped", 4: "4 pixels cropped" })}
      ${pills("layer", "Layer", { 0: "1", 1: "2", 2: "3" })}
      ${pills("statistic", "Statistic", Object.fromEntries(
        Object.entries(STATISTICS).map(([name, { label }]) => [name, label])))}
      ${pills("before", "Summed input", { 0: "after the norm", 1: "before the norm" })}</div>
      <div class="ln-activation-maps-bar">${slide("point", "Training", last)}${slide("channel", "Channel", 16)}</div>
      <div class="ln-activation-maps-panels"><figure class="ln-activation-maps-panel ln-activation-maps-pictures"><figcaption><b>Images</b></figcaption>
        <canvas class="ln-activation-maps-map" role="img"></canvas><p data-part="ink"></p></figure>
      ${data.arms.map(({ name, color }) => `<figure class="ln-activation-maps-panel ln-activation-maps-arm"
        style="--tone: var(--ln-${color})"><figcaption><b>${name}</b></figcaption>
        <canvas class="ln-activation-maps-map" role="img"></canvas>
        <p><span data-part="border"></span><span data-part="rest"></span><strong data-part="apart"></strong></p>
        <canvas class="ln-activation-maps-small" aria-hidden="true"></canvas></figure>`).join("")}</div>
      <div class="ln-activation-maps-scale"><span data-part="low"></span><i></i><span data-part="high"></span></div>
      <p class="ln-activation-maps-says" data-part="says"></p><p class="ln-hush" role="status" data-part="status"></p>
      </div>`);
    const $ = (name, from = root) => from.querySelector(`[data-part="${name}"]`);
    const panels = [...root.querySelectorAll(".ln-activation-maps-arm")];
    const picture = root.querySelector(".ln-activation-maps-pictures");
    const chosen = (name) => root.querySelectorAll(`[data-of="${name}"]`);

    const dye = new Uint32Array(256), shade = new Uint32Array(256); // from low to high; from paper to ink
    const say = lnCanvas.speaker(root);
    let colors;
    function readColors() {
      const v = lnCanvas.palette(root);
      colors = { card: v("card"), line: v("line"), ink: v("ink") };
      const [paper, low, high, ink] = ["card", "negative", "positive", "ink"].map((name) => parts(v(name)));
      const fill = (to, pick) => {
        const bytes = new Uint8Array(to.buffer);
        for (let k = 0; k < 256; k++) {
          const [end, share] = pick(k);
          for (let c = 0; c < 3; c++) bytes[4 * k + c] = paper[c] + share * (end[c] - paper[c]);
          bytes[4 * k + 3] = 255;
        }
      };
      fill(dye, (k) => (k < 128 ? [low, (128 - k) / 128] : [high, (k - 128) / 127]));
      fill(shade, (k) => [ink, 0.9 * k / 255]);
    }
    const tile = document.createElement("canvas");
    function put(pen, map, side, color, table, x, y, size) {
      tile.width = tile.height = side;
      const tiled = tile.getContext("2d"), pixels = tiled.createImageData(side, side);
      const whole = new Uint32Array(pixels.data.buffer);
      map.forEach((v, k) => { whole[k] = table[Math.max(0, Math.min(255, Math.round(color(v))))]; });
      tiled.putImageData(pixels, 0, 0);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(tile, x, y, size, size);
    }
    const sheet = (canvas, high) => lnCanvas.sheet(canvas, high ?? canvas.clientWidth);
    function frame(pen, size, cells) { // what counts as border: the outermost ring
      pen.strokeStyle = colors.ink;
      pen.globalAlpha = 0.55;
      pen.lineWidth = 1;
      pen.setLineDash([3, 3]);
      pen.strokeRect(size / cells, size / cells, size - 2 * size / cells, size - 2 * size / cells);
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }

    const before = (arm) => state.before && state.statistic !== "on"
      && `before_${state.statistic}` in arm.layers[state.layer].statistics;
    function currentStatistic(arm) { // the statistic that is shown, and the scale's distance around a middle
      const { statistics, side } = arm.layers[state.layer], lead = before(arm) ? "before_" : "";
      const values = statistics[lead + state.statistic],
        spread = statistics[`${lead}deviation`];
      const color = (channel, map) => {
        const rest = ends(map, side)[1];
        const deviation = state.statistic === "mean" ? ends(spread.map(state.point, channel), side)[1] : 0;
        const full = STATISTICS[state.statistic].full(deviation, rest) || 1;
        return (v) => 128 + 127 * (v - rest) / full;
      };
      return { values, side, color };
    }

    function draw() {
      const crop = data.crop, inner = SIDE - 2 * crop;
      const ink = data.ink.filter((_, k) => {
        const x = k % SIDE, y = (k - x) / SIDE;
        return Math.min(x, y, SIDE - 1 - x, SIDE - 1 - y) >= crop;
      });
      const map = picture.querySelector("canvas"), [pen, size] = sheet(map, map.clientWidth);
      put(pen, ink, inner, (v) => v, shade, 0, 0, size);
      frame(pen, size, inner);
      panels.forEach((panel, k) => {
        const arm = data.arms[k], { values, side, color } = currentStatistic(arm), { channels } = arm.layers[state.layer];
        const canvas = panel.querySelector(".ln-activation-maps-map"), [large, wide] = sheet(canvas);
        const shown = values.map(state.point, state.channel);
        put(large, shown, side, color(state.channel, shown), dye, 0, 0, wide);
        frame(large, wide, side);
        const strip = panel.querySelector(".ln-activation-maps-small"), step = strip.clientWidth / ROW, gap = 2;
        const [small] = sheet(strip, Math.round(step * channels / ROW));
        for (let c = 1; c <= channels; c++) {
          const channelMap = values.map(state.point, c),
            x = ((c - 1) % ROW) * step, y = Math.floor((c - 1) / ROW) * step;
          put(small, channelMap, side, color(c, channelMap), dye, x + gap, y + gap, step - 2 * gap);
          if (c === state.channel) {
            small.strokeStyle = colors.ink;
            small.lineWidth = 2;
            small.strokeRect(x + 1, y + 1, step - 2, step - 2);
          }
        }
      });
    }

    function updateTexts() {
      const { statistic, point, channel, layer } = state, format = STATISTICS[statistic];
      const { channels } = data.arms[0].layers[layer], passes = data.passes[point];
      const training = passes ? `after ${passes} epoch${passes === 1 ? "" : "s"}` : "before the first update";
      const which = channel ? `channel ${channel} of ${channels}` : `mean of all ${channels}`;
      $("point-told").textContent = training;
      $("channel-told").textContent = which;
      $("point").value = point;
      $("channel").max = channels;
      $("channel").value = channel;
      $("point").setAttribute("aria-valuetext", training);
      $("channel").setAttribute("aria-valuetext", which);
      for (const input of chosen("before")) input.disabled = statistic === "on";
      [$("low").textContent, $("high").textContent] = format.ends;
      const signed = (v) => `${v < 0 ? "−" : "+"}${Math.abs(format.factor * v).toFixed(format.digits)}`;
      const descriptions = panels.map((panel, k) => {
        const arm = data.arms[k], { values, side } = currentStatistic(arm);
        const whole = values.border[point], map = values.map(point, channel);
        const [border, rest, low, high] = channel ? ends(map, side) : whole;
        const difference = `${signed(border - rest)}${format.unit && ` ${format.unit}`}`;
        const interval = channel ? "" : ` (${signed(low)} to ${signed(high)})`;
        $("border", panel).textContent = `border ${format.write(border)}`;
        $("rest", panel).textContent = `interior ${format.write(rest)}`;
        $("apart", panel).textContent = difference + interval;
        const text = `${arm.name.toLowerCase()} ${format.write(border)} at the border, ${format.write(rest)} in the interior`;
        panel.querySelector(".ln-activation-maps-map").setAttribute("aria-label",
          `Map of the ${format.label}, ${which}, ${text}`);
        return text;
      });
      const share = ends(data.ink, SIDE)[0] / 255;
      const crop = data.crop ? `, ${data.crop} pixels cropped on each side` : "";
      $("ink").textContent = "fraction of images in which the pixel is not empty";
      picture.querySelector("canvas").setAttribute("aria-label",
        `Fraction of images of ${data.pictures}${crop} in which each pixel is not empty; at the border of `
        + `the uncropped images it is ${(100 * share).toFixed(0)} percent`);
      const what = { on: "fraction of images for which a unit is active",
        mean: "mean of a unit's summed input", deviation: "standard deviation of a unit's summed input" }[statistic];
      const around = statistic === "on" ? "" : state.before ? ", before the norm" : ", after the norm";
      const text = `${data.pictures}${crop}, layer ${layer + 1}, ${which}, ${training}: ${what}${around}. `
        + `${descriptions.join("; ")}.`.replace(/^n/, "N");
      say(text);
    }
    function go(next) {
      Object.assign(state, next);
      state.channel = Math.min(state.channel, data.arms[0].layers[state.layer].channels);
      updateTexts();
      draw();
    }
    let request = 0;
    async function fetch(next) { // other pictures: their file first
      const mine = ++request, { pictures, crop } = { ...state, ...next };
      Object.assign(state, next);
      try {
        const loaded = await load(`${pictures}-${crop}`);
        if (mine !== request) return;
        data = loaded;
        go({});
      } catch (error) {
        $("says").textContent = `These maps cannot be read: ${error.message}.`;
      }
    }
    for (const name of ["pictures", "crop"]) for (const input of chosen(name)) {
      input.addEventListener("change", () => fetch({ [name]: name === "crop" ? Number(input.value) : input.value }));
    }
    for (const name of ["layer", "before", "statistic"]) for (const input of chosen(name)) {
      input.addEventListener("change", () => go({ [name]: name === "statistic" ? input.value : Number(input.value) }));
    }
    for (const name of ["point", "channel"]) {
      $(name).addEventListener("input", (event) => go({ [name]: Number(event.target.value) }));
    }
    for (const canvas of root.querySelectorAll(".ln-activation-maps-small")) { // a short way; the slider is the other
      canvas.addEventListener("click", ({ offsetX, offsetY }) => {
        const step = canvas.clientWidth / ROW, toIndex = (v) => Math.floor(v / step);
        const channel = 1 + Math.min(ROW - 1, toIndex(offsetX)) + ROW * toIndex(offsetY);
        go({ channel: channel === state.channel ? 0 : channel });
      });
    }

    return lnCanvas.follow(root, () => { readColors(); go({}); });
  }

  return (root, placed) => {
    const promises = {};
    const load = (name) => (promises[name] ??= placed(`${name}.js`).then(unpack));
    return lnCanvas.open(
      root, load("mnist-0"), (first) => build(root, load, first), "The maps cannot be read",
    );
  };
})();
