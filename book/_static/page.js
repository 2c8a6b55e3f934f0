/* What every page has: "Show all code", formulas that scroll, a printed page that holds all of it. */
(() => {
  "use strict";
  const KEY = "ln-show-code";
  const html = document.documentElement;
  const read = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem(KEY, value); } catch { /* forbidden */ } };

  /* Paper is white. At once: before what redraws itself for paper asks for the theme. */
  let theme;
  addEventListener("beforeprint", () => {
    theme = html.dataset.theme;
    html.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { html.dataset.theme = theme; });

  /* A formula wider than its place scrolls, and the keyboard has to reach it. */
  function focusable(formulas) {
    for (const target of formulas) {
      for (const box of [target, ...target.querySelectorAll("mjx-container")]) {
        if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
    }
  }

  /* A line does not begin with the comma after a formula, nor end within 1e-3, 1.4 ± 0.1, 8 × 8,
     --seed or a date; that of a heading does not end within "post-norm" either. */
  const UNBROKEN = /N\(0, [\d.]+²?\)|[\d.]+ ± [\d.]+|[−\d.]*\de-\d+|\d{4}-\d\d-\d\d|\d[\d,]*(?: × \d[\d,]*)+/;
  const HYPHENATED = /\w+(?:-\w+)+/;
  const JOINED = Object.assign(document.createElement("span"), { className: "ln-joined" });
  function joined(article) {
    for (const formula of article.querySelectorAll("span.math")) {
      const after = formula.nextSibling;
      const mark = after?.nodeType === Node.TEXT_NODE && /^[.,;:!?)\]’”]+/.exec(after.data)?.[0];
      if (!mark) continue;
      const whole = JOINED.cloneNode();
      formula.before(whole);
      after.splitText(mark.length);
      whole.append(formula, after);
    }
    for (const word of article.querySelectorAll("code .pre")) // an option, such as --seed
      if (/^--?\w[\w-]{0,20}$/.test(word.textContent)) word.classList.add("ln-joined");
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      const pattern = parentElement.matches("h1, h2, h3") ? HYPHENATED : UNBROKEN;
      if (pattern.test(data) && parentElement.matches("h1, h2, h3, p, li, th, td, b, strong, em"))
        found.push([texts.currentNode, pattern]);
    }
    for (let [text, pattern] of found) {
      for (let match; (match = pattern.exec(text.data));) {
        const number = text.splitText(match.index), whole = JOINED.cloneNode();
        text = number.splitText(match[0].length);
        number.replaceWith(whole);
        whole.append(number);
      }
    }
  }

  /* A browser leaves what is half seen at the edge of a row that scrolls sideways where it is, and
     with it half of the ring around what has the focus. */
  addEventListener("focusin", ({ target }) => {
    if (!target.matches(":focus-visible")) return;
    target.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  });

  /* What a chapter asks is answered on its last page; returns what undoes it. */
  function answersAtTheEnd() {
    const last = document.querySelector("article.bd-article > section");
    const quizzes = [...document.querySelectorAll("article .ln-quiz")];
    const solutions = [...document.querySelectorAll("article .solution")];
    if (!last || !(quizzes.length + solutions.length)) return () => {};
    const made = (tag, text = "") =>
      Object.assign(document.createElement(tag), { textContent: text });
    const end = made("section");
    end.className = "ln-answers";
    end.append(made("h2", "Answers"));
    for (const quiz of quizzes) {
      const list = made("ol");
      for (const question of quiz.querySelectorAll(".ln-question")) {
        const item = made("li");
        for (const answer of question.querySelectorAll(".ln-answer")) {
          const [summary, ...rest] = [...answer.children].map((part) => part.cloneNode(true));
          const option = made("p");
          option.append(...(question.dataset.kind === "choose" ? summary.childNodes : []));
          item.append(option, ...rest);
        }
        list.append(item);
      }
      end.append(list);
    }
    const placeholders = solutions.map((solution) => {
      const placeholder = document.createComment("");
      solution.replaceWith(placeholder);
      return placeholder;
    });
    end.append(...solutions);
    last.append(end);
    return () => {
      placeholders.forEach((placeholder, i) => placeholder.replaceWith(solutions[i]));
      end.remove();
    };
  }

  /* Radio buttons in a [data-address] keep what was chosen in the address, and are set by it. */
  function choicesInAddress(card) {
    const name = card.dataset.address;
    const radios = [...card.querySelectorAll("input[type=radio]")];
    const group = (radio) => radio.name.slice(radio.name.lastIndexOf("-") + 1);
    function restore() {
      const chosen = lnAddress.read().get(name) ?? new Map();
      for (const radio of radios) {
        const value = chosen.get(group(radio));
        const known = value !== undefined && radios.some((candidate) =>
          group(candidate) === group(radio) && candidate.value === value);
        const on = known ? radio.value === value : radio.defaultChecked;
        if (!on || radio.checked) continue;
        radio.checked = true;
        radio.dispatchEvent(new Event("change", { bubbles: true }));
      }
    }
    card.addEventListener("change", () => {
      const moved = radios.filter((radio) => radio.checked && !radio.defaultChecked);
      lnAddress.save(name, moved.map((radio) => [group(radio), radio.value]));
    });
    addEventListener("hashchange", restore);
    restore();
  }

  /* A browser finds no element by an address such as #explorer-2&scale=10. The page goes there
     itself, and stays while figures above are drawn, until the reader moves. */
  const MOVES = ["wheel", "touchmove", "pointerdown", "keydown"];
  const SETTLED = 10_000; // ms
  function keepInView(target, options) {
    const sizes = new ResizeObserver(() => target.scrollIntoView(options));
    sizes.observe(document.body);
    for (const move of MOVES) addEventListener(move, () => sizes.disconnect(), { once: true });
    setTimeout(() => sizes.disconnect(), SETTLED);
  }
  window.lnKeepInView = keepInView; // search/words.js, which only some pages load, needs it, too
  /* Opens what a target is in, and the target itself if it is folded; tells whether it was shut. */
  function openFolds(target) {
    const own = target.querySelector(":scope > details.ln-part");
    if (own) own.open = true;
    let shut = false;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      shut ||= !fold.open;
      fold.open = true;
    }
    return shut;
  }
  function goToPart() {
    const part = lnAddress.first(), values = lnAddress.read().get(part);
    const target = values?.size && document.getElementById(part);
    if (!target) return;
    openFolds(target);
    keepInView(target, { behavior: "instant" });
  }

  /* Who comes from the search page sees the words marked, and the first of them. */
  const HERE = document.currentScript.src;
  function markWhatWasSearched() {
    if (!new URLSearchParams(location.search).get("highlight")) return;
    document.head.append(Object.assign(document.createElement("script"),
      { src: new URL("search/words.js", HERE) }));
  }

  /* A [data-lights] in a sentence selects its marks in a figure: they light up with each other, under
     the pointer and with the focus. A number has only the marks that show it at the moment, to
     as many decimals. */
  const FIGURES = ".ln-diagram, .ln-explorer, .ln-norm-table, .ln-playground";
  const OTHERWISE = "The figure shows this number with other settings.";
  const numbersIn = (text) => text.replace(/−/g, "-").match(/-?\d+(?:\.\d+)?/g) ?? [];
  function marksOf(span) {
    const figure = span.closest(FIGURES) ?? document, text = span.textContent.replace(/−/g, "-");
    const isNumber = numbersIn(text)[0] === text, decimals = text.split(".")[1]?.length ?? 0;
    const shows = (mark) => numbersIn(mark.matches("input") ? mark.value : mark.textContent)
      .some((number) => Number(number).toFixed(decimals) === text);
    return [...figure.querySelectorAll(span.dataset.lights)].filter((mark) => !isNumber || shows(mark));
  }
  function lightUp({ target }) {
    const lit = new Set();
    for (const span of document.querySelectorAll("[data-lights]")) {
      const marks = marksOf(span);
      span.title = marks.length ? "" : OTHERWISE;
      if (marks.length && [span, ...marks].some((part) => part.contains(target)))
        for (const part of [span, ...marks]) lit.add(part);
    }
    for (const part of document.querySelectorAll(".ln-lit"))
      if (!lit.has(part)) part.classList.remove("ln-lit");
    for (const part of lit) part.classList.add("ln-lit");
  }
  for (const event of ["pointerover", "focusin"]) document.addEventListener(event, lightUp);

  function start() {
    const article = document.querySelector("article.bd-article");
    if (article) joined(article);
    markWhatWasSearched();
    document.querySelectorAll("[data-address]").forEach(choicesInAddress);
    addEventListener("hashchange", goToPart);
    goToPart();
    const cells = document.querySelectorAll("details.above-input");
    const button = document.querySelector(".ln-show-code");
    if (button && cells.length) {
      const show = (on) => {
        button.setAttribute("aria-pressed", String(on));
        button.textContent = on ? "Hide all code" : "Show all code";
        for (const cell of cells) cell.open = on;
      };
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        show(on);
        keep(on ? "yes" : "no");
      });
      show(read() === "yes");
    }
    for (const button of document.querySelectorAll("[data-print]")) {
      button.addEventListener("click", () => print());
    }
    document.querySelector(".bd-search-container input")?.select();
    // A link to a fold, to what is in one, or to a section that is one opens it.
    const unfold = () => {
      const target = document.getElementById(location.hash.slice(1));
      if (!target) return;
      // Where a section was before it moved to another page, a link leads to it.
      if (target.matches(".ln-moved")) location.replace(target.nextElementSibling.href);
      if (openFolds(target)) target.scrollIntoView({ behavior: "instant" });
    };
    addEventListener("hashchange", unfold);
    unfold();
    const formulas = [...document.querySelectorAll("div.math")];
    const sized = new ResizeObserver((entries) => focusable(entries.map((e) => e.target)));
    for (const formula of formulas) sized.observe(formula);
    // A font that comes late widens a formula, and not its place.
    document.fonts.addEventListener("loadingdone", () => focusable(formulas));
    // On paper nothing can be opened, and an answer beside its question spoils it.
    let closed = [], back = () => {};
    addEventListener("beforeprint", () => {
      back = answersAtTheEnd();
      closed = [...document.querySelectorAll(
        "article details:not([open], .above-input, .ln-numbers, [data-part])")];
      for (const fold of closed) fold.open = true;
      for (const fold of document.querySelectorAll("article .toggle-hidden")) {
        fold.classList.replace("toggle-hidden", "ln-was-hidden");
      }
    });
    addEventListener("afterprint", () => {
      back();
      for (const fold of closed) fold.open = false;
      for (const fold of document.querySelectorAll("article .ln-was-hidden")) {
        fold.classList.replace("ln-was-hidden", "toggle-hidden");
      }
    });
  }
  if (document.readyState !== "loading") start();
  else document.addEventListener("DOMContentLoaded", start);
})();
