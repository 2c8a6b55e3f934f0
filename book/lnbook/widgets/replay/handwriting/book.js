/* In the built book: every handwriting replay of the page. */
lnCanvas.wake(".ln-handwriting", document.currentScript, lnHandwriting);
