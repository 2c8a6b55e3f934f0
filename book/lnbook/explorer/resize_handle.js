/* A vertical line that follows a slider has a grip: who drags it moves the slider. The slider
   stays the way for keyboard and screen reader. */
window.lnGrips = (panels, inputs, state) => {
  "use strict";
  const positions = () => inputs.map((el) => Number(el.value));
  panels.forEach((panel, p) => {
    const lines = (indices) => (state(indices).panels[p].layout.shapes ?? [])
      .map((s) => (s.type === "line" && s.yref === "paper" && s.x0 === s.x1 ? s.x0 : null));
    const set = (k, stop) => positions().map((v, j) => (j === k ? stop : v));
    const ends = (k) => [0, Number(inputs[k].max)].map((stop) => lines(set(k, stop)));
    let k, i = -1; // the control that moves a line, and which line
    for (k = 0; k < inputs.length && i < 0; k++) {
      if (inputs[k].type !== "range") continue;
      const [first, last] = ends(k);
      i = first.findIndex((x, j) => x !== null && last[j] !== null && x !== last[j]);
    }
    if (i < 0) return;
    const input = inputs[k - 1], which = k - 1;
    const grip = Object.assign(document.createElement("span"), { className: "ln-grip" });
    grip.ariaHidden = "true";
    panel.append(grip);
    const across = (x) => {
      const { xaxis } = panel._fullLayout;
      return xaxis._offset + xaxis.d2p(x);
    };
    const follow = () => {
      const x = lines(positions())[i], { _size } = panel._fullLayout;
      grip.hidden = x === null;
      if (x !== null) grip.style.translate = `${across(x)}px ${_size.t}px`;
    };
    for (const drawn of ["plotly_afterplot", "plotly_animated"]) panel.on(drawn, follow);
    follow();
    let stops = null;
    grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      grip.setPointerCapture(event.pointerId);
      stops = Array.from({ length: Number(input.max) + 1 },
        (_, stop) => across(lines(set(which, stop))[i]));
    });
    grip.addEventListener("pointermove", (event) => {
      if (!stops) return;
      const x = event.clientX - panel.getBoundingClientRect().left;
      const far = stops.map((stop) => Math.abs(stop - x)), nearest = far.indexOf(Math.min(...far));
      if (nearest === Number(input.value)) return;
      input.value = nearest;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      grip.addEventListener(end, () => { stops = null; });
    }
  });
};
