/* In the built book: every switchboard of the page; the weights when one first needs them. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  let loaded;
  const weights = () => (loaded ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = HOME + "weights.js"; // it calls lnTransformerWeights; fetch would fail on file://
    window.lnTransformerWeights = done;
    script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    document.head.append(script);
  }));
  for (const root of document.querySelectorAll(".ln-transformer")) {
    lnTransformer(root, { weights, ...JSON.parse(root.dataset.options) });
  }
})();
