/* In the built book: every scribe of the page. */
lnCanvas.wake(".ln-handwriting", document.currentScript, lnHandwriting);
