/* In the built book: every switchboard of the page; the weights when one first needs them. */
{
  const load = lnCanvas.loader(document.currentScript), weights = () => load("weights.js");
  for (const root of document.querySelectorAll(".ln-transformer")) {
    lnTransformer(root, { weights, ...JSON.parse(root.dataset.options) });
  }
}
