/* Static explorers in the built book: decompress the precomputed states, and draw the selected one
   when a control changes. Works without a kernel, without a network and from file://. */
(() => {
  "use strict";
  const STATIC_URL = document.currentScript.src.replace(/[^/]*\/[^/]*$/, "");
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const PLAY_INTERVAL_MS = 400;
  const PRELOAD_MARGIN_PX = 400; // figures are drawn when they are this close to the window

  const load = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = STATIC_URL + name;
    script.onload = resolve;
    script.onerror = () => reject(new Error("the file " + script.src + " is missing"));
    document.head.append(script);
  });
  let plotly; // a promise, so that the script is loaded once
  const loadPlotly = () => (plotly ??= load("plotly/plotly.min.js").then(() => window.Plotly));

  /* The states of an explorer are in a separate script, or in the page if a notebook was exported. */
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

  /* {"$": i} refers to pool[i]. States share the referenced objects and arrays. */
  function resolver(pool) {
    const resolved = [];
    const resolve = (v) => {
      if (Array.isArray(v)) return v.some((x) => x && typeof x === "object") ? v.map(resolve) : v;
      if (!v || typeof v !== "object") return v;
      if ("$" in v) return (resolved[v.$] ??= resolve(pool[v.$]));
      return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, resolve(x)]));
    };
    return resolve;
  }

  /* Colors are read from the CSS variables of the page. They are cached for each theme, because
     getComputedStyle makes the browser recalculate styles. */
  const themes = new Map();
  function theme() {
    const name = document.documentElement.dataset.theme;
    if (!themes.has(name)) {
      const css = getComputedStyle(document.documentElement);
      const v = (variable) => css.getPropertyValue(variable).trim();
      const pairs = v("--ln-swap").matchAll(/([^\s"=]+)=([^\s"]+)/g);
      themes.set(name, { plotlyTemplate: template(v), recolored: new WeakMap(),
        darkColors: new Map([...pairs].map(([, light, dark]) => [light, dark])) });
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
      ticklabeloverflow: "allow" }; // automargin reserves the space, so plotly need not measure
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

  /* Figures have the colors of a light page, which are replaced on a dark one. The results are
     cached, so that a panel that several states share is the same object and is not drawn again. */
  function replaceColors(panel) {
    const { darkColors, recolored } = theme();
    if (!recolored.has(panel)) {
      recolored.set(panel, withCursor(!darkColors.size ? panel : JSON.parse(JSON.stringify(panel).replace(
        /#[0-9a-f]{6}\b|rgba\([\d,]+(?=,)/g, (color) => darkColors.get(color) ?? color))));
    }
    return recolored.get(panel);
  }

  /* The fragment of the URL has the state of each explorer that was changed, the latest one first. */
  const SAVE_DELAY_MS = 300; // browsers limit how often the URL may change
  const controlName = (el) => el.id.replace(/^explorer-\d+-/, "");
  const texts = (el) => el.options ? [...el.options].map((o) => o.textContent)
    : JSON.parse(el.dataset.texts);
  const controls = (root) => [...root.querySelectorAll(".ln-controls :is(input, select)")];
  const initialIndex = (el) => el.options
    ? Math.max(0, [...el.options].findIndex((o) => o.defaultSelected)) : Number(el.defaultValue);
  /* Set the controls to the values in the URL, or to their initial values if it has none or a wrong
     one. `onChange` is called for each control that changes. */
  function restore(root, onChange) {
    const state = lnAddress.read().get(root.id);
    for (const el of state ? controls(root) : []) {
      const known = texts(el).indexOf(state.get(controlName(el))),
        index = known < 0 ? initialIndex(el) : known;
      if (index === Number(el.value)) continue;
      el.value = index;
      onChange(el);
    }
  }
  const saveTimers = new Map(); // by explorer
  function saveState(root) {
    clearTimeout(saveTimers.get(root));
    saveTimers.set(root, setTimeout(() => {
      const changed = controls(root).filter((el) => Number(el.value) !== initialIndex(el));
      lnAddress.save(root.id, changed.map((el) => [controlName(el), texts(el)[Number(el.value)]]));
    }, SAVE_DELAY_MS));
  }

  /* On a narrow panel, the x axis only has as many labels as fit; plotly would rotate them. */
  const NARROW_PX = 420, CHAR_PX = 7, X_MARGINS_PX = 66;
  const tickText = (v) => (typeof v === "number" ? String(v).replaceAll("-", "−") : v);
  const tickTexts = (axis) => axis.ticktext ?? axis.tickvals.map(tickText);
  function fewerTicks(axis, width) {
    if (axis.type === "category" || axis.tickangle) return axis;
    if (!axis.tickvals) {
      const last = Math.round(axis.range?.[1] ?? 0).toLocaleString("en").length * CHAR_PX;
      return { nticks: last < width / 4 ? 4 : 3, tickangle: 0, ...axis };
    }
    const names = tickTexts(axis);
    const labeled = names.flatMap((name, k) => (name ? [k] : []));
    const longest = Math.max(...names.map((name) => name.length)) * CHAR_PX;
    if (longest < 0.85 * width / (labeled.length - 1)) return axis;
    const kept = labeled.filter((_, i) => i % 2 === 0);
    return { tickangle: 0, ...axis, ticktext: names.map((name, k) => (kept.includes(k) ? name : "")) };
  }
  /* On a phone, a panel has a smaller height than its layout. Labels at the ends of lines are moved
     apart, and y ticks that would overlap are left out. */
  const Y_MARGINS_PX = 66, LABEL_LINE_PX = 15, MIN_TICK_DISTANCE_PX = 13;
  function fitLayout(layout, scale, width) {
    const own = structuredClone(layout), share = scale < 1 ? layout.meta?.phone ?? 1 : 1;
    if (width < NARROW_PX && own.xaxis)
      own.xaxis = fewerTicks(own.xaxis, width - X_MARGINS_PX - (own.margin?.r ?? 0));
    own.height = layout.height * scale * share;
    if (own.height >= layout.height) return own;
    const height = own.height - Y_MARGINS_PX, axis = own.yaxis ?? {};
    const toPixels = (y) => (y - axis.range[0]) / (axis.range[1] - axis.range[0]) * height;
    if (!axis.range || axis.domain) return own;
    if (axis.tickvals) {
      const tickPosition = (k) =>
        toPixels(axis.type === "log" ? Math.log10(axis.tickvals[k]) : axis.tickvals[k]);
      const visibleTicks = [];
      for (const k of [...axis.tickvals.keys()].sort((j, k) => tickPosition(k) - tickPosition(j))) {
        if (!visibleTicks.length || tickPosition(visibleTicks.at(-1)) - tickPosition(k) >= MIN_TICK_DISTANCE_PX)
          visibleTicks.push(k);
      }
      const names = tickTexts(axis);
      axis.ticktext = visibleTicks.map((k) => names[k]);
      axis.tickvals = visibleTicks.map((k) => axis.tickvals[k]);
    }
    const labels = (own.annotations ?? []).filter((a) => a.xanchor === "left" && "yshift" in a);
    const half = labels.map((a) => LABEL_LINE_PX * a.text.split("<br>").length / 2); // half heights
    const positions = labels.map((a) => Math.max(0, Math.min(height, toPixels(a.y))));
    const order = [...labels.keys()].sort((j, k) => labels[j].y - labels[k].y
      || labels[j].yshift - labels[k].yshift);
    const moved = [];
    let bottom = 0; // upwards, each label above the previous one; then downwards from the top
    for (const k of order) bottom = (moved[k] = Math.max(positions[k], bottom + half[k])) + half[k];
    let top = height;
    for (const k of order.reverse()) top = (moved[k] = Math.min(moved[k], top - half[k])) - half[k];
    labels.forEach((a, k) => a.yshift = Math.round(moved[k] - positions[k]));
    return own;
  }

  /* Plotly only draws what has changed, and then loses the automatic range of an axis. A template
     that is a new object makes it draw everything again. */
  const hasRanges = (layout) => ["xaxis", "yaxis", ...Object.keys(layout)].every((key) =>
    !/^[xy]axis\d*$/.test(key) || layout[key]?.range);
  /* Most steps of a slider only move points, lines and bars. `Plotly.animate` takes half the time of
     `Plotly.react` for them. */
  const ANIMATED_KEYS = new Set(["x", "y", "base", "text", "hovertext", "customdata"]);
  const FRAME = { frame: { duration: 0, redraw: false }, transition: { duration: 0 }, mode: "immediate" };
  const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
  const canAnimate = (before, after) => hasRanges(after.layout) && same(before.layout, after.layout)
    && before.data.length === after.data.length && after.data.every((trace, k) => {
      const old = before.data[k], keys = Object.keys(trace);
      return ["scatter", "bar"].includes(trace.type) && keys.length === Object.keys(old).length
        && keys.every((key) => key in old && (ANIMATED_KEYS.has(key) || same(old[key], trace[key])));
    });
  /* A vertical line that marks the value of a slider becomes a trace, because shapes do not animate. */
  function withCursor({ data, layout, ...rest }) {
    const { shapes = [], ...others } = layout, { range, type } = layout.yaxis ?? {};
    const isFullHeight = ({ x0, x1, yref, xref, layer }) => x0 === x1 && yref === "paper" && !xref && !layer;
    if (!shapes.length || !hasRanges(layout) || !shapes.every(isFullHeight)) return { data, layout, ...rest };
    const y = range.map((v) => (type === "log" ? 10 ** v : v));
    const lines = shapes.map(({ x0, line, opacity = 1 }) => ({ type: "scatter", mode: "lines",
      x: [x0, x0], y, line, opacity, meta: "cursor", hoverinfo: "skip", showlegend: false }));
    return { data: [...data, ...lines], layout: others, ...rest };
  }
  const CONFIG = { responsive: true, displayModeBar: false, doubleClick: false };
  const drawFunctions = new WeakMap(); // by explorer, once it has started
  async function start(root) {
    if (root.dataset.ready) return;
    root.dataset.ready = "loading";
    const sizes = JSON.parse(root.dataset.sizes);
    const inputs = controls(root);
    const panels = [...root.querySelectorAll(".ln-panel")];
    const titles = [...root.querySelectorAll(".ln-panel-title")];
    const text = root.querySelector(".ln-text");
    const numbers = root.querySelector(".ln-numbers");
    const [Plotly, data] = await Promise.all([loadPlotly(), packed(root).then(unpack)]);
    const resolve = resolver(data.pool);

    const phoneScale = () => Number(getComputedStyle(panels[0]).getPropertyValue("--ln-now"));
    let drawnScale = 1;
    const setText = (el, value) => { if (el.textContent !== value) el.textContent = value; };
    function updateTexts(sentence, panelSpecs) {
      inputs.forEach(updateValueText);
      panelSpecs.forEach(({ title }, k) => setText(titles[k], title));
      setText(text, sentence);
      if (numbers.open) tabulate(numbers.lastElementChild, panelSpecs);
    }
    let latestDraw = 0;
    let drawn = [], drawnTemplate; // the panels as drawn last
    /* The largest margins so far. They never shrink, so that the figure does not move, and plotly
       does not have to draw it twice to enlarge them. */
    let margins = [], width;
    const grownMargins = (k, own) => Object.fromEntries(Object.entries({ ...MARGIN, ...own }).map(
      ([side, size]) => [side, Math.max(size, margins[k]?.[side] ?? 0)]));
    /* Draw the panels that differ from the previous state, without animation in between, which would
       be too slow on a phone. */
    async function draw() {
      const thisDraw = ++latestDraw;
      const i = inputs.reduce((n, el, k) => n * sizes[k] + Number(el.value), 0);
      const state = resolve(data.states[i]), panelSpecs = state.panels.map(replaceColors);
      const { plotlyTemplate } = theme(), scale = phoneScale();
      const panelWidth = panels[0].clientWidth; // read once, because it triggers a layout
      const resized = scale !== drawnScale || panelWidth !== width;
      if (plotlyTemplate !== drawnTemplate || resized) drawn = [];
      if (resized) margins = [];
      [drawnTemplate, drawnScale, width] = [plotlyTemplate, scale, panelWidth];
      const drawing = panelSpecs.map((panel, k) => {
        const before = drawn[k], { data, layout } = drawn[k] = panel;
        if (panel === before) return null;
        const traces = data.map((trace) => ({ ...trace }));
        if (before && canAnimate(before, panel)) {
          return Plotly.animate(panels[k], { data: traces, traces: [...traces.keys()] }, FRAME)
            .catch((error) => { if (error) throw error; }); // without an error: interrupted by a later call
        }
        panels[k].querySelector(".ln-still")?.remove();
        return Plotly.react(panels[k], traces,
          { ...fitLayout(layout, drawnScale, panelWidth), margin: grownMargins(k, layout.margin),
            autosize: true, // measures the panel again
            template: hasRanges(layout) ? plotlyTemplate : { ...plotlyTemplate } },
          panels[k].data ? undefined : CONFIG);
      });
      // Texts are set last, because plotly reads sizes, which would trigger another layout.
      updateTexts(state.text, panelSpecs);
      await Promise.all(drawing);
      margins = panels.map((panel) => panel._fullLayout._size);
      if (thisDraw === latestDraw) root.dataset.state = i;
    }
    /* Draw at once, and at most once per frame. */
    let isScheduled = false, isDue = false;
    const drawIfDue = () => {
      if (!isDue) return isScheduled = false;
      isDue = false;
      draw().catch(showError(root));
      requestAnimationFrame(drawIfDue);
    };
    const scheduleDraw = () => {
      isDue = true;
      if (!isScheduled) queueMicrotask(drawIfDue);
      isScheduled = true;
    };
    const updateValueText = (el) => {
      if (el.type !== "range") return;
      const valueText = texts(el)[el.value];
      el.setAttribute("aria-valuetext", valueText);
      setText(el.nextElementSibling, valueText);
    };
    for (const el of inputs) {
      el.addEventListener("input", () => {
        scheduleDraw();
        saveState(root);
      });
    }
    restore(root, () => {}); // drawn below
    addEventListener("hashchange", () => restore(root, scheduleDraw));
    for (const button of root.querySelectorAll(".ln-play")) setUpPlayButton(button, text, scheduleDraw);
    numbers.addEventListener("toggle", scheduleDraw);
    new MutationObserver(scheduleDraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new ResizeObserver(() => { // of the window, or of the article if a list beside it is closed
      const { clientWidth } = panels[0];
      if (phoneScale() !== drawnScale || (clientWidth && clientWidth !== width)) scheduleDraw();
    }).observe(root);
    drawFunctions.set(root, draw);
    await draw();
    window.lnResizeHandles?.(panels, inputs, (indices) =>
      resolve(data.states[indices.reduce((n, v, k) => n * sizes[k] + v, 0)]));
    root.dataset.ready = "yes";
  }

  /* The numbers of a panel as tables, as in lnbook.explorer.static_html.data_tables. */
  function dataTables({ title, data, layout }) {
    const tables = [];
    const label = (t, axis) => layout[(t[axis + "axis"] ?? axis).replace(/^([xy])/, "$1axis")]
      ?.title?.text?.replace(/^[ ←→↑↓]+|[ ←→↑↓]+$/g, "") ?? axis;
    const named = (t, axis) => t.meta?.[axis] ?? t[axis]; // names of the positions, or the positions
    for (const t of data) {
      const isVertical = t.orientation !== "h";
      const [along, across] = isVertical ? ["x", "y"] : ["y", "x"];
      const values = t.z ?? t[across];
      if (!values?.length || (t.hoverinfo === "skip" && !("name" in t))) continue;
      if (t.z) {
        const x = named(t, "x") ?? t.z[0].map((_, j) => j + 1), y = named(t, "y") ?? t.z.map((_, i) => i + 1);
        const axisTitles = ["y", "x"].map((axis) => label(t, axis));
        const corner = axisTitles.filter((axisTitle) => !"yx".includes(axisTitle)).join(" \\ ") || "y \\ x";
        tables.push({ caption: t.name ?? title, columns: [corner, ...x],
          rows: t.z.map((row, i) => [y[i], ...row]) });
        continue;
      }
      const positions = named(t, along) ?? values.map((_, i) => i), name = t.name ?? label(t, across);
      const shown = t.meta?.values ?? values; // where the points are not drawn at their values
      const isPoint = (_, i) => positions[i] !== null; // a missing position breaks the line
      const present = positions.filter(isPoint), heights = shown.filter(isPoint);
      const key = JSON.stringify(present), same = tables.find((table) => table.key === key);
      if (same) {
        const edge = same.columns.indexOf(`${name}, lower edge`); // a line stands before the edges of its band
        const column = edge < 0 ? same.columns.length : edge;
        same.columns.splice(column, 0, name);
        same.rows.forEach((row, i) => row.splice(column, 0, heights[i]));
      } else {
        const first = label(t, along), isText = typeof present[0] === "string";
        tables.push({ key, caption: title, columns: [first === along && isText ? "item" : first, name],
          rows: heights.map((v, i) => [present[i], v]) });
      }
    }
    const oneLine = (name) =>
      typeof name === "string" ? name.replaceAll("<br>", " ").replace(/<\/?b>/g, "") : name;
    return tables.map((table) => ({ ...table, columns: table.columns.map(oneLine),
      rows: table.rows.map(([first, ...rest]) => [oneLine(first), ...rest]) }));
  }
  function tabulate(container, panels) {
    const create = (tag, text, attributes = {}) =>
      Object.assign(document.createElement(tag), { textContent: text ?? "", ...attributes });
    container.replaceChildren(...panels.flatMap(dataTables).map(({ caption, columns, rows }) => {
      const table = create("table"), head = create("tr"), body = create("tbody");
      head.append(...columns.map((c) => create("th", c, { scope: "col" })));
      body.append(...rows.map(([first, ...rest]) => {
        const row = create("tr");
        row.append(create("th", first, { scope: "row" }), ...rest.map((v) => create("td", v ?? "–")));
        return row;
      }));
      const thead = create("thead");
      thead.append(head);
      table.append(...(caption ? [create("caption", caption)] : []), thead, body);
      return table;
    }));
  }

  /* A button that moves its slider to the end; meanwhile, a screen reader does not read the text.
     If the reader prefers reduced motion, each click is one step. */
  function setUpPlayButton(button, text, onChange) {
    const slider = button.nextElementSibling, name = button.getAttribute("aria-label").slice(6);
    let timer = 0;
    const updateLabel = () => {
      if (timer) return;
      button.textContent = reducedMotion.matches ? "❯" : "▶";
      button.setAttribute("aria-label", (reducedMotion.matches ? "Next: " : "Play: ") + name);
    };
    reducedMotion.addEventListener("change", updateLabel);
    updateLabel();
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      updateLabel();
      text.setAttribute("aria-live", "polite");
    };
    const setValue = (value) => {
      slider.value = value;
      onChange(slider);
      saveState(slider.closest(".ln-explorer"));
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (reducedMotion.matches) return setValue(slider.value === slider.max ? 0 : Number(slider.value) + 1);
      if (slider.value === slider.max) setValue(0);
      text.setAttribute("aria-live", "off");
      button.textContent = "❚❚";
      button.setAttribute("aria-label", "Pause: " + name);
      timer = setInterval(() => {
        setValue(Number(slider.value) + 1);
        if (slider.value === slider.max) stop();
      }, PLAY_INTERVAL_MS);
    });
    slider.addEventListener("input", () => timer && stop());
  }

  /* Show the error next to the initial state. */
  const initialTexts = new WeakMap();
  const showError = (root) => (error) => {
    root.dataset.ready = "failed";
    root.querySelector(".ln-controls")?.setAttribute("hidden", "");
    root.querySelector(".ln-panels").hidden = !root.querySelector(".ln-still");
    root.querySelector(".ln-text").textContent = initialTexts.get(root)
      + " (This is the start. The controls cannot work here: " + error.message + ".)";
  };

  /* Start MathJax, which the head of the page defers, because it takes as long as a figure. */
  function loadMathJax() {
    for (const placeholder of document.querySelectorAll("script[type='text/later']")) {
      const script = document.createElement("script");
      script.src = placeholder.src;
      placeholder.replaceWith(script);
    }
  }

  function setUp() {
    const roots = [...document.querySelectorAll(".ln-explorer")];
    roots.forEach((root) => initialTexts.set(root, root.querySelector(".ln-text").textContent));
    const go = (root) => start(root).catch(showError(root));
    const observer = new IntersectionObserver((entries) => entries.forEach((e) => {
      if (e.isIntersecting) { observer.unobserve(e.target); go(e.target); }
    }), { rootMargin: PRELOAD_MARGIN_PX + "px" });
    // The observer first reports after the page is loaded. The figures at the top of the page, or at
    // the target of the URL, are started before.
    const target = document.getElementById(lnAddress.first() ?? "");
    if (target?.matches(".ln-explorer")) target.scrollIntoView();
    const offset = target ? target.getBoundingClientRect().top : 0;
    const inReach = (root) => {
      const { top, bottom } = root.getBoundingClientRect();
      const isVisible = bottom > top; // not in a closed <details>
      return isVisible && top - offset < innerHeight + PRELOAD_MARGIN_PX && bottom - offset > -PRELOAD_MARGIN_PX;
    };
    const first = roots.filter(inReach);
    roots.forEach((root) => first.includes(root) || observer.observe(root));
    const loaded = document.readyState === "complete" ? null
      : new Promise((done) => addEventListener("load", done));
    Promise.all([loaded, ...first.map(go)]).then(() => requestAnimationFrame(() => setTimeout(loadMathJax)));
    // The other figures are drawn when the browser is idle, before the reader scrolls or prints.
    const idle = window.requestIdleCallback ?? ((f) => setTimeout(f, 200));
    const startNext = () => {
      const root = roots.find((r) => !r.dataset.ready);
      if (root) go(root).finally(() => idle(startNext));
    };
    addEventListener("load", () => setTimeout(() => idle(startNext), 1500));
    addEventListener("beforeprint", () => roots.forEach((root) => (drawFunctions.get(root) ?? go)(root)));
  }
  if (document.readyState !== "loading") setUp();
  else document.addEventListener("readystatechange", setUp, { once: true });
})();
