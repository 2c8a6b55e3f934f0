/* In the built book: every map of sentences of the page. */
lnCanvas.wake(".ln-sentence-neighbors", document.currentScript, lnSentenceNeighbors);
