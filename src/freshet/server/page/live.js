// The answers of one registered query as they come: table, chart, map, and its plan.

import * as api from "./api.js";
import { answersTable, whyButton } from "./table.js";
import { chart, chartPoints } from "./chart.js";
import { count, empty, h, tabs, time } from "./dom.js";
import { connection } from "./connection.js";
import { map, placeOf } from "./map.js";
import { planTree } from "./plan.js";
import { numberOf, variablesOf } from "./terms.js";
import { whyPanel } from "./why.js";

const MOST_REPORTS = 2000, MOST_ROWS = 300;

export function liveView(name) {
  const reports = [];
  let draw = () => {};
  let chosen = { value: null, group: null, label: null };
  let frame = 0;
  const state = h("p", { class: "soft", role: "status" }, "Waiting for the first answer …");
  const problem = h("p", { class: "error", role: "alert" });
  const text = h("pre", { hidden: true });
  const why = whyPanel();

  const newRows = () => (reports.at(-1)?.bindings ?? []);
  const redraw = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => draw());
  };

  /** A panel that is drawn again with every report. */
  const living = (make) => () => {
    const place = h("div");
    draw = () => {
      const focused = place.contains(document.activeElement) ? document.activeElement.dataset.why : null;
      place.replaceChildren(...[make()].flat());
      if (focused != null) place.querySelector(`[data-why="${focused}"]`)?.focus();
    };
    draw();
    return place;
  };

  const table = living(() => {
    if (!reports.length) return empty("No answer yet. The query is registered; its answers appear here when its windows close.");
    const last = reports.at(-1);
    if (last.triples != null) return graphs(reports.slice(-20).reverse());
    if (last.stream === "rstream")
      return answersTable(newRows().slice(0, MOST_ROWS), variablesOf(newRows()), { onWhy: (at) => why.show(name, last.id, at) });
    const rows = reports.slice(-MOST_ROWS).reverse().flatMap((report) => (report.bindings ?? []).map((row, number) => ({ report, row, number }))).slice(0, MOST_ROWS);
    return answersTable(rows.map(({ row }) => row), variablesOf(rows.map(({ row }) => row)), {
      onWhy: (at) => why.show(name, rows[at].report.id, rows[at].number),
      times: rows.map(({ report }) => report.time),
      marks: rows.map(({ report }) => (report.stream === "dstream" ? "gone" : "")),
    });
  });

  /** Triples of CONSTRUCT, each with its explanation. */
  const graphs = (shown) => {
    const lines = shown.flatMap((report) => report.triples.split("\n").filter(Boolean).map((triple, number) => ({ report, triple, number }))).slice(0, MOST_ROWS);
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" }, h("table", {}, h("tbody", {},
      lines.map(({ report, triple, number }, at) => h("tr", {},
        h("td", {}, time(report.time)), h("td", { title: triple }, h("code", {}, triple)),
        h("td", { class: "ask" }, whyButton(at, () => why.show(name, report.id, number))))))));
  };

  const choice = (title, key, names) =>
    h("label", {}, `${title} `, h("select", { onchange: (event) => { chosen[key] = event.target.value; redraw(); } },
      names.map((each) => h("option", { value: each, ...(each === chosen[key] ? { selected: true } : {}) }, each ? `?${each}` : "none"))));

  function choose() {
    const rows = reports.slice(-5).flatMap((report) => report.bindings ?? []);
    const names = variablesOf(rows);
    const numbers = names.filter((each) => rows.some((row) => numberOf(row[each]) != null));
    const words = names.filter((each) => !numbers.includes(each));
    chosen.value ??= numbers.find((each) => !/^(lat|long?|lng|latitude|longitude)$/i.test(each)) ?? null;
    chosen.group ??= words[0] ?? null;
    chosen.label ??= words.find((each) => !rows.some((row) => /POINT/.test(row[each]?.value ?? ""))) ?? null;
    return { numbers, words };
  }

  const charted = living(() => {
    const { numbers, words } = choose();
    return [
      h("div", { class: "bar" }, choice("Number", "value", numbers), choice("a line for each", "group", [...words, ""])),
      chart(chosen.value ? chartPoints(reports, chosen.value, chosen.group) : [], chosen.value),
    ];
  });

  const mapped = living(() => {
    const { numbers, words } = choose();
    const latest = reports.at(-1)?.stream === "rstream" ? newRows() : newest(reports);
    return [
      h("div", { class: "bar" }, choice("Number", "value", [...numbers, ""]), choice("label", "label", [...words, ""])),
      map(latest, chosen.value, chosen.label),
    ];
  });

  const planned = () => {
    const place = h("div", {}, "…");
    draw = () => {};
    api.plan(name).then((plan) => place.replaceChildren(planTree(plan.operators ?? plan)), (error) => place.replaceChildren(empty(error.message)));
    return place;
  };

  async function remove() {
    if (!confirm(`Remove the query ${name}?`)) return;
    try {
      await api.unregister(name);
      location.hash = "#/";
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  return {
    title: name,
    content: [
      h("h1", {}, name), state, problem,
      h("div", { class: "bar" },
        h("button", { type: "button", onclick: () => (text.hidden = !text.hidden) }, "Text"),
        h("a", { class: "button", id: "edit", href: "#/query" }, "Edit a copy"),
        h("button", { type: "button", class: "end", onclick: remove }, "Remove")),
      text,
      ...tabs({ Table: table, Chart: charted, Map: mapped, Plan: planned }, sessionStorage.getItem("freshet-tab"), (tab) => sessionStorage.setItem("freshet-tab", tab)),
      why.panel,
    ],
    start: (signal) => {
      api.query(name).then((query) => {
        text.textContent = query.text;
        document.getElementById("edit").href = `#/query?${new URLSearchParams({ text: query.text })}`;
      }, (error) => (problem.textContent = error.message));
      api.follow(name, {
        signal,
        onReport: (report) => {
          reports.push(report);
          if (reports.length > MOST_REPORTS) reports.splice(0, reports.length - MOST_REPORTS);
          state.textContent = `${count(reports.length)} reports, the newest at ${time(report.time)} with ${count(report.bindings?.length ?? 0)} answers (${report.stream})`;
          redraw();
        },
        onState: (now) => connection(now === "connected" ? "connected" : "lost", now),
      }).catch((error) => (problem.textContent = error.message));
    },
  };
}

/** The newest solution of each place, for answers that come one by one. */
function newest(reports) {
  const found = new Map();
  for (const report of reports) for (const row of report.bindings ?? []) if (placeOf(row)) found.set(String(placeOf(row)), row);
  return [...found.values()];
}
