/* What the widgets that draw share: the canvas, a word, a box, the record behind it, the link
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

  /* In the built book: bring to life every element of a widget with what was recorded: what lies in
     it, or in `packed.js` beside its script. The first element loads that file, which calls a
     function; fetch would fail on file://. */
  function wake(selector, { src }, start) {
    let loaded;
    const load = () => (loaded ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = src.replace(/[^/]*$/, "packed.js");
      (window.lnPacked ??= {})[selector] = done;
      script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
      document.head.append(script);
    }));
    for (const root of document.querySelectorAll(selector)) {
      const inside = root.querySelector("script");
      start(root, inside ? () => Promise.resolve(inside.textContent) : load);
    }
  }

  /* Draw now, and again where the width or the theme changes: the widget is ready. Returns how to close it, which
     stops its player, too, if it has one. */
  function follow(root, redraw, player) {
    let wide = 0;
    const watch = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width !== wide) redraw();
      wide = entry.contentRect.width;
    });
    const themes = new MutationObserver(redraw);
    themes.observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
    redraw();
    watch.observe(root);
    root.dataset.ready = "yes";
    return () => {
      player?.stop();
      watch.disconnect();
      themes.disconnect();
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

  return { sheet, write, box, unpack, wake, follow, open, train, players, copy };
})();
