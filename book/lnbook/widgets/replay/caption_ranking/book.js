/* In the built book: every scene of the page; what it needs of the records when it needs it. */
{
  const load = lnCanvas.loader(document.currentScript);
  for (const root of document.querySelectorAll(".ln-caption-ranking")) {
    lnCaptionRanking(root, { load, ...JSON.parse(root.dataset.options) });
  }
}
