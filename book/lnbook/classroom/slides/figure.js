/* A figure alone on its page, in a slide: as light or dark as the deck, which is told how much room
   it takes and which keys it did not need. From a folder, where pages may only send each other messages. */
(() => {
  "use strict";
  const html = document.documentElement;
  const MOVES = ["PageUp", "PageDown"]; // of a clicker: never the figure's
  const send = (message) => parent.postMessage(message, "*");

  html.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  addEventListener("message", ({ data }) => { if (data?.lnTheme && data.lnTheme !== html.dataset.theme) html.dataset.theme = data.lnTheme; });

  const control = (e) => e.target.closest?.(
    "input, select, textarea, button, summary, a[href], [tabindex], [contenteditable]");
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "Escape" && control(e)) return document.activeElement.blur(); // its arrows are free
    if (control(e) && !MOVES.includes(e.key)) return;
    e.preventDefault();
    send(JSON.stringify({ method: "triggerKey", args: [e.keyCode] })); // to reveal.js
  }, true);

  /* How high the figure is at each width: what a script draws is as high as it is drawn. */
  const WIDTHS = [700, 800, 900, 1000, 1100, 1200, 1300, 1400]; // pixels
  const drawn = () => new Promise((done) => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 40)), 0));
  addEventListener("DOMContentLoaded", () => {
    const figure = document.querySelector("article");
    let state = "new";
    async function measure() {
      state = "busy";
      const sizes = [];
      for (const width of WIDTHS) {
        figure.style.width = `${width}px`;
        await drawn();
        sizes.push([width, figure.offsetHeight]);
      }
      figure.style.width = "";
      state = "known";
      send({ lnSizes: sizes });
    }
    const reportSize = () => {
      const ready = figure.querySelector('[data-ready="yes"], [data-ready="failed"]');
      if (!ready || !figure.offsetHeight || state === "busy") return; // offsetHeight: if it is shown
      if (state === "new") measure();
      else send({ lnSizes: [[figure.offsetWidth, figure.offsetHeight]] });
    };
    new ResizeObserver(reportSize).observe(figure);
    new MutationObserver((changes, observer) => {
      reportSize();
      if (state !== "new") observer.disconnect();
    }).observe(figure, { attributeFilter: ["data-ready"], childList: true, subtree: true });
  });
})();
