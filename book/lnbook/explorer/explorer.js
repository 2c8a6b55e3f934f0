/* The page's half of lnbook.explorer: unpack the states, redraw when a control moves.
   No kernel, no network; works from file://. Every number was computed in Python. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*\/[^/]*$/, ""); // where all widgets lie
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const STEP = 400; // ms between two states while playing
  const REACH = 400; // pixels beyond the window in which a figure is drawn

  const load = (name) => new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = HOME + name;
    script.onload = done;
    script.onerror = () => fail(new Error("the file " + script.src + " is missing"));
    document.head.append(script);
  });
  let plotly; // one script tag, when the first explorer comes near
  const loadPlotly = () => (plotly ??= load("plotly/plotly.min.js").then(() => window.Plotly));

  /* An explorer's states lie in a file of their own; in a notebook's export, in the page. */
  const packedStates = {};
  window.lnStates = (explorer, packed) => { packedStates[explorer] = packed; };
  async function packed(root) {
    const { dataset, textContent } = root.querySelector(".ln-data");
    if (!dataset.file) return textContent;
    await load(dataset.file);
    return packedStates[root.id];
  }

  async function unpack(base64) {
    if (!window.DecompressionStream) throw new Error("this browser is too old (before 2023)");
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  /* {"$": i} stands for pool[i]; arrays of numbers are shared between states, never copied */
  function resolver(pool) {
    const known = [];
    const resolve = (v) => {
      if (Array.isArray(v)) return v.some((x) => x && typeof x === "object") ? v.map(resolve) : v;
      if (!v || typeof v !== "object") return v;
      if ("$" in v) return (known[v.$] ??= resolve(pool[v.$]));
      return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, resolve(x)]));
    };
    return resolve;
  }

  /* The look comes from the page's CSS variables, so that light and dark are one switch; a theme's
     is asked for once, because asking makes the browser style what has been written. */
  const themes = new Map();
  function theme() {
    const name = document.documentElement.dataset.theme;
    if (!themes.has(name)) {
      const css = getComputedStyle(document.documentElement);
      const v = (variable) => css.getPropertyValue(variable).trim();
      const pairs = v("--ln-swap").matchAll(/([^\s"=]+)=([^\s"]+)/g);
      themes.set(name, { plotlyTemplate: template(v), ready: new WeakMap(),
        dyes: new Map([...pairs].map(([, light, dark]) => [light, dark])) });
    }
    return themes.get(name);
  }
  const MARGIN = { l: 12, r: 16, t: 12, b: 12 };
  function template(v) {
    const [text, line, paper] = [v("--pst-color-text-base"), v("--ln-line"), v("--ln-card")];
    const [low, high] = [v("--ln-low"), v("--ln-high")];
    const bar = { thickness: 10, outlinewidth: 0, ticklen: 3 };
    const heat = { autocolorscale: true, colorbar: bar, textfont: { color: v("--ln-number") } };
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line,
      ticks: "outside", ticklen: 4, automargin: true, fixedrange: true, title: { standoff: 8 },
      ticklabeloverflow: "allow" }; // automargin has made room: none need be measured again
    return {
      data: { heatmap: [heat], contour: [heat] },
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
        font: { color: text, family: getComputedStyle(document.body).fontFamily, size: 12 },
        margin: MARGIN,
        colorway: ["first", "second", "third", "fourth"].map((thing) => v("--ln-" + thing)),
        colorscale: {
          diverging: [[0, low], [0.5, paper], [1, high]],
          sequential: [[0, paper], [1, high]], sequentialminus: [[0, low], [1, paper]],
        },
        coloraxis: { autocolorscale: true, colorbar: bar },
        legend: { orientation: "h", yanchor: "bottom", y: 1, x: 0 },
        hoverlabel: { bgcolor: v("--pst-color-surface"), bordercolor: line, font: { color: text } },
        xaxis: axis, yaxis: axis,
      },
    };
  }

  /* A figure comes in the colors of a light page; a dark one has another for each. What stands in
     several states is dyed once, so that it stays the same object and is not drawn again. */
  function dyed(panel) {
    const { dyes, ready } = theme();
    if (!ready.has(panel)) {
      ready.set(panel, withCursor(!dyes.size ? panel : JSON.parse(JSON.stringify(panel).replace(
        /#[0-9a-f]{6}\b|rgba\([\d,]+(?=,)/g, (color) => dyes.get(color) ?? color))));
    }
    return ready.get(panel);
  }

  /* The address names each explorer that was moved, the last one first, with its controls. */
  const PAUSE = 300; // ms after the last move: browsers refuse an address that changes too often
  const named = (el) => el.id.replace(/^explorer-\d+-/, "");
  const texts = (el) => el.options ? [...el.options].map((o) => o.textContent)
    : JSON.parse(el.dataset.texts);
  const controls = (root) => [...root.querySelectorAll(".ln-controls :is(input, select)")];
  const initial = (el) => el.options
    ? Math.max(0, [...el.options].findIndex((o) => o.defaultSelected)) : Number(el.defaultValue);
  /* Put the controls where the address has them; those that it leaves out or has wrong are put
     where they were at first, also if the address is opened on a page where they were moved. */
  function restore(root, moved) {
    const wanted = lnAddress.read().get(root.id);
    for (const el of wanted ? controls(root) : []) {
      const known = texts(el).indexOf(wanted.get(named(el))),
        index = known < 0 ? initial(el) : known;
      if (index === Number(el.value)) continue;
      el.value = index;
      moved(el);
    }
  }
  const saving = new Map(); // from an explorer to the timer after which the address names it
  function remember(root) {
    clearTimeout(saving.get(root));
    saving.set(root, setTimeout(() => {
      const moved = controls(root).filter((el) => Number(el.value) !== initial(el));
      lnAddress.save(root.id, moved.map((el) => [named(el), texts(el)[Number(el.value)]]));
    }, PAUSE));
  }

  /* On a phone a panel is lower than it was laid out for: the names at the ends of its lines move
     apart again, and ticks that would touch go. */
  const AROUND = 66, LINE = 15, TICK = 13; // pixels: not the lines', a name's line, between ticks
  /* On a narrow panel an axis has as many names as fit side by side; plotly would turn them. */
  const NARROW = 420, LETTER = 7, SIDES = 66; // pixels: a panel, a letter, the room beside the lines
  function fewerTicks(axis, room) {
    if (axis.type === "category" || axis.tickangle) return axis;
    if (!axis.tickvals) return { nticks: 4, tickangle: 0, ...axis };
    const names = axis.ticktext ?? axis.tickvals.map(String);
    const written = names.flatMap((name, k) => (name ? [k] : []));
    const longest = Math.max(...names.map((name) => name.length)) * LETTER;
    if (longest < 0.85 * room / (written.length - 1)) return axis;
    const kept = written.filter((_, place) => place % 2 === 0);
    return { tickangle: 0, ...axis, ticktext: names.map((name, k) => (kept.includes(k) ? name : "")) };
  }
  function fitted(layout, shrunk, wide) {
    const own = structuredClone(layout), share = shrunk < 1 ? layout.meta?.phone ?? 1 : 1;
    if (wide < NARROW && own.xaxis)
      own.xaxis = fewerTicks(own.xaxis, wide - SIDES - (own.margin?.r ?? 0));
    own.height = layout.height * shrunk * share;
    if (own.height >= layout.height) return own;
    const room = own.height - AROUND, axis = own.yaxis ?? {};
    const toPixels = (y) => (y - axis.range[0]) / (axis.range[1] - axis.range[0]) * room;
    if (!axis.range || axis.domain) return own;
    if (axis.tickvals) {
      const tickPosition = (k) =>
        toPixels(axis.type === "log" ? Math.log10(axis.tickvals[k]) : axis.tickvals[k]);
      const visibleTicks = [];
      for (const k of [...axis.tickvals.keys()].sort((j, k) => tickPosition(k) - tickPosition(j))) {
        if (!visibleTicks.length || tickPosition(visibleTicks.at(-1)) - tickPosition(k) >= TICK)
          visibleTicks.push(k);
      }
      axis.ticktext = visibleTicks.map((k) => (axis.ticktext ?? axis.tickvals)[k]);
      axis.tickvals = visibleTicks.map((k) => axis.tickvals[k]);
    }
    const names = (own.annotations ?? []).filter((a) => a.xanchor === "left" && "yshift" in a);
    const tall = (a) => LINE * a.text.split("<br>").length;
    const positions = names.map((a) => Math.max(0, Math.min(room, toPixels(a.y))));
    const order = [...names.keys()].sort((j, k) => names[j].y - names[k].y
      || names[j].yshift - names[k].yshift);
    const moved = [];
    let floor = 0; // upwards, each above the one below it; then down from the top
    for (const k of order) floor = (moved[k] = Math.max(positions[k], floor + tall(names[k]) / 2)) + tall(names[k]) / 2;
    let top = room;
    for (const k of order.reverse()) top = (moved[k] = Math.min(moved[k], top - tall(names[k]) / 2)) - tall(names[k]) / 2;
    names.forEach((a, k) => a.yshift = Math.round(moved[k] - positions[k]));
    return own;
  }

  /* Plotly draws only what has changed, and then forgets the range that it had found for an axis
     without one; a look that is new to it has all drawn again. */
  const ranged = (layout) => ["xaxis", "yaxis", ...Object.keys(layout)].every((key) =>
    !/^[xy]axis\d*$/.test(key) || layout[key]?.range);
  /* Most steps of a slider move points, lines and bars, and leave axes and texts as they are: `animate`
     moves these in half the time in which `react` draws everything again. */
  const MOVING = new Set(["x", "y", "base", "text", "hovertext", "customdata"]);
  const FRAME = { frame: { duration: 0, redraw: false }, transition: { duration: 0 }, mode: "immediate" };
  const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
  const onlyMoves = (before, after) => ranged(after.layout) && same(before.layout, after.layout)
    && before.data.length === after.data.length && after.data.every((trace, k) => {
      const old = before.data[k], keys = Object.keys(trace);
      return ["scatter", "bar"].includes(trace.type) && keys.length === Object.keys(old).length
        && keys.every((key) => key in old && (MOVING.has(key) || same(old[key], trace[key])));
    });
  /* A vertical line across the panel, which marks the slider's value, becomes a trace, which moves. */
  function withCursor({ data, layout, ...rest }) {
    const { shapes = [], ...others } = layout, { range, type } = layout.yaxis ?? {};
    const across = ({ x0, x1, yref, xref, layer }) => x0 === x1 && yref === "paper" && !xref && !layer;
    if (!shapes.length || !ranged(layout) || !shapes.every(across)) return { data, layout, ...rest };
    const y = range.map((v) => (type === "log" ? 10 ** v : v));
    const lines = shapes.map(({ x0, line, opacity = 1 }) => ({ type: "scatter", mode: "lines",
      x: [x0, x0], y, line, opacity, meta: "cursor", hoverinfo: "skip", showlegend: false }));
    return { data: [...data, ...lines], layout: others, ...rest };
  }
  const CONFIG = { responsive: true, displayModeBar: false, doubleClick: false };
  const drawers = new WeakMap(); // of the explorers that have started
  async function start(root) {
    if (root.dataset.ready) return;
    root.dataset.ready = "loading";
    const sizes = JSON.parse(root.dataset.sizes);
    const inputs = controls(root);
    const panels = [...root.querySelectorAll(".ln-panel")];
    const titles = [...root.querySelectorAll(".ln-panel-title")];
    const text = root.querySelector(".ln-text");
    const numbers = root.querySelector(".ln-numbers");
    const [Plotly, book] = await Promise.all([loadPlotly(), packed(root).then(unpack)]);
    const resolve = resolver(book.pool);

    const shrunk = () => Number(getComputedStyle(panels[0]).getPropertyValue("--ln-now"));
    let drawnAt = 1;
    const write = (el, value) => { if (el.textContent !== value) el.textContent = value; };
    function announce(sentence, goal) {
      inputs.forEach(updateValueText);
      goal.forEach(({ title }, k) => write(titles[k], title));
      write(text, sentence);
      if (numbers.open) tabulate(numbers.lastElementChild, goal);
    }
    let round = 0; // the latest redraw
    let drawn = [], drawnAs; // the panels that need no redraw, and the look and size they have
    /* The margins that ticks and names have taken so far: none shrinks again, so that a picture
       stays where it is, and plotly, which would draw all again for a wider one, draws once. */
    let margins = [], width;
    const grownMargins = (k, own) => Object.fromEntries(Object.entries({ ...MARGIN, ...own }).map(
      ([side, size]) => [side, Math.max(size, margins[k]?.[side] ?? 0)]));
    /* Every panel that changes is drawn once per move. Frames in between would cost as much
       again each, ten times a move, which is more than a phone can draw in that time. */
    async function draw() {
      const mine = ++round;
      const i = inputs.reduce((n, el, k) => n * sizes[k] + Number(el.value), 0);
      const state = resolve(book.states[i]), goal = state.panels.map(dyed);
      const { plotlyTemplate } = theme(), shrinkage = shrunk();
      if (plotlyTemplate !== drawnAs || shrinkage !== drawnAt) drawn = [];
      const wide = panels[0].clientWidth; // once: the page is laid out for it
      if (shrinkage !== drawnAt || wide !== width) margins = [];
      [drawnAs, drawnAt, width] = [plotlyTemplate, shrinkage, wide];
      const drawing = goal.map((panel, k) => {
        const before = drawn[k], { data, layout } = drawn[k] = panel;
        if (panel === before) return null;
        const traces = data.map((trace) => ({ ...trace }));
        if (before && onlyMoves(before, panel)) {
          return Plotly.animate(panels[k], { data: traces, traces: [...traces.keys()] }, FRAME)
            .catch((error) => { if (error) throw error; }); // none: a later move came first
        }
        panels[k].querySelector(".ln-still")?.remove();
        return Plotly.react(panels[k], traces,
          { ...fitted(layout, drawnAt, wide), margin: grownMargins(k, layout.margin),
            template: ranged(layout) ? plotlyTemplate : { ...plotlyTemplate } },
          panels[k].data ? undefined : CONFIG);
      });
      // Words last: plotly asks for sizes, and would have the page laid out for them first.
      announce(state.text, goal);
      await Promise.all(drawing);
      margins = panels.map((panel) => panel._fullLayout._size);
      if (mine === round) root.dataset.state = i;
    }
    /* At once, and what comes before the next frame together in that frame. */
    let waiting = false, due = false;
    const go = () => {
      if (!due) return waiting = false;
      due = false;
      draw().catch(failed(root));
      requestAnimationFrame(go);
    };
    const later = () => {
      due = true;
      if (!waiting) queueMicrotask(go);
      waiting = true;
    };
    const updateValueText = (el) => {
      if (el.type !== "range") return;
      const valueText = texts(el)[el.value];
      el.setAttribute("aria-valuetext", valueText);
      write(el.nextElementSibling, valueText);
    };
    for (const el of inputs) {
      el.addEventListener("input", () => {
        later();
        remember(root);
      });
    }
    restore(root, () => {}); // drawn below
    addEventListener("hashchange", () => restore(root, later));
    for (const button of root.querySelectorAll(".ln-play")) player(button, text, later);
    numbers.addEventListener("toggle", later);
    new MutationObserver(later).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new ResizeObserver(() => shrunk() !== drawnAt && later()).observe(root);
    drawers.set(root, draw);
    await draw();
    window.lnGrips?.(panels, inputs, (indices) =>
      resolve(book.states[indices.reduce((n, v, k) => n * sizes[k] + v, 0)]));
    root.dataset.ready = "yes";
  }

  /* The numbers behind the panels as tables; as in lnbook.explorer.static_html.data_tables. */
  function numbersOf({ title, data, layout }) {
    const tables = [];
    const label = (t, axis) => layout[(t[axis + "axis"] ?? axis).replace(/^([xy])/, "$1axis")]
      ?.title?.text?.replace(/^[ ←→↑↓]+|[ ←→↑↓]+$/g, "") ?? axis;
    for (const t of data) {
      const upright = t.orientation !== "h";
      const [along, across] = upright ? ["x", "y"] : ["y", "x"];
      const values = t.z ?? t[across];
      if (!values?.length || (t.hoverinfo === "skip" && !("name" in t))) continue;
      if (t.z) {
        const x = t.x ?? t.z[0].map((_, j) => j), y = t.y ?? t.z.map((_, i) => i);
        const sides = ["y", "x"].map((axis) => label(t, axis));
        const corner = sides.filter((side) => !"yx".includes(side)).join(" \\ ") || "y \\ x";
        tables.push({ caption: t.name ?? title, columns: [corner, ...x],
          rows: t.z.map((row, i) => [y[i], ...row]) });
        continue;
      }
      const positions = t[along] ?? values.map((_, i) => i), name = t.name ?? label(t, across);
      const here = (_, i) => positions[i] !== null; // a point at no place only breaks the line
      const present = positions.filter(here), heights = values.filter(here);
      const key = JSON.stringify(present), same = tables.find((table) => table.key === key);
      if (same) {
        same.columns.push(name);
        same.rows.forEach((row, i) => row.push(heights[i]));
      } else {
        tables.push({ key, caption: title, columns: [label(t, along), name],
          rows: heights.map((v, i) => [present[i], v]) });
      }
    }
    const oneLine = (name) => (typeof name === "string" ? name.replaceAll("<br>", " ") : name);
    return tables.map((table) => ({ ...table, columns: table.columns.map(oneLine),
      rows: table.rows.map(([first, ...rest]) => [oneLine(first), ...rest]) }));
  }
  function tabulate(room, panels) {
    const made = (tag, text, attributes = {}) =>
      Object.assign(document.createElement(tag), { textContent: text ?? "", ...attributes });
    room.replaceChildren(...panels.flatMap(numbersOf).map(({ caption, columns, rows }) => {
      const table = made("table"), head = made("tr"), body = made("tbody");
      head.append(...columns.map((c) => made("th", c, { scope: "col" })));
      body.append(...rows.map(([first, ...rest]) => {
        const row = made("tr");
        row.append(made("th", first, { scope: "row" }), ...rest.map((v) => made("td", v ?? "–")));
        return row;
      }));
      const thead = made("thead");
      thead.append(head);
      table.append(...(caption ? [made("caption", caption)] : []), thead, body);
      return table;
    }));
  }

  /* A button that steps its slider to the end; the sentence is not read out meanwhile.
     Where the reader asks for less motion, a press is one step. */
  function player(button, text, moved) {
    const slider = button.nextElementSibling, name = button.getAttribute("aria-label").slice(6);
    let timer = 0;
    const nameIt = () => {
      if (timer) return;
      button.textContent = calm.matches ? "❯" : "▶";
      button.setAttribute("aria-label", (calm.matches ? "Next: " : "Play: ") + name);
    };
    calm.addEventListener("change", nameIt);
    nameIt();
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      nameIt();
      text.setAttribute("aria-live", "polite");
    };
    const to = (value) => {
      slider.value = value;
      moved(slider);
      remember(slider.closest(".ln-explorer"));
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (calm.matches) return to(slider.value === slider.max ? 0 : Number(slider.value) + 1);
      if (slider.value === slider.max) to(0);
      text.setAttribute("aria-live", "off");
      button.textContent = "❚❚";
      button.setAttribute("aria-label", "Pause: " + name);
      timer = setInterval(() => {
        to(Number(slider.value) + 1);
        if (slider.value === slider.max) stop();
      }, STEP);
    });
    slider.addEventListener("input", () => timer && stop());
  }

  /* Why nothing moves; the still, if it is there, and the sentence are those of the start. */
  const sentences = new WeakMap();
  const failed = (root) => (error) => {
    root.dataset.ready = "failed";
    root.querySelector(".ln-controls")?.setAttribute("hidden", "");
    root.querySelector(".ln-panels").hidden = !root.querySelector(".ln-still");
    root.querySelector(".ln-text").textContent = sentences.get(root)
      + " (This is the start. The controls cannot work here: " + error.message + ".)";
  };

  /* MathJax, held back in the page's head, is as much work for line and browser as a figure. */
  function typeset() {
    for (const held of document.querySelectorAll("script[type='text/later']")) {
      const script = document.createElement("script");
      script.src = held.src;
      held.replaceWith(script);
    }
  }

  function find() {
    const roots = [...document.querySelectorAll(".ln-explorer")];
    roots.forEach((root) => sentences.set(root, root.querySelector(".ln-text").textContent));
    const go = (root) => start(root).catch(failed(root));
    const near = new IntersectionObserver((entries) => entries.forEach((e) => {
      if (e.isIntersecting) { near.unobserve(e.target); go(e.target); }
    }), { rootMargin: REACH + "px" });
    // The observer first speaks when the page has come to rest, and the first figure is awaited:
    // at the top of the page, or where a link into it leads.
    const target = document.getElementById(lnAddress.first() ?? "");
    if (target?.matches(".ln-explorer")) target.scrollIntoView();
    const from = target ? target.getBoundingClientRect().top : 0;
    const inReach = (root) => {
      const { top, bottom } = root.getBoundingClientRect();
      const isUnfolded = bottom > top; // not in a part that is folded away
      return isUnfolded && top - from < innerHeight + REACH && bottom - from > -REACH;
    };
    const first = roots.filter(inReach);
    roots.forEach((root) => first.includes(root) || near.observe(root));
    const loaded = document.readyState === "complete" ? null
      : new Promise((done) => addEventListener("load", done));
    Promise.all([loaded, ...first.map(go)]).then(() => requestAnimationFrame(() => setTimeout(typeset)));
    // Those further down when there is time, so that scrolling and paper find them drawn.
    const idle = window.requestIdleCallback ?? ((f) => setTimeout(f, 200));
    const rest = () => {
      const root = roots.find((r) => !r.dataset.ready);
      if (root) go(root).finally(() => idle(rest));
    };
    addEventListener("load", () => setTimeout(() => idle(rest), 1500));
    addEventListener("beforeprint", () => roots.forEach((root) => (drawers.get(root) ?? go)(root)));
  }
  if (document.readyState !== "loading") find();
  else document.addEventListener("readystatechange", find, { once: true });
})();
