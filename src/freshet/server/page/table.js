// Solutions as a table.

import { h, time } from "./dom.js";
import { numberOf, short, whole } from "./terms.js";

/** A table of solutions, with the time of each and a mark where they are given; `onWhy` is called with the row's number. */
export function answersTable(rows, variables, { marks = [], times = [], onWhy = null } = {}) {
  const isNumber = (name) => rows.some((row) => numberOf(row[name]) != null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" },
    h("table", {},
      h("thead", {}, h("tr", {},
        times.length ? h("th", { scope: "col" }, "time") : null,
        variables.map((name) => h("th", { scope: "col", class: isNumber(name) ? "number" : "" }, `?${name}`)),
        onWhy ? h("th", {}) : null)),
      h("tbody", {}, rows.map((row, at) =>
        h("tr", { class: marks[at] ?? "" },
          times.length ? h("td", {}, time(times[at])) : null,
          variables.map((name) => h("td", { class: numberOf(row[name]) == null ? "" : "number", title: whole(row[name]) }, short(row[name]))),
          onWhy ? h("td", { class: "ask" }, whyButton(at, onWhy)) : null)))));
}

/** A button that asks for the explanation of a row. */
export function whyButton(at, onWhy) {
  return h("button", { type: "button", "data-why": at, title: "Why was this row reported?", onclick: () => onWhy(at) }, "Why?");
}
