/* In the built book: every painter of the page. */
lnCanvas.wake(".ln-draw", document.currentScript, lnDraw);
