// A text field for queries: colours, a mark where the parser objects, and completion.

import { h } from "./dom.js";

const KEYWORDS = (
  "SELECT CONSTRUCT ASK DESCRIBE WHERE FILTER OPTIONAL MINUS UNION GRAPH SERVICE BIND VALUES DISTINCT REDUCED FROM NAMED " +
  "WINDOW ON STREAM REGISTER RSTREAM ISTREAM DSTREAM QUERY RANGE STEP SLIDE TRIPLES NOW ALL AS GROUP BY HAVING ORDER ASC DESC " +
  "LIMIT OFFSET PREFIX BASE EXISTS NOT IN COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT COMPUTED EVERY a true false"
).split(" ");
const TOKEN = new RegExp(
  [
    "(?<comment>#[^\\n]*)",
    "(?<iri><[^\\s<>\"{}|^`\\\\]*>)",
    "(?<string>\"\"\"[\\s\\S]*?\"\"\"|'''[\\s\\S]*?'''|\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*')",
    "(?<variable>[?$]\\w+)",
    `(?<keyword>\\b(?:${KEYWORDS.join("|")})\\b)`,
    "(?<name>[\\w-]*:[\\w.%-]*|\\w+)",
  ].join("|"),
  "gi",
);
const WORD_BEFORE = /[<?]?[\w:/#.-]*$/;

/** An editor; `onChange` gets its text, `vocabulary()` what to complete. */
export function editor(text, { onChange, vocabulary, onRun }) {
  const shown = h("code");
  const backdrop = h("pre", { "aria-hidden": "true" }, shown);
  const list = h("ul", { class: "completions", role: "listbox", id: "completions", hidden: true });
  const area = h("textarea", {
    spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Query", "aria-describedby": "problem", rows: "14",
    "aria-controls": "completions",
    oninput: () => changed(true), onscroll: () => (backdrop.scrollTop = area.scrollTop), onkeydown: pressed, onblur: () => (list.hidden = true),
  });
  let mark = null;
  area.value = text;

  function paint() {
    const source = area.value;
    const pieces = [];
    let at = 0;
    const add = (end, kind) => {
      if (end > at) pieces.push(...marked(at, source.slice(at, end), kind, mark));
      at = end;
    };
    for (const found of source.matchAll(TOKEN)) {
      add(found.index, null);
      add(found.index + found[0].length, Object.keys(found.groups).find((kind) => found.groups[kind] != null));
    }
    add(source.length, null);
    if (mark && mark.from >= source.length) pieces.push(h("span", { class: "t-error" }, " "));
    shown.replaceChildren(...pieces, "\n");
  }

  function changed(complete) {
    mark = null;
    paint();
    onChange(area.value);
    if (complete) offer(2);
  }

  function offer(least) {
    const word = WORD_BEFORE.exec(area.value.slice(0, area.selectionStart))[0];
    const wanted = word.toLowerCase();
    const found = word.length >= least ? candidates(wanted, vocabulary(), area.value).slice(0, 12) : [];
    list.hidden = !found.length || (found.length === 1 && found[0].toLowerCase() === wanted);
    list.replaceChildren(...found.map((each, at) =>
      h("li", { role: "option", "aria-selected": String(at === 0), onmousedown: (event) => { event.preventDefault(); take(each); } }, each)));
    const line = area.value.slice(0, area.selectionStart).split("\n").length;
    list.style.top = `${Math.min(line * 1.3125 + 0.9, 15)}rem`;
    list.style.left = ".75rem";
  }

  function take(word) {
    const end = area.selectionStart;
    const start = end - WORD_BEFORE.exec(area.value.slice(0, end))[0].length;
    area.setRangeText(word, start, end, "end");
    list.hidden = true;
    changed(false);
  }

  function pressed(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return onRun();
    if (event.ctrlKey && event.key === " ") return event.preventDefault(), offer(0);
    if (list.hidden) return;
    const options = [...list.children];
    const at = options.findIndex((option) => option.ariaSelected === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = (at + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
      options.forEach((option, place) => (option.ariaSelected = place === next));
      options[next].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      take(options[at].textContent);
    } else if (event.key === "Escape") list.hidden = true;
  }

  paint();
  return {
    element: h("div", { class: "editor" }, backdrop, area, list),
    get text() { return area.value; },
    set text(value) { area.value = value; changed(false); },
    /** Marks the word at a line and column, counted from one. */
    markAt(line, column) {
      const before = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      const from = before + column - 1;
      mark = { from, to: from + Math.max(1, /^[^\s{}();,]*/.exec(area.value.slice(from))[0].length) };
      paint();
    },
    goTo() {
      area.focus();
      if (mark) area.setSelectionRange(mark.from, mark.to);
    },
  };
}

/** A piece of text in its colour, with the part of it that is marked as wrong apart. */
function marked(at, text, kind, mark) {
  const style = kind && kind !== "name" ? `t-${kind}` : "";
  if (!mark || mark.to <= at || mark.from >= at + text.length) return [h("span", { class: style }, text)];
  const from = Math.max(0, mark.from - at), to = Math.min(text.length, mark.to - at);
  return [[0, from, style], [from, to, `${style} t-error`], [to, text.length, style]]
    .filter(([start, end]) => end > start)
    .map(([start, end, classes]) => h("span", { class: classes }, text.slice(start, end)));
}

/** What a word may become: variables of the query, prefixes, streams and predicates in use, keywords. */
function candidates(word, { prefixes = {}, streams = [], predicates = [] }, text) {
  const declared = { ...prefixes, ...Object.fromEntries([...text.matchAll(/PREFIX\s+([\w-]*):\s*<([^>]*)>/gi)].map((found) => [found[1], found[2]])) };
  const shorten = (iri) => {
    const found = Object.entries(declared).find(([, start]) => iri.startsWith(start) && /^[\w-]+$/.test(iri.slice(start.length)));
    return found ? `${found[0]}:${iri.slice(found[1].length)}` : null;
  };
  const iris = [...streams, ...predicates];
  const all = [
    ...new Set([...text.matchAll(/\?\w+/g)].map(String)),
    ...iris.map(shorten).filter(Boolean),
    ...iris.map((iri) => `<${iri}>`),
    ...Object.entries(prefixes).map(([name, iri]) => `PREFIX ${name}: <${iri}>`),
    ...KEYWORDS,
  ];
  const fits = (each) => {
    const lower = each.toLowerCase();
    return lower.startsWith(word) || (word.length > 2 && lower.includes(word) && !lower.startsWith("?")) || lower.startsWith(`prefix ${word}`);
  };
  return [...new Set(all.filter((each) => fits(each) && each.toLowerCase() !== word))];
}
