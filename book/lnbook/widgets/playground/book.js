/* In the built book: every playground of the page; the digits when one first needs them. */
{
  const load = lnCanvas.loader(document.currentScript), digits = () => load("digits.js");
  for (const root of document.querySelectorAll(".ln-playground")) {
    lnPlayground(root, { ...JSON.parse(root.dataset.options), digits });
  }
}
