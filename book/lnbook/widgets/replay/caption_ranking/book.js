/* In the built book: every scene of the page; what it needs of the records when it needs it. */
lnCanvas.each(".ln-caption-ranking", document.currentScript, (root, load, options) =>
  lnCaptionRanking(root, { load, ...options }));
