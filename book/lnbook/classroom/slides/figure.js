/* A figure alone on its page, in a slide: as light or dark as the deck, which is told how much room
   it takes and which keys it did not need. From a folder, where pages may only send each other messages. */
(() => {
  "use strict";
  const html = document.documentElement;
  const MOVES = ["PageUp", "PageDown"]; // of a clicker: never the figure's
  const tell = (message) => parent.postMessage(message, "*");

  html.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  addEventListener("message", ({ data }) => { if (data?.lnTheme) html.dataset.theme = data.lnTheme; });

  const control = (e) => e.target.closest?.(
    "input, select, textarea, button, summary, a[href], [tabindex], [contenteditable]");
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "Escape" && control(e)) return document.activeElement.blur(); // its arrows are free
    if (control(e) && !MOVES.includes(e.key)) return;
    e.preventDefault();
    tell(JSON.stringify({ method: "triggerKey", args: [e.keyCode] })); // to reveal.js
  }, true);

  const WIDTHS = [700, 800, 900, 1000, 1100, 1200, 1300, 1400]; // pixels
  addEventListener("DOMContentLoaded", () => {
    const figure = document.querySelector("article");
    const sizes = () => {
      const found = WIDTHS.map((width) => {
        figure.style.width = `${width}px`;
        return [width, figure.offsetHeight];
      });
      figure.style.width = "";
      return found;
    };
    new ResizeObserver(() => tell({ lnSizes: sizes() })).observe(figure);
  });
})();
