/* In the built book: every sphere of the page. */
for (const root of document.querySelectorAll(".ln-sphere")) {
  lnSphere(root, JSON.parse(root.dataset.options));
}
