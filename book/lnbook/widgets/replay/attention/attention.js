/* A passage with a missing name, its words shaded by recorded attention, for several networks side by side. */
const lnAttention = (() => {
  "use strict";
  const POINT = 900; // ms under play
  const FULL = 0.5; // of the attention: as dark as a word gets
  const CHANCE = 10000, BLANK = "@blank";

  async function unpack(base64) {
    const [data, all] = await lnCanvas.unpack(base64);
    const [P, Q, N] = [data.updates.length, data.questions.length, data.names];
    const count = data.arms.length * P * Q * N * 2, T = (all.length - count) / (data.arms.length * P * Q);
    const shares = new Uint16Array(all.slice(0, count).buffer);
    const chances = (arm, point, question) => Array.from(shares.subarray(((arm * P + point) * Q + question) * N).subarray(0, N), (v) => v / CHANCE);
    const attention = (arm, point, question) => {
      const from = count + ((arm * P + point) * Q + question) * T;
      return Array.from(all.subarray(from, from + data.questions[question].passage.length), (v) => (v / 255) ** 2);
    };
    return { ...data, chances, attention };
  }

  const { escape, number, percent } = lnCanvas;
  const toLetter = (k) => String.fromCharCode(65 + k);
  const named = (word) => (/^@e\d+$/.test(word) ? Number(word.slice(2)) : null);
  const plain = (text) => escape(text).replace("...", "[…]");
  const chip = (k, right) => `<b class="ln-attention-name${k === right ? " ln-attention-right" : ""}">${toLetter(k)}</b>`;

  /* Words with blanks between them as a printer sets them: none before a comma, none within quotes. */
  function set(spans, html) {
    let text = "", open = false, tight = true;
    spans.forEach((word, k) => {
      const close = word === '"' && open;
      text += (tight || close || /^[,.;:?!)\]]$/.test(word) ? "" : " ") + html(word, k);
      if (word === '"') open = !open;
      tight = (word === '"' && open) || /^[([]$/.test(word);
    });
    return text;
  }

  function build(root, data) {
    const last = data.updates.length - 1;
    const state = { point: last, asked: data.first, arms: [...data.shown] };
    const choices = (chosen, names) => names.map((name, k) =>
      `<option value="${k}"${k === chosen ? " selected" : ""}>${escape(name)}</option>`).join("");

    root.insertAdjacentHTML("beforeend", `<div class="ln-attention-body">
      <div class="ln-attention-bar"><div class="ln-attention-slide"><button type="button" class="ln-button" data-part="play"></button>
        <label><span>Training: <output data-part="point-told"></output></span><input type="range" class="ln-slider"
        data-part="point" min="0" max="${last}" step="1" autocomplete="off"></label></div>
        <label class="ln-attention-pick"><span>Question</span><select class="ln-select" data-part="asked" autocomplete="off">${
          choices(data.first, data.questions.map(({ verse }) => verse))}</select></label></div>
      <p class="ln-attention-query" data-part="query"></p>
      <div class="ln-attention-arms">${state.arms.map((arm, k) => `<figure class="ln-attention-arm">
        <figcaption><label><span class="ln-hush">Network ${k + 1}</span><select class="ln-select" autocomplete="off">${
          choices(arm, data.arms.map(({ name }) => name))}</select></label>
        <span data-part="answer"></span></figcaption>
        <p class="ln-attention-passage" data-part="passage"></p>
        <ul data-part="chances" aria-label="Probability of each name"></ul></figure>`).join("")}</div>
      <p class="ln-attention-keys">The stronger the color of a word, the more attention it gets. Letters replace names, and the
        correct name is <b class="ln-attention-name ln-attention-right">framed</b>. […] stands for a rare word, which the models cannot tell from other rare words.</p>
      <p class="ln-attention-says" data-part="says"></p><p class="ln-hush" role="status" data-part="status"></p>
    </div>`);
    const $ = (name, from = root) => from.querySelector(`[data-part="${name}"]`);
    const figures = [...root.querySelectorAll(".ln-attention-arm")];
    const say = lnCanvas.speaker(root);
    let set_for = null;

    /* Another question: its words, and a bar for each of its names. */
    function showQuestion() {
      const { passage, query, right } = data.questions[state.asked];
      const present = [...new Set(passage.map(named).filter((k) => k !== null))].sort((a, b) => a - b);
      const word = (text, k) => {
        const name = named(text);
        return `<span data-word="${k}">${name === null ? plain(text) : chip(name, right)}</span>`;
      };
      $("query").innerHTML = set(query, (text) => {
        const name = named(text);
        if (text === BLANK) return '<b class="ln-attention-name ln-attention-right ln-attention-blank">?</b>';
        return name === null ? plain(text) : chip(name, null);
      });
      for (const figure of figures) {
        $("passage", figure).innerHTML = set(passage, word);
        $("chances", figure).innerHTML = present.map((k) => `<li data-name="${k}">${chip(k, right)}
          <span class="ln-attention-track"><i></i></span><span data-part="chance"></span></li>`).join("");
      }
      set_for = state.asked;
    }
    function draw() {
      const { point, asked } = state, updates = `${number(data.updates[point])} updates`;
      if (set_for !== asked) showQuestion();
      const { passage, right, verse } = data.questions[asked];
      $("point-told").textContent = updates;
      $("point").value = point;
      $("point").setAttribute("aria-valuetext", updates);
      $("asked").value = asked;
      const descriptions = figures.map((figure, index) => {
        const arm = state.arms[index], { name, color, line, errors } = data.arms[arm];
        figure.style.setProperty("--tone", `var(--ln-${color})`);
        figure.dataset.line = line;
        const attention = data.attention(arm, point, asked), chances = data.chances(arm, point, asked);
        for (const word of figure.querySelectorAll("[data-word]")) {
          word.style.setProperty("--much", Math.sqrt(Math.min(1, attention[word.dataset.word] / FULL)).toFixed(3));
        }
        for (const bar of figure.querySelectorAll("li")) {
          const chance = chances[bar.dataset.name], mark = Number(bar.dataset.name) === right ? " ✓" : "";
          bar.querySelector("i").style.width = `${100 * chance}%`;
          $("chance", bar).textContent = percent(chance) + mark;
        }
        const answer = chances.indexOf(Math.max(...chances)), held = answer === right ? "correct" : "wrong";
        const on = passage.reduce((sum, word, k) => sum + (named(word) === right ? attention[k] : 0), 0);
        figure.dataset.held = held;
        $("answer", figure).innerHTML = `predicts ${toLetter(answer)}: <b>${held}</b> · validation error ${percent(errors[point])}`;
        return `${name[0].toLowerCase()}${name.slice(1)}, ${toLetter(answer)} (${percent(chances[answer])}), ${held}, with ${percent(on)} of its attention on ${toLetter(right)}`;
      });
      const sentence = `After ${updates}, answers for ${verse}, where ${toLetter(right)} is missing: ${descriptions.join("; ")}.`;
      say(sentence, train.on());
    }
    const train = lnCanvas.train($("play"), $("point"), {
      last, time: POINT, current: () => state.point, rest: draw,
      go: (point) => {
        state.point = point;
        draw();
      },
    });
    $("asked").addEventListener("change", (event) => {
      state.asked = Number(event.target.value);
      draw();
    });
    figures.forEach((figure, index) => {
      figure.querySelector("select").addEventListener("change", (event) => {
        state.arms[index] = Number(event.target.value);
        draw();
      });
    });
    draw();
    root.dataset.ready = "yes";
    return train.stop;
  }

  return (root, packed) => lnCanvas.open(
    root, packed().then(unpack), (data) => build(root, data), "The passages cannot be loaded",
  );
})();
