/* In the built book: every map of the page; what was recorded, a file when it is asked for. */
lnCanvas.each(".ln-activation-maps", document.currentScript, lnActivationMaps);
