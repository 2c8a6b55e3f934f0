/* The diagrams answer to pointer and keyboard. All that is said and lit comes from Python. */
function lnDiagram(root) {
  "use strict";
  const statusElement = root.querySelector(".ln-diagram-said");

  function cube() {
    const data = JSON.parse(root.querySelector(".ln-diagram-data").textContent);
    const [N, C, P] = data.shape, chosen = [...data.start];
    const labels = [...root.querySelectorAll(".ln-diagram-norm")];
    const inputs = labels.map((label) => label.querySelector("input"));
    const large = root.querySelector(".ln-diagram-large");
    const cellIndex = ([i, c, p]) => (i * C + c) * P + p;
    const slab = C * P, cells = [...large.querySelectorAll("g .ln-diagram-cell")]; // the last example first
    const paths = cells.map((_, k) => cells[(N - 1 - Math.floor(k / slab)) * slab + (k % slab)]);
    const outline = (k) => paths[k].getAttribute("d");

    function light(svg, norm) {
      const set = data.sets[norm], mine = set[cellIndex(chosen)];
      const together = [...set.keys()].filter((k) => set[k] === mine);
      const joined = together.at(-1) - together[0] >= slab; // examples share a mean
      svg.querySelector(".lit").setAttribute("d", together.map(outline).join(""));
      svg.querySelector(".mark").setAttribute("d", outline(cellIndex(chosen)));
      svg.querySelectorAll(".beam").forEach((beam, k) => {
        beam.setAttribute("d", joined ? data.beams[k][chosen[1]] : "");
      });
    }
    function sentence(norm) {
      const [example, channel, position] = chosen.map((k) => k + 1);
      const size = C / data.groups[norm], first = Math.floor(chosen[1] / size) * size + 1;
      const values = { example, channel, position, first, last: first + size - 1 };
      return data.says[norm].replace(/\{(\w+)\}/g, (_, name) => values[name]);
    }
    function draw() {
      const norm = inputs.findIndex((input) => input.checked);
      large.style.setProperty("--tone", labels[norm].style.getPropertyValue("--tone"));
      light(large, norm);
      labels.forEach((label, k) => {
        light(label, k);
        label.querySelector(".ln-diagram-says").textContent = sentence(k).replace(/^[^:]*: /, "");
      });
      statusElement.textContent = sentence(norm);
    }
    function choose(...cell) {
      chosen.splice(0, 3, ...cell);
      draw();
    }
    paths.forEach((cell, k) => {
      const index = [Math.floor(k / (C * P)), Math.floor(k / P) % C, k % P];
      for (const event of ["pointerenter", "click"]) {
        cell.addEventListener(event, () => choose(...index));
      }
    });
    const steps = {
      ArrowLeft: [1, -1], ArrowRight: [1, 1], ArrowUp: [2, -1], ArrowDown: [2, 1],
      PageUp: [0, -1], PageDown: [0, 1],
    };
    large.addEventListener("keydown", (event) => {
      if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const [axis, delta] = steps[event.key], next = [...chosen];
      next[axis] += delta;
      if (axis === 1 && (next[1] < 0 || next[1] >= C)) { // on to the next slab
        next[0] += delta;
        next[1] = (next[1] + C) % C;
      }
      if (next.every((k, a) => k >= 0 && k < data.shape[a])) choose(...next);
    });
    inputs.forEach((input) => input.addEventListener("change", draw));
    draw();
  }

  function flow() {
    const whole = statusElement.innerHTML;
    const lines = new Map([...root.querySelectorAll(".ln-diagram-parts li")]
      .map((line) => [line.dataset.part, line.innerHTML]));
    root.classList.add("ln-diagram-live");
    for (const svg of root.querySelectorAll("svg")) {
      const boxes = [...svg.querySelectorAll(".box[data-part]")];
      // One picture until here; now a box is read aloud as its line is, subscripts apart.
      svg.setAttribute("role", "group");
      for (const part of svg.children) part.setAttribute("aria-hidden", !boxes.includes(part));
      for (const box of boxes) {
        const line = lines.get(box.dataset.part).replace(/<sub>/g, " ").replace(/<[^>]+>/g, "");
        box.setAttribute("role", "img");
        box.setAttribute("aria-label", line);
      }
      function show(box) {
        for (const sibling of boxes) {
          sibling.classList.toggle("on", sibling === box);
          sibling.setAttribute("tabindex", sibling === (box ?? boxes[0]) ? 0 : -1);
        }
        for (const wire of svg.querySelectorAll("[data-to]")) {
          wire.classList.toggle("on", wire.dataset.to === box?.dataset.part);
        }
        statusElement.innerHTML = box ? lines.get(box.dataset.part) : whole;
      }
      boxes.forEach((box, k) => {
        box.addEventListener("pointerenter", () => show(box));
        box.addEventListener("focus", () => show(box));
        box.addEventListener("click", () => box.focus());
        box.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          const to = { Home: 0, End: boxes.length - 1 }[event.key] ?? (step && k + step);
          if (to === undefined) return;
          event.preventDefault();
          boxes[Math.min(Math.max(to, 0), boxes.length - 1)].focus();
        });
      });
      svg.addEventListener("pointerleave", () => {
        show(boxes.find((box) => box === document.activeElement));
      });
      svg.addEventListener("focusout", (event) => svg.contains(event.relatedTarget) || show());
      show();
    }
  }

  async function residualStream() {
    const packed = atob(root.querySelector(".ln-diagram-data").textContent);
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = JSON.parse(await new Response(stream).text());
    const [placements, starts] = [...root.querySelectorAll(".ln-diagram-chips")]
      .map((set) => [...set.querySelectorAll("input")]);
    const svgs = [...root.querySelectorAll("svg")];
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    const value = (inputs) => inputs.find((input) => input.checked).value;
    const numbers = (path) => path.match(/-?[\d.]+/g).map(Number);
    let shown = null, going = 0;

    // Every state has the same shapes: what lies between two of them is a mean of their numbers.
    function between(from, to, share) {
      const mean = (a, b) => (typeof b === "number" ? a + share * (b - a) : b);
      const lists = (key) => to[key].map((list, k) => list.map((b, i) => mean(from[key][k][i], b)));
      const [a, b] = [numbers(from.outline), numbers(to.outline)];
      let k = 0;
      return {
        outline: to.outline.replace(/-?[\d.]+/g, () => mean(a[k], b[k++]).toFixed(1)),
        rects: lists("rects"), circles: lists("circles"), texts: lists("texts"),
      };
    }
    function draw(shapes) {
      svgs.forEach((svg, k) => {
        svg.querySelector(".stream").setAttribute("d", shapes[k].outline);
        const set = (selector, lists, names) => svg.querySelectorAll(selector).forEach((el, i) => {
          names.forEach((name, n) => el.setAttribute(name, lists[i][n]));
        });
        set(":is(.norm, .bar)", shapes[k].rects, ["x", "y", "width", "height", "opacity"]);
        set("circle", shapes[k].circles, ["cx", "cy", "opacity"]);
        set(".value", shapes[k].texts, ["x", "y"]);
        svg.querySelectorAll(".value").forEach((el, i) => {
          el.textContent = shapes[k].texts[i][2];
        });
      });
      shown = shapes;
    }
    function change() {
      const state = data[`${value(placements)}|${value(starts)}`];
      statusElement.innerHTML = state.said;
      cancelAnimationFrame(going);
      const [from, begin, last] = [shown, performance.now(), still.matches ? 0 : 500];
      if (!from || !last) return draw(state.shapes);
      function step(now) {
        const share = Math.min(1, Math.max(0, (now - begin) / last));
        const eased = share * share * (3 - 2 * share);
        draw(state.shapes.map((to, k) => between(from[k], to, eased)));
        if (share < 1) going = requestAnimationFrame(step);
      }
      going = requestAnimationFrame(step);
    }
    for (const input of [...placements, ...starts]) input.addEventListener("change", change);
    change();
  }

  const ready = () => { root.dataset.ready = "yes"; };
  if (root.classList.contains("ln-diagram-residual-stream")) return residualStream().then(ready);
  if (root.classList.contains("ln-diagram-cube")) cube();
  if (root.classList.contains("ln-diagram-flow")) flow();
  ready();
}
