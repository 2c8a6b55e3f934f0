/* In the built book: every playground of the page; the digits when one first needs them. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  let loaded;
  const digits = () => (loaded ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = HOME + "digits.js"; // it calls lnDigits; fetch would fail on file://
    window.lnDigits = done;
    script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    document.head.append(script);
  }));
  for (const root of document.querySelectorAll(".ln-playground")) {
    lnPlayground(root, { ...JSON.parse(root.dataset.options), digits });
  }
})();
