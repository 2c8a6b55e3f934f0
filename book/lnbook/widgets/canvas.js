/* What the widgets share: the canvas, a word, a box, the texts, the record behind it, the link
   to a state. Two widgets of a page both bring it. */
window.lnCanvas ??= (() => {
  "use strict";

  /* A clean canvas as wide as its place and so high; a pen in CSS pixels, and the width. */
  function sheet(canvas, height) {
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = height + "px";
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return [pen, width];
  }
  function write(pen, text, x, y, color, align = "left", size = 12) {
    pen.font = `${size}px system-ui, sans-serif`;
    pen.fillStyle = color;
    pen.textAlign = align;
    pen.fillText(text, x, y);
  }
  function box(pen, x, y, width, height, color, alpha = 1) {
    pen.globalAlpha = alpha;
    pen.fillStyle = color;
    pen.fillRect(x, y, width, height);
    pen.globalAlpha = 1;
  }

  /* What was recorded, gzipped in base64: a line of JSON, and the bytes after it. */
  async function unpack(base64) {
    if (!window.DecompressionStream) throw new Error("this browser is too old (before 2023)");
    const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const all = new Uint8Array(await new Response(stream).arrayBuffer()), end = all.indexOf(10);
    return [JSON.parse(new TextDecoder().decode(all.subarray(0, end))), all.subarray(end + 1)];
  }

  /* In the built book: how to load a file of a widget by its name, once. The file lies beside the
     script and calls a function with what it holds; fetch would fail on file://. */
  function loader({ src }) {
    const home = src.replace(/[^/]*$/, ""), folder = home.split("/").at(-2), loaded = {};
    return (name) => (loaded[name] ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = home + name;
      (window.lnLoaded ??= {})[`${folder}/${name}`] = done;
      script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
      document.head.append(script);
    }));
  }

  /* In the built book: start every element of a widget, with its loader and the element's options. */
  function each(selector, script, start) {
    const load = loader(script);
    for (const root of document.querySelectorAll(selector)) {
      start(root, load, JSON.parse(root.dataset.options ?? "{}"));
    }
  }

  /* The same with what was recorded: what lies in the element, or in `packed.js` beside the script. */
  const wake = (selector, script, start) => each(selector, script, (root, load) => {
    const inside = root.querySelector("script");
    start(root, () => (inside ? Promise.resolve(inside.textContent) : load("packed.js")));
  });

  /* Call a function where the width or the theme changes; returns how to end that. */
  function watch(root, changed) {
    let wide = 0;
    const room = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width !== wide) changed();
      wide = entry.contentRect.width;
    });
    const themes = new MutationObserver(changed);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
    themes.observe(document.body, { attributeFilter: ["data-jp-theme-light", "class"] });
    room.observe(root);
    return () => {
      room.disconnect();
      themes.disconnect();
    };
  }

  /* Draw now, and again where the width or the theme changes: the widget is ready. Returns how to close it, which
     stops its player, too, if it has one. */
  function follow(root, redraw, player) {
    redraw();
    const end = watch(root, redraw);
    root.dataset.ready = "yes";
    return () => {
      player?.stop();
      end();
    };
  }

  /* Build a widget of what is read, or say what could not be; returns how to close it. `build`
     returns that of its own. */
  function open(root, reading, build, failed) {
    let close = null, gone = false;
    reading.then((data) => { if (!gone) close = build(data); }, (error) => {
      const note = Object.assign(document.createElement("p"), { className: "ln-note" });
      note.textContent = `${failed}: ${error.message}.`;
      root.append(note);
      root.dataset.ready = "failed";
    });
    return () => {
      gone = true;
      close?.();
    };
  }

  /* Play through the points of training, by a button, and move between them by a slider: `current`
     says where one is, `go` leads to a point in so many ms, `rest` is called at the end. */
  function train(button, slider, { last, time, current, go, rest }) {
    let timer = null;
    function label() {
      button.setAttribute("aria-pressed", Boolean(timer));
      button.textContent = timer ? "❚❚ Stop" : "▶ Train";
    }
    function stop() {
      clearTimeout(timer);
      timer = null;
      label();
    }
    function play() {
      if (current() === last) go(0, 0);
      (function step() {
        if (current() === last) {
          stop();
          return rest();
        }
        timer = setTimeout(step, time + 60);
        go(current() + 1, time);
      })();
      label();
    }
    button.addEventListener("click", () => {
      if (!timer) return play();
      stop();
      rest();
    });
    slider.addEventListener("input", () => {
      stop();
      go(Number(slider.value), 0);
    });
    label();
    return { stop, on: () => Boolean(timer) };
  }

  /* Sliders that a button each plays to its end, one at a time. `names`, from a slider's part to its
     button's word; `start` plays one, says when it has reached the `end`, and returns how to cancel;
     `go` leads to a state, `rest` is called where play ends. */
  function players(root, names, { start, go, rest }) {
    let playing = null, cancel = null;
    const buttons = [...root.querySelectorAll("[data-play]")];
    function label() {
      for (const button of buttons) {
        const name = button.dataset.play, on = playing === name;
        button.setAttribute("aria-pressed", on);
        button.textContent = on ? "❚❚ Stop" : `▶ ${names[name]}`;
      }
    }
    function stop() {
      cancel?.();
      playing = cancel = null;
      label();
    }
    function end() {
      stop();
      rest();
    }
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const name = button.dataset.play;
        if (playing === name) return end();
        stop();
        playing = name;
        label();
        cancel = start(name, end);
      });
    }
    for (const name of Object.keys(names)) {
      root.querySelector(`input[data-part="${name}"]`).addEventListener("input", (event) => {
        stop();
        go({ [name]: Number(event.target.value) });
      });
    }
    label();
    return { stop, on: () => Boolean(playing) };
  }

  /* Write a sentence under a widget, and have it read aloud after a rest, unless it plays. */
  const SPEAK = 700; // ms
  function speaker(root) {
    let saying = 0;
    return (sentence, playing = false) => {
      root.querySelector('[data-part="says"]').textContent = sentence;
      clearTimeout(saying);
      const speak = () => { root.querySelector('[data-part="status"]').textContent = sentence; };
      if (!playing) saying = setTimeout(speak, SPEAK);
    };
  }

  /* Copy a link; where that is not allowed, the reader copies it from its field. */
  async function copy(link, button, field) {
    field.value = link;
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy link"; }, 2000);
    } catch {
      field.hidden = false;
      field.select();
    }
  }

  /* The HTML of a slider whose button plays it, for `players`; hidden where there is one state. */
  const slide = (name, label, most) => `<div class="ln-slide"${most ? "" : " hidden"}>
    <button type="button" class="ln-button" data-play="${name}" aria-pressed="false"></button><label><span>${label}
    <output data-part="${name}-told"></output></span><input type="range" class="ln-slider" data-part="${name}"
    min="0" max="${most}" step="1" autocomplete="off"></label></div>`;
  function element(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html.trim();
    return holder.content.firstElementChild;
  }
  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const number = (v) => v.toLocaleString("en-US");
  const percent = (v) => `${(100 * v).toFixed(0)}%`;
  const listed = (names) => names.length < 2 ? names.join("")
    : `${names.slice(0, -1).join(", ")}${names.length > 2 ? "," : ""} and ${names.at(-1)}`;
  const channels = (color) => color.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  /* How to read the book's colors where a widget stands. */
  function palette(root) {
    const css = getComputedStyle(root);
    return (name) => css.getPropertyValue(`--ln-${name}`).trim();
  }

  return {
    sheet, write, box, unpack, each, wake, watch, follow, open, train, players, speaker, copy,
    slide, element, escape, number, percent, listed, channels, palette,
  };
})();
