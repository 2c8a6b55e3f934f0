/* In the built book: every playground of the page; the digits when one first needs them. */
lnCanvas.each(".ln-playground", document.currentScript, (root, load, options) =>
  lnPlayground(root, { ...options, digits: () => load("digits.js") }));
