/* In the built book: every scribe of the page. */
lnCanvas.wake(".ln-scribe", document.currentScript, lnScribe);
