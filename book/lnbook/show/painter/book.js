/* In the built book: every painter of the page. */
lnCanvas.wake(".ln-painter", document.currentScript, lnPainter);
