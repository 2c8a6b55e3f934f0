/* In the built book: every switchboard of the page; the weights when one first needs them. */
lnCanvas.each(".ln-transformer", document.currentScript, (root, load, options) =>
  lnTransformer(root, { weights: () => load("weights.js"), ...options }));
