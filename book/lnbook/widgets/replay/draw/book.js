/* In the built book: every DRAW replay of the page. */
lnCanvas.wake(".ln-draw", document.currentScript, lnDraw);
