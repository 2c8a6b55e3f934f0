/* The diagrams answer to pointer and keyboard. All that is said and lit comes from Python. */
function lnDiagram(root) {
  "use strict";
  const said = root.querySelector(".lnd-said");

  function cube() {
    const data = JSON.parse(root.querySelector(".lnd-data").textContent);
    const [N, C, P] = data.shape, chosen = [...data.start];
    const labels = [...root.querySelectorAll(".lnd-norm")];
    const inputs = labels.map((label) => label.querySelector("input"));
    const large = root.querySelector(".lnd-large");
    const place = ([i, c, p]) => (i * C + c) * P + p;
    const slab = C * P, cells = [...large.querySelectorAll("g .lnd-cell")]; // the last example first
    const paths = cells.map((_, k) => cells[(N - 1 - Math.floor(k / slab)) * slab + (k % slab)]);
    const outline = (k) => paths[k].getAttribute("d");

    function light(svg, norm) {
      const set = data.sets[norm], mine = set[place(chosen)];
      const company = [...set.keys()].filter((k) => set[k] === mine);
      const joined = company.at(-1) - company[0] >= slab; // examples share a mean
      svg.querySelector(".lit").setAttribute("d", company.map(outline).join(""));
      svg.querySelector(".mark").setAttribute("d", outline(place(chosen)));
      svg.querySelectorAll(".beam").forEach((beam, k) => {
        beam.setAttribute("d", joined ? data.beams[k][chosen[1]] : "");
      });
    }
    function sentence(norm) {
      const [example, channel, position] = chosen.map((k) => k + 1);
      const size = C / data.groups[norm], first = Math.floor(chosen[1] / size) * size + 1;
      const places = { example, channel, position, first, last: first + size - 1 };
      return data.says[norm].replace(/\{(\w+)\}/g, (_, name) => places[name]);
    }
    function draw() {
      const norm = inputs.findIndex((input) => input.checked);
      large.style.setProperty("--tone", labels[norm].style.getPropertyValue("--tone"));
      light(large, norm);
      labels.forEach((label, k) => {
        light(label, k);
        label.querySelector(".lnd-says").textContent = sentence(k).replace(/^[^:]*: /, "");
      });
      said.textContent = sentence(norm);
    }
    function choose(...cell) {
      chosen.splice(0, 3, ...cell);
      draw();
    }
    paths.forEach((cell, k) => {
      const at = [Math.floor(k / (C * P)), Math.floor(k / P) % C, k % P];
      for (const event of ["pointerenter", "click"]) {
        cell.addEventListener(event, () => choose(...at));
      }
    });
    const steps = {
      ArrowLeft: [1, -1], ArrowRight: [1, 1], ArrowUp: [2, -1], ArrowDown: [2, 1],
      PageUp: [0, -1], PageDown: [0, 1],
    };
    large.addEventListener("keydown", (event) => {
      if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const [axis, by] = steps[event.key], next = [...chosen];
      next[axis] += by;
      if (axis === 1 && (next[1] < 0 || next[1] >= C)) { // on to the next slab
        next[0] += by;
        next[1] = (next[1] + C) % C;
      }
      if (next.every((k, a) => k >= 0 && k < data.shape[a])) choose(...next);
    });
    inputs.forEach((input) => input.addEventListener("change", draw));
    draw();
  }

  function flow() {
    const whole = said.innerHTML;
    const lines = new Map([...root.querySelectorAll(".lnd-parts li")]
      .map((line) => [line.dataset.part, line.innerHTML.replace(/^<span.*?<\/span>/, "")]));
    root.classList.add("lnd-live");
    for (const svg of root.querySelectorAll("svg")) {
      const boxes = [...svg.querySelectorAll(".box[data-part]")];
      function show(box) {
        for (const other of boxes) {
          other.classList.toggle("on", other === box);
          other.setAttribute("tabindex", other === (box ?? boxes[0]) ? 0 : -1);
        }
        for (const wire of svg.querySelectorAll(".wire")) {
          wire.classList.toggle("on", wire.dataset.to === box?.dataset.part);
        }
        said.innerHTML = box ? lines.get(box.dataset.part) : whole;
      }
      boxes.forEach((box, k) => {
        box.addEventListener("pointerenter", () => show(box));
        box.addEventListener("focus", () => show(box));
        box.addEventListener("click", () => box.focus());
        box.addEventListener("keydown", (event) => {
          const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          const to = { Home: 0, End: boxes.length - 1 }[event.key] ?? (by && k + by);
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

  if (root.classList.contains("lnd-cube")) cube();
  if (root.classList.contains("lnd-flow")) flow();
  root.dataset.ready = "yes";
}
