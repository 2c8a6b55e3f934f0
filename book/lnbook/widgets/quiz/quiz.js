/* The page's half of lnbook.widgets.quiz: forms in place of answers that open, and a field below an exercise
   whose answer is numbers or an expression. Every word of an explanation stands in the page already.
   No kernel, no network; works from file://.
   Answers are kept in this browser's localStorage, where there is one. */
(() => {
  "use strict";
  const STORED_LOCALLY = "Your answers stay in this browser and are not sent anywhere.";
  const LOST = "This browser cannot store answers: they last until you leave this page and are "
    + "not sent anywhere.";

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const copies = (element) => element.cloneNode(true).childNodes; // text and its marks, no name

  /* What a field asks and how it judges; encoded in the page, so that nobody reads it in passing. */
  const unpack = (data) => JSON.parse(
    new TextDecoder().decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0))));
  const worded = (html, correct) => {
    const text = make("span", correct ? { "data-correct": "" } : {});
    text.innerHTML = html;
    return text;
  };
  const short = (x) => (Number.isFinite(x)
    ? String(Number(x.toPrecision(4))).replaceAll("-", "−") : "not a number");

  /* Each kind: how it looks; read() and write(answer), a text ("" is none); judge(answer), the
     element that explains it, or none if it cannot be judged. */
  const kinds = {
    choose(question, name) {
      const details = [...question.querySelectorAll(".ln-answer")];
      const inputs = details.map((_, i) => make("input", { type: "radio", name, value: i }));
      return {
        parts: details.map((detail, i) => make("label", { class: "ln-option" }, inputs[i],
          make("span", {}, ...copies(detail.querySelector("summary"))))),
        nothing: "Choose an option first.",
        read: () => inputs.find((input) => input.checked)?.value ?? "",
        write: (answer) => inputs.forEach((input) => { input.checked = input.value === answer; }),
        judge: (answer) => details[answer]?.querySelector("span"),
      };
    },

    number(question, name) {
      const { answer, atol, unit = "" } = question.dataset;
      const known = [...question.querySelectorAll("[data-value]")];
      const negative = [answer, ...known.map((e) => e.dataset.value)].some((x) => x < 0);
      const field = make("input", { type: "text", id: name,
        inputmode: negative ? "text" : "decimal" }); // a phone's decimal keys have no minus
      const label = make("label", { for: name }, unit ? `Your answer (${unit})` : "Your answer");
      const near = (off, y) => off <= atol * (1 + 1e-9) + 1e-12 * Math.abs(y);
      return {
        parts: [make("div", { class: "ln-number" }, label, field)],
        nothing: "Write a number, such as 0.25, 1/4, −3, or 2e-3.",
        read: () => field.value.trim(),
        write: (text) => { field.value = text; },
        judge(text) {
          const values = lnNumbers.readings(text, unit);
          if (!values.length) return null;
          const off = (y) => Math.min(...values.map((x) => Math.abs(x - y)));
          if (near(off(answer), answer)) return question.querySelector("[data-correct]");
          return known.map((why) => [off(why.dataset.value), why])
            .filter(([far, why]) => near(far, why.dataset.value)).sort(([a], [b]) => a - b)[0]?.[1]
            ?? question.querySelector("[data-hint]");
        },
      };
    },

    order(question) {
      const announcement = make("p", { class: "ln-unseen", role: "status", "aria-live": "polite" });
      const list = make("ol", { class: "ln-sort", role: "list" });
      const rows = [...question.querySelectorAll(".ln-items > li")].map((item) => {
        const text = make("span", {}, ...copies(item)), name = item.textContent;
        const row = make("li", { "data-place": item.dataset.place }, text);
        for (const [step, sign, way] of [[-1, "↑", "up"], [1, "↓", "down"]]) {
          const mover = make("button", { type: "button", class: "ln-move",
            "aria-label": `Move ${way}: ${name}` }, sign);
          mover.addEventListener("click", () => {
            const neighbor = step < 0 ? row.previousElementSibling : row.nextElementSibling;
            if (neighbor) step < 0 ? neighbor.before(row) : neighbor.after(row);
            mover.focus(); // which moving takes away
            settle();
            const position = [...list.children].indexOf(row) + 1;
            announcement.textContent =
              `${name}: ${neighbor ? "now" : "already"} ${position} of ${rows.length}.`;
          });
          row.append(mover);
        }
        return row;
      });
      const settle = () => [...list.children].forEach((row, i) => {
        row.children[1].setAttribute("aria-disabled", i === 0);
        row.children[2].setAttribute("aria-disabled", i === rows.length - 1);
      });
      list.append(...rows);
      settle();
      return {
        parts: [list, announcement],
        read: () => [...list.children].map((row) => row.dataset.place).join(" "),
        write(answer) {
          const wanted = answer.split(" ").map((index) => rows.find((row) => row.dataset.place === index));
          list.append(...rows, ...wanted.filter(Boolean));
          settle();
        },
        judge(answer) {
          const right = answer === rows.map((_, i) => i).join(" ");
          return question.querySelector(right ? "[data-correct]" : `[data-order="${answer}"]`)
            ?? question.querySelector("[data-hint]");
        },
      };
    },

    field(exercise, name) {
      const { label, how, cases, answer, atol, rtol, misconceptions, on_success: onSuccess, hint } =
        unpack(exercise.dataset.check);
      const field = make("input", { type: "text", id: name, "aria-describedby": `${name}-how`,
        autocapitalize: "off", autocorrect: "off", spellcheck: "false" });
      const labeled = make("label", { for: name });
      const about = make("p", { id: `${name}-how`, class: "ln-about" });
      labeled.innerHTML = label;
      about.innerHTML = how;
      /* How far apart two results are in the worst case; more than 1 is more than may be. */
      const apart = (x, y) => (Number.isFinite(x) !== (y !== null) ? Infinity
        : y === null ? 0 : Math.abs(x - y) / (atol + rtol * Math.abs(y)));
      const off = (x, y) => Math.max(...x.map((value, i) => apart(value, y[i])));
      const help = () => {
        const closed = [...exercise.parentElement.querySelectorAll("details:not([open]) > summary")]
          .find((summary) => summary.textContent.startsWith("Hint"));
        return closed ? ` ${closed.textContent} may help.` : " You can compare with the solution.";
      };
      function sentence(values) {
        const [distance, known] = misconceptions.map(([y, why]) => [off(values, y), why])
          .sort(([a], [b]) => a - b)[0] ?? [Infinity];
        if (distance <= 1 + 1e-9) return known;
        if (hint) return hint + help();
        const i = values.findIndex((x, k) => apart(x, answer[k]) > 1 + 1e-9);
        const where = Object.entries(cases[i]).map(([k, x]) => `<code>${k}</code> = ${short(x)}`);
        return `for ${where.join(", ")}, it must be ${short(answer[i])} and yours is ${short(values[i])}.${help()}`;
      }
      const input = {
        parts: [make("div", { class: "ln-number" }, labeled, field), about],
        nothing: "",
        read: () => field.value.trim(),
        write: (text) => { field.value = text; },
        judge(text) {
          try {
            const values = lnExpressions.read(text, answer.length / cases.length, cases);
            if (!hint || values.every(Number.isFinite)) {
              if (off(values, answer) <= 1 + 1e-9) return worded(onSuccess, true);
              const grouped = values.length === 1 && /\d,\d/.test(text);
              return worded(sentence(values) + (grouped
                ? " (The comma was read as grouping thousands; decimals need a point.)" : ""));
            }
            input.nothing = "This is not a finite number.";
          } catch (error) { input.nothing = error.message; }
          return null;
        },
      };
      return input;
    },
  };

  /* What this browser keeps of a quiz or a field: [key of the question, [last answer, right at first]].
     What cannot be that is left out, alone. A question that has changed has another key: its old
     answer is gone at the next save. */
  const usable = (entry) => Array.isArray(entry) && Array.isArray(entry[1])
    && typeof entry[1][0] === "string" && typeof entry[1][1] === "boolean";
  function store(name, former) {
    const works = (action) => { try { action(); return true; } catch { return false; } };
    const save = (map) => works(() => (map.size
      ? localStorage.setItem(name, JSON.stringify([...map])) : localStorage.removeItem(name)));
    let text, stored = [];
    const open = works(() => {
      localStorage.setItem("ln-quiz", ""); // full or forbidden: better known now
      localStorage.removeItem("ln-quiz");
      text = localStorage.getItem(name) ?? localStorage.getItem(former);
    });
    works(() => { stored = JSON.parse(text).filter(usable); });
    return { stored: new Map(stored), open, save: (map) => open && save(map) };
  }

  /* Answers are stored under the address of the page, or under its former one. */
  const key = (path, n) => `ln-quiz ${path} ${n}`;
  function formerPath() {
    const page = document.querySelector("meta[name=ln-former-page]")?.content;
    return page ? new URL(page, location.href).pathname : location.pathname;
  }

  /* n: the position of a quiz among those of the page, or the name of an exercise. */
  function start(quiz, n) {
    const { stored, open, save } = store(key(location.pathname, n), key(formerPath(), n));
    const alone = quiz.matches(".ln-answer-field");
    const verdicts = { right: "✓ Right.", wrong: alone ? "✗ Not yet:" : "✗ Not yet." };
    const answers = new Map(), questions = alone ? [quiz] : [...quiz.querySelectorAll(".ln-question")];
    const score = make("p", { class: "ln-score" });
    const note = make("p", { class: "ln-kept", role: "status" }, open ? STORED_LOCALLY : LOST);
    const keep = (message) => {
      const news = save(answers) ? message : LOST; // full by now, perhaps
      if (note.textContent !== news) note.textContent = news;
    };
    const count = () => {
      const first = [...answers.values()].filter(([, right]) => right).length;
      score.textContent =
        `${answers.size} of ${questions.length} answered, ${first} right on the first try.`;
    };

    const forgetters = questions.map((question, i) => {
      const { kind, key } = question.dataset;
      const input = kinds[kind](question, `ln-quiz-${n}-${i + 1}`);
      const feedback = make("p", { class: "ln-said", role: "status", "aria-live": "polite" });
      const ask = question.querySelector(".ln-ask");
      const form = make("form", { class: "ln-form", autocomplete: "off" }, make("fieldset", {},
        ...(ask ? [make("legend", { class: "ln-ask" }, ...copies(ask))] : []), ...input.parts,
        make("button", { type: "submit", class: "ln-check" }, "Check"), feedback));
      const show = (why) => {
        const verdict = why && ("correct" in why.dataset ? "right" : "wrong");
        for (const part of [feedback, question, ...input.parts])
          part.dataset.verdict = part.matches("label:not(:has(:checked))") ? "" : verdict ?? "";
        feedback.replaceChildren(
          ...(why ? [make("b", {}, verdicts[verdict]), " ", ...copies(why)] : []));
        return verdict;
      };
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const answer = input.read(), why = input.judge(answer), verdict = show(why);
        if (!why) return feedback.append(input.nothing);
        answers.set(key, [answer, answers.get(key)?.[1] ?? verdict === "right"]);
        keep(STORED_LOCALLY);
        count();
      });

      const [answer, first] = stored.get(key) ?? [""];
      input.write(answer);
      const why = answer && input.read() === answer && input.judge(answer);
      if (why) {
        show(why);
        answers.set(key, [answer, first]);
      } else input.write(""); // what this question cannot have been answered
      question.append(form);
      return () => { input.write(""); show(); };
    });

    const forget = make("button", { type: "button", class: "ln-forget" },
      alone ? "Delete my answer" : "Delete my answers");
    forget.addEventListener("click", () => {
      answers.clear();
      keep("Your answers have been deleted.");
      forgetters.forEach((clear) => clear());
      count();
    });
    count();
    quiz.append(make("div", { class: "ln-foot" }, ...(alone ? [] : [score]), forget, note));
    for (const detail of quiz.querySelectorAll("details")) detail.open = true; // for the printer
    quiz.dataset.ready = "yes"; // from here on the style sheet shows the forms
  }

  const find = () => {
    document.querySelectorAll(".ln-quiz").forEach(start);
    document.querySelectorAll(".ln-answer-field").forEach((field) => start(field, field.dataset.name));
  };
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", find) : find();
})();
