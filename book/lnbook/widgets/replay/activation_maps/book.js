/* In the built book: every map of the page; what was recorded, a file when it is asked for. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, ""), loaded = {};
  window.lnPlaced = {};
  const placed = (name) => (loaded[name] ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = `${HOME}${name}.js`; // it calls lnPlaced; fetch would fail on file://
    window.lnPlaced[name] = done;
    script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    document.head.append(script);
  }));
  for (const root of document.querySelectorAll(".ln-activation-maps")) lnActivationMaps(root, placed);
})();
