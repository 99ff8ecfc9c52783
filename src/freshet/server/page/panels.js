// Reports of a query as table, chart and map, drawn again as they come.

import { answersTable, whyButton } from "./table.js";
import { chart, chartPoints } from "./chart.js";
import { empty, h, time } from "./dom.js";
import { map, placeOf } from "./map.js";
import { numberOf, variablesOf } from "./terms.js";

const MOST_ROWS = 300;

/** Panels for tabs over an array that grows; `redraw` when it has. `waiting` is said while it is empty, `onWhy` gets a report's id and the row. */
export function answerPanels(reports, { waiting, onWhy = null }) {
  let draw = () => {};
  let chosen = { value: null, group: null, label: null };
  let frame = 0;

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
    if (!reports.length) return empty(waiting);
    const last = reports.at(-1);
    if ((last.triples ?? last.quads) != null) return graphs(reports.slice(-20).reverse());
    if (last.stream === "rstream") {
      const shown = newRows().slice(0, MOST_ROWS), gone = (last.gone ?? []).slice(0, MOST_ROWS);
      const marks = [...shown.map((_, at) => last.marks?.[at] ?? ""), ...gone.map(() => "gone")];
      return answersTable([...shown, ...gone], variablesOf([...newRows(), ...gone]), { marks, onWhy: onWhy && ((at) => onWhy(last.id, at)) });
    }
    const rows = reports.slice(-MOST_ROWS).reverse().flatMap((report) => (report.bindings ?? []).map((row, number) => ({ report, row, number }))).slice(0, MOST_ROWS);
    return answersTable(rows.map(({ row }) => row), variablesOf(rows.map(({ row }) => row)), {
      onWhy: onWhy && ((at) => onWhy(rows[at].report.id, rows[at].number)),
      times: rows.map(({ report }) => report.time),
      marks: rows.map(({ report }) => (report.stream === "dstream" ? "gone" : "")),
    });
  });

  /** Triples or quads of CONSTRUCT, each with its explanation. */
  const graphs = (shown) => {
    const lines = shown.flatMap((report) => (report.triples ?? report.quads).split("\n").filter(Boolean).map((triple, number) => ({ report, triple, number }))).slice(0, MOST_ROWS);
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" }, h("table", {}, h("tbody", {},
      lines.map(({ report, triple, number }, at) => h("tr", {},
        h("td", {}, time(report.time)), h("td", { title: triple }, h("code", {}, triple)),
        onWhy && h("td", { class: "ask" }, whyButton(at, () => onWhy(report.id, number))))))));
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

  /** A panel that stays as it is. */
  const still = (make) => () => {
    draw = () => {};
    return make();
  };

  return { panels: { Table: table, Chart: charted, Map: mapped }, redraw, still };
}

/** The newest solution of each place, for answers that come one by one. */
function newest(reports) {
  const found = new Map();
  for (const report of reports) for (const row of report.bindings ?? []) if (placeOf(row)) found.set(String(placeOf(row)), row);
  return [...found.values()];
}
