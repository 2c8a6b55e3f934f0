/* In the built book: every map of the page; what was recorded, a file when it is asked for. */
{
  const load = lnCanvas.loader(document.currentScript);
  for (const root of document.querySelectorAll(".ln-activation-maps")) lnActivationMaps(root, load);
}
