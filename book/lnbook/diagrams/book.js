/* In the built book: every diagram of the page. */
document.querySelectorAll(".ln-diagram").forEach(lnDiagram);
