/* How a word of a search is found in a text, on the search page and on the page that it leads to. */
(() => {
  "use strict";
  const APART = "[\\s\\-\u2010\u2011\u2013_.]*"; // warm-up, LayerNorm, layer norm, pre-LN, nn.LayerNorm
  const SHORT = 4; // letters; a shorter word is whole
  const escaped = (character) => character.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /* A pattern that finds a word however it is joined, and with an ending. */
  function pattern(word) {
    const letters = [...word.toLowerCase()].filter((c) => !/[\s\-\u2010\u2011\u2013_.]/.test(c));
    if (letters.length > SHORT && letters.at(-1) === "s") letters.pop();
    const end = letters.length < SHORT ? "(?:s)?(?![\\p{L}])" : "";
    return `(?<![\\p{L}\\p{N}])${letters.map(escaped).join(APART)}${end}`;
  }

  /* Mark the words of ?highlight=… in the part of the page that the address names, and go there. */
  function highlight() {
    const words = (new URLSearchParams(location.search).get("highlight") ?? "").split(/\s+/).filter(Boolean);
    const article = document.querySelector("article.bd-article");
    if (!words.length || !article) return;
    const any = new RegExp(words.map(pattern).join("|"), "giu"), ranges = [];
    const hidden = "script, style, svg, .MathJax, mjx-container, button, select, .headerlink";
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT,
      (node) => node.parentElement.closest(hidden) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    while (texts.nextNode()) {
      for (const hit of texts.currentNode.data.matchAll(any)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, hit.index);
        range.setEnd(texts.currentNode, hit.index + hit[0].length);
        ranges.push(range);
      }
    }
    if (window.Highlight) CSS.highlights.set("ln-search", new Highlight(...ranges));
    const section = document.getElementById(location.hash.slice(1)) ?? article;
    const entry = section.matches("dt") ? section.nextElementSibling ?? section : section;
    const first = ranges.find(({ startContainer: node }) =>
      section.contains(node) || entry.contains(node));
    if (!first) return;
    const target = first.startContainer.parentElement;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    window.lnKeepInView(target, { block: "center", behavior: "instant" });
  }

  window.lnWords = { pattern };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", highlight);
  else highlight();
})();
