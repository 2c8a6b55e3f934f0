/* In the built book: every norm table of the page. */
for (const root of document.querySelectorAll(".ln-norm-table")) lnNormTable(root, JSON.parse(root.dataset.options));
