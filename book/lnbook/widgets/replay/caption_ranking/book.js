/* In the built book: every scene of the page; what it needs of the records when it needs it. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  const asked = {};
  window.lnCaptionRankingData = (name, content) => asked[name].done(content);
  // Each file calls lnCaptionRankingData with its name; fetch would fail on file://.
  const load = (name) => (asked[name] ??= (() => {
    const script = document.createElement("script"), one = {};
    one.promise = new Promise((done, fail) => {
      one.done = done;
      script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    });
    script.src = `${HOME}${name}.js`;
    document.head.append(script);
    return one;
  })()).promise;
  for (const root of document.querySelectorAll(".ln-caption-ranking")) {
    lnCaptionRanking(root, { load, ...JSON.parse(root.dataset.options) });
  }
})();
