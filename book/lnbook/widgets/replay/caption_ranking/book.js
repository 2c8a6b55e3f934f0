/* In the built book: every scene of the page; what it needs of the records when it needs it. */
(() => {
  "use strict";
  const HOME = document.currentScript.src.replace(/[^/]*$/, "");
  const requests = {};
  window.lnCaptionRankingData = (name, content) => requests[name].done(content);
  // Each file calls lnCaptionRankingData with its name; fetch would fail on file://.
  const load = (name) => (requests[name] ??= (() => {
    const script = document.createElement("script"), request = {};
    request.promise = new Promise((done, fail) => {
      request.done = done;
      script.onerror = () => fail(new Error(`the file ${script.src} is missing`));
    });
    script.src = `${HOME}${name}.js`;
    document.head.append(script);
    return request;
  })()).promise;
  for (const root of document.querySelectorAll(".ln-caption-ranking")) {
    lnCaptionRanking(root, { load, ...JSON.parse(root.dataset.options) });
  }
})();
