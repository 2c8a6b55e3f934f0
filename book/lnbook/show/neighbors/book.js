/* In the built book: every map of sentences of the page. */
lnCanvas.wake(".ln-neighbors", document.currentScript, lnNeighbors);
