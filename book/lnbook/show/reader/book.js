/* In the built book: every passage of the page under attention. */
lnCanvas.wake(".ln-reader", document.currentScript, lnReader);
