/* The search page: finds sections, and shows the sentence that holds the words. */
(() => {
  "use strict";
  const MOST = 40; // results
  const BEFORE = 70, AFTER = 130; // characters of a sentence around the words
  const TITLE = 6, PAGE = 1.5; // how much a word counts there at most; in the text 1
  const SPARSE = 60, LETTERS = 6; // words of a section in which one hit counts half; letters of a word
  const LOW = new Set(["references", "about", "model_sources", "teaching", "chapters"]);
  const STOP = new Set("a an and are as at be by can do does for from how i in is it my of on or the to vs versus what when which why with should use".split(" "));
  const { pattern } = window.lnWords;
  let pages = [];

  const count = (text, word) => [...text.matchAll(new RegExp(word, "giu"))].length;

  /* How well a section answers, and how many of the words it has. The title of its page counts for
     a section that has another word. */
  function rate(words, page, title, text) {
    let score = 0, held = 0;
    for (const word of words) {
      const first = new RegExp(word, "iu");
      // Of a glossary's entry with synonyms the one that comes closest.
      const named = Math.max(...title.split(", ").map((t) => (first.exec(t)?.[0].length ?? 0) / t.length));
      const hits = count(text, word), inPage = first.test(page.title);
      if (!named && !hits && !inPage) continue;
      held++;
      // A section may have a title and no text of its own.
      score += (hits && hits / (hits + text.length / LETTERS / SPARSE)) + TITLE * Math.sqrt(named)
        + (inPage ? PAGE : 0);
    }
    const low = LOW.has(page.page) ? 0.4 : 1;
    return { held, score: held * low * score / words.length };
  }

  function findResults(query) {
    const all = query.trim().split(/\s+/).filter(Boolean);
    const telling = all.filter((word) => !STOP.has(word.toLowerCase()));
    const words = (telling.length ? telling : all).map(pattern);
    if (!words.length) return [];
    const whole = pattern(query), results = [];
    for (const page of pages) {
      for (const [anchor, title, text] of page.parts) {
        const { held, score } = rate(words, page, title, text);
        const together = words.length > 1 ? rate([whole], page, title, text).score : 0;
        if (held) results.push({ page, anchor, title, text, words, held, score: score + 2 * together });
      }
    }
    const most = Math.max(...results.map(({ held }) => held)); // all of the words, if there is such a section
    return results.filter(({ held }) => held === most).sort((a, b) => b.score - a.score).slice(0, MOST);
  }

  /* A part of the text around the first place that has one of the words, with these marked. */
  function excerpt(text, words) {
    const any = new RegExp(words.join("|"), "giu"), start = text.search(any);
    const line = document.createElement("p");
    const from = start < BEFORE ? 0 : text.indexOf(" ", start - BEFORE) + 1;
    const end = Math.max(start, 0) + AFTER, to = end >= text.length ? text.length : text.lastIndexOf(" ", end);
    const shown = (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
    let last = 0;
    for (const hit of shown.matchAll(any)) {
      const mark = document.createElement("mark");
      mark.textContent = hit[0];
      line.append(shown.slice(last, hit.index), mark);
      last = hit.index + hit[0].length;
    }
    line.append(shown.slice(last));
    return line;
  }

  function show(query) {
    const room = document.querySelector("#search-results");
    const results = findResults(query), list = document.createElement("ol");
    for (const { page, anchor, title, text, words } of results) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `${page.page}.html?highlight=${encodeURIComponent(query.trim())}#${anchor}`;
      link.textContent = title === page.title ? title : `${page.title} › ${title}`;
      item.append(link, ...(text ? [excerpt(text, words)] : []));
      list.append(item);
    }
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    const many = results.length === MOST ? `The ${MOST} best results` : `${results.length} result${results.length === 1 ? "" : "s"}`;
    status.textContent = !query.trim() ? "" : results.length ? `${many} for “${query.trim()}”`
      : `Nothing found for “${query.trim()}”. Try fewer or other words, or look in the glossary.`;
    room.replaceChildren(status, list);
  }

  window.lnSearch = (sections) => {
    pages = sections;
    const field = document.querySelector(".bd-search-container input[type=search]");
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.addEventListener("input", () => {
      show(field.value);
      const address = `?q=${encodeURIComponent(field.value)}`;
      try { history.replaceState(null, "", address); } catch { /* forbidden in a sandboxed frame */ }
    });
    show(field.value);
  };
})();
