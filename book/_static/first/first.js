/* Runs before anything is drawn: a storage that never throws, and the theme. The scripts of the
   theme and of Sphinx use localStorage unguarded, and it throws where site data are blocked, in a
   frame with sandbox="allow-scripts", and when it is full. */
(() => {
  "use strict";

  /* What the browser's storage refuses is held in memory, until the page is left. */
  function guarded(storage) {
    const memory = new Map();
    const attempt = (action, otherwise) => {
      try { return action(); } catch { return otherwise; }
    };
    const keys = () => {
      const stored = attempt(() => Object.keys(storage), []);
      return [...new Set([...stored, ...memory.keys()])];
    };
    return {
      getItem: (key) => memory.get(String(key)) ?? attempt(() => storage.getItem(key), null),
      setItem: (key, value) => {
        memory.set(String(key), String(value));
        attempt(() => { storage.setItem(key, value); memory.delete(String(key)); });
      },
      removeItem: (key) => { memory.delete(String(key)); attempt(() => storage.removeItem(key)); },
      clear: () => { memory.clear(); attempt(() => storage.clear()); },
      key: (index) => keys()[index] ?? null,
      get length() { return keys().length; },
    };
  }

  for (const name of ["localStorage", "sessionStorage"]) {
    let storage = null;
    try {
      storage = window[name];
      storage.setItem("ln-probe", "1");
      storage.removeItem("ln-probe");
    } catch {
      Object.defineProperty(window, name, { value: guarded(storage), configurable: true });
    }
  }

  const html = document.documentElement;
  const stored = localStorage.getItem("mode");
  const mode = ["auto", "light", "dark"].includes(stored) ? stored : "auto";
  const dark = mode === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches
    : mode === "dark";
  html.dataset.mode = mode;
  html.dataset.theme = dark ? "dark" : "light";
  /* Until the style sheets are there, the empty page has this color. */
  document.querySelector("meta[name=color-scheme]").content = html.dataset.theme;
})();
