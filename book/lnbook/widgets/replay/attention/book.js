/* In the built book: every passage of the page under attention. */
lnCanvas.wake(".ln-attention", document.currentScript, lnAttention);
