/* The state of a page in its address: each part that was moved, with its values, such as
   #explorer-2&scale=10&chooser&data=conv. Every script that reads or writes it does so here;
   several scripts of a page bring it. */
window.lnAddress ??= (() => {
  "use strict";

  /* Return the parts that the address names, in order, and the values of each. */
  function read() {
    const parts = new Map();
    let own;
    for (const word of location.hash.slice(1).split("&").filter(Boolean)) {
      if (word.includes("=")) {
        for (const [key, value] of new URLSearchParams(word)) own?.set(key, value);
      } else {
        own = parts.get(word) ?? new Map();
        parts.set(word, own);
      }
    }
    return parts;
  }
  const first = () => read().keys().next().value;
  /* A part without values is left out. */
  function write(parts) {
    return [...parts].filter(([, values]) => values.length).flatMap(([name, values]) =>
      [name, ...values.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)]).join("&");
  }
  const page = () => location.href.split("#")[0];
  let known = location.hash; // as it was last written, or said to have changed
  addEventListener("hashchange", () => { known = location.hash; });

  /* Put a part with its values, pairs of key and value, before the others; without values it goes.
     An address that was opened a moment ago, whose event is still to come, is not written over. */
  function save(name, values) {
    if (location.hash !== known) return;
    const others = read();
    others.delete(name);
    const hash = write([[name, values],
      ...[...others].map(([otherName, map]) => [otherName, [...map]])]);
    if (!hash && !location.hash) return;
    const address = hash ? `#${hash}` : page();
    try { history.replaceState(history.state, "", address); } catch { /* some forbid it */ }
    known = location.hash;
  }
  /* Return what leads to one part in this state, on this page or another. */
  const link = (name, values, path = page()) => `${path}#${write([[name, values]]) || name}`;

  return { read, first, save, link };
})();
