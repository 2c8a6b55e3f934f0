/* A text written point by point, as recorded: networks abreast, at one update. */
const lnHandwriting = (() => {
  "use strict";
  const POINT = 16; // ms under play, for a point of the pen
  const UPDATE = 700, CALM = 30; // ms for a point of training; points at once, where motion is reduced
  const FRESH = 25; // points whose ink is still wet
  const PER = 64; // of the window's numbers, to a character
  const FULL = 50; // points that fill a bar
  const TEXT = 58, WIDE = 62; // pixels: the text with its bars; a character, at most
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const { number, slide } = lnCanvas;

  async function unpack(base64) {
    const [data, all] = await lnCanvas.unpack(base64);
    const N = data.points, P = data.updates.length, lines = data.arms.length * P;
    const numbers = new Int16Array(all.slice(0, 6 * lines * N).buffer);
    const line = (arm, point) => {
      const start = (arm * P + point) * N, x = [], y = [];
      for (let t = 0; t < N; t++) {
        x.push((t ? x[t - 1] : 0) + numbers[2 * (start + t)]);
        y.push((t ? y[t - 1] : 0) + numbers[2 * (start + t) + 1]);
      }
      const from = 2 * lines * N + start, lifted = 6 * lines * N + start;
      return { x, y, window: Array.from(numbers.subarray(from, from + N), (v) => v / PER),
        lifted: all.subarray(lifted, lifted + N) };
    };
    const lines_ = data.arms.map((_, arm) => data.updates.map((_, point) => line(arm, point)));
    return { ...data, line: (arm, point) => lines_[arm][point] };
  }

  function build(root, data) {
    const N = data.points, last = data.updates.length - 1, letters = [...data.text];
    const state = { pen: N, point: last };
    root.insertAdjacentHTML("beforeend", `<div class="ln-handwriting-body">
      <div class="ln-handwriting-bar">${slide("pen", "Pen position", N)}${slide("point", "Training", last)}</div>
      ${data.arms.map((arm) => `<figure class="ln-handwriting-arm ln-handwriting-${arm.line}"
        style="--tone: var(--ln-${arm.color})">
        <figcaption><b>${arm.name}</b><span data-part="loss"></span></figcaption>
        <canvas class="ln-handwriting-text" role="img"></canvas>
        <canvas class="ln-handwriting-ink" role="img"></canvas></figure>`).join("")}
      <p class="ln-handwriting-keys"><span class="ln-handwriting-key ln-handwriting-here">current position of the window</span>
        <span class="ln-handwriting-key ln-handwriting-bars">time steps spent at each character</span></p>
      <p class="ln-handwriting-says" data-part="says"></p><p class="ln-hush" role="status" data-part="status"></p>
    </div>`);
    const $ = (name, from = root) => from.querySelector(`[data-part="${name}"]`);
    const figures = [...root.querySelectorAll(".ln-handwriting-arm")];

    let colors;
    function readColors() {
      const v = lnCanvas.palette(root);
      colors = { ink: v("ink"), line: v("line"), soft: v("gray"), lit: v("second"), card: v("card") };
    }
    const tone = (arm) => lnCanvas.palette(root)(data.arms[arm].color);

    /* The text, the window over it, and under it how long the window has been at each character. */
    function text(canvas, arm) {
      const [pen, width] = lnCanvas.sheet(canvas, TEXT), { window } = data.line(arm, state.point);
      const cell = Math.min(WIDE, width / letters.length), size = Math.min(21, 1.35 * cell);
      const position = state.pen ? window[state.pen - 1] : 0, base = 27;
      const stayed = letters.map(() => 0);
      for (let t = 0; t < state.pen; t++) stayed[Math.round(window[t])]++;
      if (state.pen) {
        pen.globalAlpha = 0.3;
        pen.fillStyle = colors.lit;
        pen.beginPath();
        pen.roundRect((position + 0.05) * cell, 6, 0.9 * cell, 29, 5);
        pen.fill();
        pen.globalAlpha = 1;
      }
      letters.forEach((character, u) => {
        const x = (u + 0.5) * cell, near = state.pen && Math.round(position) === u;
        pen.font = `${near ? 700 : 400} ${size}px ui-monospace, SFMono-Regular, Menlo, monospace`;
        pen.textAlign = "center";
        pen.fillStyle = near ? colors.ink : colors.soft;
        pen.fillText(character === " " ? "␣" : character, x, base);
        const high = Math.min(1, stayed[u] / FULL) * 16;
        lnCanvas.box(pen, u * cell + 1, TEXT - 3, cell - 2, 1, colors.line);
        lnCanvas.box(pen, u * cell + 1, TEXT - 3 - high, cell - 2, high, tone(arm), 0.75);
      });
      canvas.setAttribute("aria-label", `The text, ${data.arms[arm].name}: ${describeWindow(arm)}`);
    }
    const describeWindow = (arm) => {
      if (!state.pen) return "the window has not started";
      const u = Math.round(data.line(arm, state.point).window[state.pen - 1]);
      const character = letters[u] === " " ? "a space" : `“${letters[u]}”`;
      return `the window is at ${character}, character ${u + 1} of ${letters.length}`;
    };

    /* The ink so far, in a frame that holds the whole line. */
    function ink(canvas, arm) {
      const line = data.line(arm, state.point), wide = canvas.clientWidth;
      const high = Math.round(Math.min(130, Math.max(86, wide / 6)));
      const [pen, width] = lnCanvas.sheet(canvas, high), margin = 12;
      const ends = (values) => [Math.min(0, ...values), Math.max(0, ...values)];
      const [left, right] = ends(line.x), [low, top] = ends(line.y);
      const scale = Math.min((width - 2 * margin) / Math.max(1, right - left),
        (high - 2 * margin) / Math.max(1, top - low));
      const spare = (high - scale * (top - low)) / 2;
      const x = (t) => margin + scale * (line.x[t] - left);
      const y = (t) => high - spare - scale * (line.y[t] - low);
      pen.lineCap = pen.lineJoin = "round";
      const wet = state.pen < N ? state.pen - FRESH : N;
      for (const [from, to, color, thick] of [[0, wet, colors.ink, 1.9], [wet, state.pen, tone(arm), 3]]) {
        pen.strokeStyle = color;
        pen.lineWidth = thick;
        pen.beginPath();
        for (let t = Math.max(1, from); t < to; t++) {
          if (line.lifted[t - 1]) continue;
          pen.moveTo(x(t - 1), y(t - 1));
          pen.lineTo(x(t), y(t));
        }
        pen.stroke();
      }
      if (state.pen && state.pen < N) {
        const t = state.pen - 1;
        pen.beginPath();
        pen.arc(x(t), y(t), 5, 0, 7);
        pen.fillStyle = line.lifted[t] ? colors.card : tone(arm);
        pen.strokeStyle = tone(arm);
        pen.lineWidth = 2;
        pen.fill();
        pen.stroke();
      }
      canvas.setAttribute("aria-label",
        `Handwriting, ${data.arms[arm].name}: ${state.pen} of ${N} points`);
    }

    function draw() {
      figures.forEach((figure, arm) => {
        text(figure.querySelector(".ln-handwriting-text"), arm);
        ink(figure.querySelector(".ln-handwriting-ink"), arm);
      });
    }
    const say = lnCanvas.speaker(root);
    function updateTexts() {
      const after = number(data.updates[state.point]);
      $("pen-told").textContent = `point ${state.pen} of ${N}`;
      $("point-told").textContent = `${after} updates`;
      $("pen").value = state.pen;
      $("point").value = state.point;
      $("pen").setAttribute("aria-valuetext", `point ${state.pen} of ${N}`);
      $("point").setAttribute("aria-valuetext", `${after} updates`);
      const losses = data.arms.map((arm) => {
        const loss = arm.losses[state.point];
        return loss === null ? "diverged" : `loss ${loss.toFixed(2).replace("-", "−")} nats per point`;
      });
      figures.forEach((figure, arm) => { $("loss", figure).textContent = losses[arm]; });
      const sentence = `After ${after} updates, point ${state.pen} of ${N}: ` + data.arms.map((arm, k) =>
        `${arm.name.toLowerCase()}, ${losses[k]}, ${describeWindow(k)}`).join("; ") + ".";
      say(sentence, player.on());
    }
    function go(next) {
      Object.assign(state, next);
      updateTexts();
      draw();
    }
    const player = lnCanvas.players(root, { pen: "Write", point: "Train" }, {
      go, rest: updateTexts,
      start(name, end) {
        const most = name === "pen" ? N : last;
        let timer = null, frame = null;
        if (state[name] === most) go({ [name]: 0 });
        if (name === "pen" && !calm.matches) { // as fast on every screen
          const first = state.pen, begin = performance.now();
          frame = requestAnimationFrame(function step(now) {
            go({ pen: Math.min(N, first + Math.max(0, Math.floor((now - begin) / POINT))) });
            if (state.pen === N) end();
            else frame = requestAnimationFrame(step);
          });
        } else {
          (function step() {
            if (state[name] === most) return end();
            go({ [name]: Math.min(most, state[name] + (name === "pen" ? CALM : 1)) });
            timer = setTimeout(step, UPDATE);
          })();
        }
        return () => {
          clearTimeout(timer);
          cancelAnimationFrame(frame);
        };
      },
    });

    return lnCanvas.follow(root, () => { readColors(); go({}); }, player);
  }

  return (root, written) => lnCanvas.open(
    root, written().then(unpack), (data) => build(root, data), "The handwriting cannot be read",
  );
})();
