/* A deck: reveal.js turns the slides; each figure is a page of its own, made as large as fits. */
(() => {
  "use strict";
  const LARGEST = 2; // times a figure's own letters, which the slide enlarges once more
  const html = document.documentElement;
  const frames = [...document.querySelectorAll(".frame iframe")];

  function theme(name) {
    html.dataset.theme = name;
    for (const frame of frames) frame.contentWindow?.postMessage({ lnTheme: name }, "*");
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));

  /* A figure says how high it is at each width, and the width is taken that makes it largest; later
     it says how high it has become at that width. */
  const known = new WeakMap();
  function fit(frame) {
    const { clientWidth: wide, clientHeight: high } = frame.parentElement, sizes = known.get(frame);
    if (!sizes || !wide || !high) return; // not shown yet
    const scales = sizes.map(([w, h]) => Math.min(LARGEST, wide / w, high / h));
    const best = scales.lastIndexOf(Math.max(...scales)), [width, height] = sizes[best];
    frame.style.width = `${width}px`;
    frame.style.height = `${height}px`;
    frame.style.transform = `translateX(${-scales[best] * width / 2}px) scale(${scales[best]})`;
    frame.dataset.fits = scales[best];
  }
  addEventListener("message", ({ data, source }) => {
    const frame = frames.find((candidate) => candidate.contentWindow === source);
    if (!frame || !data?.lnSizes) return;
    source.postMessage({ lnTheme: html.dataset.theme }, "*");
    const [[width]] = data.lnSizes, whole = data.lnSizes.length > 1;
    if (!whole && frame.style.width !== `${width}px`) return; // on its way to another width
    known.set(frame, data.lnSizes);
    fit(frame);
  });
  /* A figure is loaded when it comes near, and stays as it was left. */
  function near() {
    const slides = Reveal.getSlides(), index = slides.indexOf(Reveal.getCurrentSlide());
    for (const slide of slides.slice(index, index + 3)) {
      for (const frame of slide.querySelectorAll("iframe:not([src])")) frame.src = frame.dataset.page;
    }
  }

  /* To print, all figures are loaded, when reveal.js has put each slide on its page. */
  const PRINTS = /print-pdf/.test(location.search);
  async function printed() {
    theme("light");
    for (const frame of frames) { // in view, for a browser draws no others
      frame.src ||= frame.dataset.page;
      for (let waited = 0; waited < 100 && !frame.dataset.fits; waited++) {
        frame.parentElement.scrollIntoView();
        await new Promise((done) => setTimeout(done, 200));
      }
      await new Promise((done) => setTimeout(done, 500)); // its last change of size
    }
    html.dataset.printable = "yes";
    if (/print-pdf&now/.test(location.search)) print();
  }
  addEventListener("keydown", (e) => {
    if (PRINTS || !(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "p") return;
    e.preventDefault();
    open("?print-pdf&now", "_blank") ?? (location.search = "?print-pdf&now");
  });

  Reveal.on(PRINTS ? "pdf-ready" : "ready", PRINTS ? printed : near);
  Reveal.initialize({
    width: 1280, height: 720, margin: 0.03, center: false, hash: true, transition: "none",
    backgroundTransition: "none", navigationMode: "linear", controls: false, slideNumber: "c/t",
    viewDistance: 3, mobileViewDistance: 3, pdfMaxPagesPerSlide: 1, plugins: [RevealNotes],
  });
  Reveal.addKeyBinding({ keyCode: 68, key: "D", description: "Light or dark" },
    () => theme(html.dataset.theme === "dark" ? "light" : "dark"));
  // The keys are the deck's again, whatever had them on the slide before.
  if (!PRINTS) Reveal.on("slidechanged", () => {
    document.activeElement?.blur();
    window.focus();
    near();
    Reveal.getCurrentSlide().querySelectorAll("iframe").forEach(fit);
  });
})();
