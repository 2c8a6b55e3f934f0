/* A handle for a vertical line that marks the value of a slider: dragging it moves the slider.
   Keyboards and screen readers use the slider. */
window.lnResizeHandles = (panels, inputs, state) => {
  "use strict";
  const positions = () => inputs.map((el) => Number(el.value));
  panels.forEach((panel, p) => {
    const lines = (indices) => (state(indices).panels[p].layout.shapes ?? [])
      .map((s) => (s.type === "line" && s.yref === "paper" && s.x0 === s.x1 ? s.x0 : null));
    const withValue = (k, stop) => positions().map((v, j) => (j === k ? stop : v));
    const ends = (k) => [0, Number(inputs[k].max)].map((stop) => lines(withValue(k, stop)));
    let k, i = -1; // indices of the control and of the line that it moves
    for (k = 0; k < inputs.length && i < 0; k++) {
      if (inputs[k].type !== "range") continue;
      const [first, last] = ends(k);
      i = first.findIndex((x, j) => x !== null && last[j] !== null && x !== last[j]);
    }
    if (i < 0) return;
    const control = k - 1, input = inputs[control];
    const handle = Object.assign(document.createElement("span"), { className: "ln-grip" });
    handle.ariaHidden = "true";
    panel.append(handle);
    const toPixels = (x) => {
      const { xaxis } = panel._fullLayout;
      return xaxis._offset + xaxis.d2p(x);
    };
    const updatePosition = () => {
      const x = lines(positions())[i], { _size } = panel._fullLayout;
      handle.hidden = x === null;
      if (x !== null) handle.style.translate = `${toPixels(x)}px ${_size.t}px`;
    };
    for (const event of ["plotly_afterplot", "plotly_animated"]) panel.on(event, updatePosition);
    updatePosition();
    let stops = null; // positions of the line for all values of the slider, while it is dragged
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      stops = Array.from({ length: Number(input.max) + 1 },
        (_, stop) => toPixels(lines(withValue(control, stop))[i]));
    });
    handle.addEventListener("pointermove", (event) => {
      if (!stops) return;
      const x = event.clientX - panel.getBoundingClientRect().left;
      const distances = stops.map((stop) => Math.abs(stop - x)), nearest = distances.indexOf(Math.min(...distances));
      if (nearest === Number(input.value)) return;
      input.value = nearest;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      handle.addEventListener(end, () => { stops = null; });
    }
  });
};
