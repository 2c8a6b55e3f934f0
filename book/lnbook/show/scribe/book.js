/* In the built book: every scribe of the page; what was written when the first one needs it. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  let loaded;
  const written = () => (loaded ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = HOME + "written.js"; // it calls lnWritten; fetch would fail on file://
    window.lnWritten = done;
    script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    document.head.append(script);
  }));
  for (const root of document.querySelectorAll(".ln-scribe")) {
    const inside = root.querySelector("script");
    lnScribe(root, inside ? () => Promise.resolve(inside.textContent) : written);
  }
})();
