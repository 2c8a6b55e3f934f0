/* In the built book: every painter of the page; what was painted when the first one needs it. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  let loaded;
  const painted = () => (loaded ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = HOME + "painted.js"; // it calls lnPainted; fetch would fail on file://
    window.lnPainted = done;
    script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    document.head.append(script);
  }));
  for (const root of document.querySelectorAll(".ln-painter")) {
    const inside = root.querySelector("script");
    lnPainter(root, inside ? () => Promise.resolve(inside.textContent) : painted);
  }
})();
