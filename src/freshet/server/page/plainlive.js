// A query of the stored graph that stays: its answer as it changes.

import * as api from "./api.js";
import { answerPanels } from "./panels.js";
import { connection } from "./connection.js";
import { count, h, tabs } from "./dom.js";

const MOST_REPORTS = 500, MOST_ROWS = 50_000; // that the chart remembers

/** The answer of a query as table, chart and map, until it is stopped or the view is left. */
export function plainLive(text, { signal, onProblem }) {
  const stopping = new AbortController();
  signal?.addEventListener("abort", () => stopping.abort());
  const reports = [];
  let rows = new Map(); // by what they are, with how often: the answer is a bag
  const state = h("p", { class: "soft", role: "status" }, "Waiting for the answer …");
  const { panels, redraw } = answerPanels(reports, { waiting: "The answer is being computed." });
  const stop = h("button", { type: "button", onclick: () => {
    stopping.abort();
    connection("connected", "");
    stop.disabled = true;
    state.textContent += " Stopped.";
  } }, "Stop");

  function change(row, by) {
    const key = JSON.stringify(row);
    const entry = rows.get(key) ?? { row, times: 0 };
    entry.times += by;
    if (entry.times > 0) rows.set(key, entry);
    else rows.delete(key);
  }

  function take({ type, data }) {
    const [added, removed] = changeOf(type === "answer", data, () => [...rows.values()].map(({ row }) => row));
    if (type === "answer") rows = new Map();
    removed.forEach((row) => change(row, -1));
    added.forEach((row) => change(row, 1));
    const bindings = [...rows.values()].flatMap(({ row, times }) => Array(times).fill(row));
    const fresh = new Set(type === "answer" ? [] : added.map((row) => JSON.stringify(row)));
    const marks = bindings.map((row) => (fresh.has(JSON.stringify(row)) ? "new" : ""));
    reports.push({ time: Date.now(), stream: "rstream", bindings, marks, gone: removed });
    for (let held = reports.reduce((sum, each) => sum + each.bindings.length, 0);
      reports.length > 1 && (reports.length > MOST_REPORTS || held > MOST_ROWS);) held -= reports.shift().bindings.length;
    const news = type === "answer" ? "" : ` The last change added ${count(added.length)} and removed ${count(removed.length)}.`;
    state.textContent = `${count(bindings.length)} solutions, live.${news}`;
    redraw();
  }

  api.followLive(text, {
    signal: stopping.signal, onEvent: take,
    onState: (now) => connection(now === "connected" ? "connected" : "lost", now),
  }).catch(onProblem);
  return { stop: () => stopping.abort(), elements: [h("div", { class: "bar" }, state, h("span", { class: "end" }, stop)), ...tabs(panels)] };
}

/** What an event adds and removes, as rows: solutions, the triples of a CONSTRUCT or DESCRIBE, or the answer to ASK. */
function changeOf(isAnswer, data, before) {
  if (data.boolean != null) return [[text("answer", data.boolean ? "yes" : "no")], isAnswer ? [] : before()];
  if (data.results) return [data.results.bindings, []];
  if (isAnswer) return [triples(data.triples), []];
  return [data.added, data.removed].map((part) => (Array.isArray(part) ? part : triples(part)));
}

const text = (name, value) => ({ [name]: { type: "literal", value } });
const triples = (lines) => lines.split("\n").filter(Boolean).map((line) => text("triple", line));
