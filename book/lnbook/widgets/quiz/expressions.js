/* Numbers and expressions as people type them: "1/3", "−2e-5", "sqrt(2)", "[1, 0]", "n / (n - 1)".
   They are parsed here and never run as code. Whatever cannot be read raises an Error that says why. */
window.lnExpressions ??= (() => {
  "use strict";
  const LONGEST = 300; // characters; also keeps the recursion shallow
  const EXAMPLES = "Write a number or a calculation, such as 0.25, 1/3, 2e-5, sqrt(2), or 2*pi.";
  const POINT = "Write decimals with a point, not a comma: 0.333.";
  const CONSTANTS = { pi: Math.PI, e: Math.E };
  const ONE = { sqrt: Math.sqrt, abs: Math.abs, exp: Math.exp, log: Math.log, ln: Math.log,
    log2: Math.log2, log10: Math.log10, tanh: Math.tanh, floor: Math.floor, ceil: Math.ceil };
  const SEVERAL = { min: Math.min, max: Math.max };
  const TOKEN = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.])|[a-z_]\w*|\S/giu;
  const THOUSANDS = /^[+-]?[1-9]\d{0,2}([, ])\d{3}(?:\1\d{3})*(?:\.\d*)?$/;

  const plain = (text) => text.replace(/[−–]/g, "-").replace(/[×·⋅]/g, "*").replace(/÷/g, "/")
    .replace(/\*\*/g, "^").replace(/²/g, "^2").replace(/³/g, "^3").replace(/π/g, "pi")
    .replace(/√\s*([\d.]+)/g, "sqrt($1)").replace(/√/g, "sqrt").replace(/\b(?:np|numpy|math)\./g, "")
    .replace(/\s/g, " ").replace(/^[\w ,]*=/, "").trim();

  /* The value of one expression, from left to right: sums of products of signed powers. */
  function evaluate(text, variables = {}) {
    const tokens = text.match(TOKEN) ?? [], own = (table, name) => Object.hasOwn(table, name);
    let at = 0;
    const take = (...signs) => (signs.includes(tokens[at]) ? tokens[at++] : null);
    const close = () => { if (!take(")")) throw new Error("A closing parenthesis is missing."); };
    function sum() {
      let x = product();
      for (let sign; (sign = take("+", "-"));) x += sign === "+" ? product() : -product();
      return x;
    }
    function product() {
      let x = signed();
      for (let sign; (sign = take("*", "/"));)
        x = sign === "*" ? x * signed() : x / (signed() || NaN); // as in Python, not infinity
      return x;
    }
    function signed() {
      const sign = take("+", "-");
      return sign ? (sign === "-" ? -signed() : signed()) : power();
    }
    function power() {
      const base = atom();
      return take("^") ? base ** signed() : base;
    }
    function atom() {
      const token = tokens[at++] ?? "";
      if (/^\.?\d/.test(token) && Number.isFinite(Number(token))) return Number(token);
      if (token === "(") { const x = sum(); close(); return x; }
      const one = own(ONE, token);
      if ((one || own(SEVERAL, token)) && take("(")) {
        const values = [sum()];
        while (take(",")) values.push(sum());
        if (one && values.length > 1) throw new Error(`${token} takes one number.`);
        close();
        return (one ? ONE : SEVERAL)[token](...values);
      }
      if (own(variables, token)) return variables[token];
      if (own(CONSTANTS, token)) return CONSTANTS[token];
      const names = Object.keys(variables);
      throw new Error(names.length && /^[a-z_]/i.test(token) && !one
        ? `“${token}” is not known here. The expression may contain ${names.join(", ")}.` : EXAMPLES);
    }
    const value = sum();
    if (at < tokens.length) throw new Error(EXAMPLES);
    return value;
  }

  /* The expressions of a list; brackets and parentheses around rows do not matter. */
  function pieces(text) {
    const flat = text.replace(/[[\];]/g, ",").replace(/(?<!\w)\(([^()]*,[^()]*)\)/g, ",$1,");
    if (!/,/.test(flat)) return flat.split(" ").filter(Boolean);
    let depth = 0;
    const marked = [...flat].map((c) => {
      depth += (c === "(") - (c === ")");
      return c === "," && !depth ? "\n" : c;
    });
    return marked.join("").split("\n").map((part) => part.trim()).filter(Boolean);
  }

  /* All values of `count` expressions, for each set of variables in turn. */
  function read(text, count = 1, cases = [{}]) {
    if (text.length > LONGEST) throw new Error("This is too long.");
    text = plain(text);
    if (THOUSANDS.test(text)) text = text.replace(/[, ]/g, "");
    const parts = count > 1 ? pieces(text) : [text];
    if (parts.length !== count)
      throw new Error(`Write ${count} numbers with commas between them and none inside a number.`);
    try {
      return cases.flatMap((variables) => parts.map((part) => evaluate(part, variables)));
    } catch (error) {
      throw count === 1 && /\d,\d/.test(text) ? new Error(POINT) : error;
    }
  }
  return { read, EXAMPLES, POINT };
})();
