// Why a row was reported: the elements, stored triples and source records that it was derived from.

import * as api from "./api.js";
import { count, h, time } from "./dom.js";
import { short, whole } from "./terms.js";

const MOST_SHOWN = 50;

/** A panel that explains one row after another. `show(name, id, row)` asks; Escape and the button close it. */
export function whyPanel() {
  let opener = null;
  const heading = h("h2", { tabindex: "-1" }, "Why?");
  const content = h("div", { "aria-live": "polite" });
  const close = () => {
    panel.hidden = true;
    if (opener?.isConnected) opener.focus();
  };
  const panel = h("section", { class: "why", hidden: true, "aria-label": "Why this row", onkeydown: (event) => event.key === "Escape" && close() },
    h("div", { class: "bar" }, heading, h("button", { type: "button", class: "end", onclick: close }, "Close")),
    content);

  async function ask(path) {
    panel.hidden = false;
    content.replaceChildren("…");
    try {
      content.replaceChildren(...explained(await api.get(path), ask));
    } catch (error) {
      content.replaceChildren(h("p", { class: "error", role: "alert" }, error.message, error.hint ? ` (${error.hint})` : ""));
    }
    heading.focus({ preventScroll: true });
    panel.scrollIntoView();
  }

  return {
    panel,
    show: (name, id, row) => {
      opener = document.activeElement;
      return ask(api.whyPath(name, id, row));
    },
  };
}

/** The parts of an explanation. */
function explained(why, ask) {
  const row = Object.entries(why.row).map(([name, term]) => h("span", { title: whole(term) }, h("b", {}, `?${name}`), ` ${short(term)}`));
  const records = [...new Set(allElements(why.derivations).map((element) => element.record).filter(Boolean))];
  return [
    h("p", { class: "row" }, row),
    h("p", { class: "soft" }, `${why.query} at ${time(why.time)}, derived in ${count(why.total)} ${why.total === 1 ? "way" : "ways"}` +
      (why.total > why.derivations.length ? `, of which ${count(why.derivations.length)} are shown` : "")),
    ...why.derivations.slice(0, MOST_SHOWN).map((derivation) => derivationView(derivation, ask)),
    records.length ? h("details", {}, h("summary", {}, `${count(records.length)} source ${records.length === 1 ? "record" : "records"}`),
      h("ul", {}, records.map((record) => h("li", {}, h("code", {}, record))))) : null,
  ].filter(Boolean);
}

function allElements(derivations) {
  return derivations.flatMap((each) => [...each.elements, ...(each.members ?? []).flatMap((members) => allElements(members.derivations))]);
}

function derivationView(derivation, ask) {
  const notes = [
    ...(derivation.branches ?? []),
    ...(derivation.unmatched ?? []).map((text) => `found nothing: ${text}`),
    ...(derivation.absent ?? []).map((text) => `nothing matches ${text}`),
    ...(derivation.slices ?? []).map((text) => `within ${text}`),
  ];
  return h("div", { class: "derivation" },
    derivation.elements.length ? triples("Elements of windows", derivation.elements, ask) : null,
    derivation.stored.length ? triples("Stored triples", derivation.stored, ask) : null,
    (derivation.remote ?? []).map(({ endpoint, row }) => h("p", {}, h("code", {}, endpoint),
      Object.keys(row).length ? " gave now" : " failed, and SILENT ignores that",
      Object.entries(row).map(([name, term]) => h("span", { title: whole(term) }, h("b", {}, ` ?${name}`), ` ${short(term)}`)))),
    notes.length ? h("ul", { class: "soft" }, notes.map((note) => h("li", {}, note))) : null,
    (derivation.members ?? []).map((members) => [
      h("p", {}, `${count(members.total)} ${members.kind === "group" ? "members of the group" : "equal solutions"}` +
        (members.total > members.derivations.length ? `, of which ${count(members.derivations.length)} are shown` : "")),
      membersView(members, ask)]));
}

/** The members of a group: one by one only where there is more to say of them than what they matched. */
function membersView(members, ask) {
  const shown = members.derivations;
  const isPlain = (each) => !each.members && !each.remote && !each.unmatched && !each.absent && !each.branches;
  if (!shown.every(isPlain)) return shown.slice(0, MOST_SHOWN).map((each) => derivationView(each, ask));
  const elements = distinct(shown.flatMap((each) => each.elements)).sort((one, other) => one.time - other.time);
  const stored = distinct(shown.flatMap((each) => each.stored));
  return derivationView({ elements, stored }, ask);
}

function distinct(rows) {
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

/** Elements or stored triples as a table. */
function triples(title, rows, ask) {
  const cell = (term) => h("td", { title: whole(term) }, short(term));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    h("table", {},
      h("caption", {}, title),
      h("tbody", {}, rows.map((row) =>
        h("tr", {},
          row.time == null ? null : h("td", {}, time(row.time)),
          cell(row.subject), cell(row.predicate), cell(row.object),
          h("td", { class: "soft", title: row.stream ?? row.graph ?? "default graph" },
            row.query ? [`an answer of ${row.query} `, row.why ? h("button", { type: "button", onclick: () => ask(row.why) }, "Why?") : null]
              : row.record ?? row.records?.join(", ") ?? (row.graph ? short({ type: "uri", value: row.graph }) : "")))))));
}
