/* What every page has: "Show code", and a printed page that holds all of it. */
(() => {
  "use strict";
  const KEY = "ln-show-code";
  const html = document.documentElement;
  const read = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem(KEY, value); } catch { /* forbidden */ } };

  function start() {
    const cells = document.querySelectorAll("details.above-input");
    const button = document.querySelector(".ln-show-code");
    if (button && cells.length) {
      const show = (on) => {
        html.classList.toggle("ln-code", on);
        button.setAttribute("aria-pressed", String(on));
        button.textContent = on ? "Hide code" : "Show code";
        for (const cell of cells) cell.open = on;
      };
      button.hidden = false;
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        show(on);
        keep(on ? "yes" : "no");
      });
      show(read() === "yes");
    }
    // On paper nothing can be opened.
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll(
        "article details:not([open], .above-input, .ln-numbers, [data-part])")];
      for (const one of closed) one.open = true;
      for (const one of document.querySelectorAll("article .toggle-hidden")) {
        one.classList.replace("toggle-hidden", "ln-was-hidden");
      }
    });
    addEventListener("afterprint", () => {
      for (const one of closed) one.open = false;
      for (const one of document.querySelectorAll("article .ln-was-hidden")) {
        one.classList.replace("ln-was-hidden", "toggle-hidden");
      }
    });
  }
  if (document.readyState !== "loading") start();
  else document.addEventListener("DOMContentLoaded", start);
})();
