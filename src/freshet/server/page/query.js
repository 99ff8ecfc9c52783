// Write a query: errors while typing, run it once, explain it, register it.

import * as api from "./api.js";
import { count, empty, h, tabs } from "./dom.js";
import { editor } from "./editor.js";
import { plainLive } from "./plainlive.js";
import { planTree } from "./plan.js";
import { answersTable } from "./table.js";
import { variablesOf } from "./terms.js";

const MOST_ROWS = 1000, MOST_CHARACTERS = 200_000; // of an answer: more would hold up the browser
const DRAFT = "freshet-draft";
const EXAMPLE = `# Every ten seconds, the newest minute of a stream.
PREFIX ex: <http://example.org/>
REGISTER RSTREAM <hottest> AS
SELECT ?sensor (MAX(?t) AS ?max)
FROM NAMED WINDOW <w> ON <http://example.org/sensors> [RANGE PT1M STEP PT10S]
WHERE { WINDOW <w> { ?sensor ex:temperature ?t } }
GROUP BY ?sensor
`;

export function queryView(options) {
  let words = {};
  let understood = null;
  let live = null, leaving = null;
  let refused = null; // the text that could not be run: what was said of it stays until it changes
  const problem = h("span", { class: "problem", id: "problem", role: "status" });
  const name = h("input", { "aria-label": "Name of the query", placeholder: "name", size: "14", required: true });
  const result = h("section", { "aria-label": "Result" });
  const write = editor(options.get("text") ?? localStorage.getItem(DRAFT) ?? EXAMPLE, {
    vocabulary: () => words,
    onChange: (text) => { localStorage.setItem(DRAFT, text); check(); },
    onRun: () => (understood?.windows?.length ? register() : run()),
  });
  const buttons = {
    run: h("button", { type: "button", onclick: () => run() }, "Run once"),
    live: h("button", { type: "button", onclick: () => runLive() }, "Run live"),
    explain: h("button", { type: "button", onclick: () => explain() }, "Explain"),
    register: h("button", { type: "button", class: "primary", onclick: () => register() }, "Register"),
  };
  const check = debounced(350, async () => {
    const text = write.text;
    understood = null;
    try {
      const found = await api.explain(text);
      if (text !== write.text) return; // it is checked again soon
      understood = found;
      if (!name.value || name.dataset.filled) [name.value, name.dataset.filled] = [understood.name ?? "", "yes"];
      if (text !== refused) {
        problem.className = "problem soft";
        problem.replaceChildren(describe(understood));
      }
    } catch (error) {
      if (text !== write.text) return;
      objectTo(error);
    }
    const isContinuous = Boolean(understood?.windows?.length);
    buttons.run.disabled = !understood || isContinuous;
    buttons.live.disabled = buttons.run.disabled;
    buttons.explain.disabled = !understood;
    buttons.register.disabled = !isContinuous;
  });
  name.oninput = () => delete name.dataset.filled;

  function objectTo(error) {
    const place = error.line ? `line ${error.line}, column ${error.column}: ` : "";
    if (error.line) write.markAt(error.line, error.column ?? 1);
    problem.className = "problem error";
    problem.replaceChildren(`${place}${error.message}`, error.hint ? ` (${error.hint}) ` : " ",
      error.line ? h("button", { type: "button", onclick: () => write.goTo() }, "Show") : "");
  }

  function refuse(error) {
    refused = write.text;
    objectTo(error);
  }

  async function attempt(task) {
    live?.stop();
    live = refused = null;
    try {
      await task();
    } catch (error) {
      refuse(error);
    }
  }

  const run = () => attempt(async () => {
    result.replaceChildren(h("p", { class: "soft" }, "Running …"));
    const started = performance.now();
    const took = () => `${Math.round(performance.now() - started)} ms`;
    if (["construct", "describe"].includes(understood?.form)) {
      const graph = await api.askGraph(write.text), shown = graph.slice(0, MOST_CHARACTERS);
      const size = shown === graph ? "" : `${count(graph.length)} characters, the first ${count(MOST_CHARACTERS)} are shown; `;
      result.replaceChildren(h("pre", {}, shown), h("p", { class: "soft" }, size, took()));
      return;
    }
    const answer = await api.ask(write.text);
    const rows = answer.results?.bindings ?? [];
    result.replaceChildren(
      answer.results == null ? h("p", {}, answer.boolean ? "Yes." : "No.")
        : rows.length ? answersTable(rows.slice(0, MOST_ROWS), answer.head.vars ?? variablesOf(rows)) : empty("The answer is empty."),
      h("p", { class: "soft" }, `${count(rows.length)} solutions, ${rows.length > MOST_ROWS ? `the first ${count(MOST_ROWS)} are shown, ` : ""}${took()}`));
  });

  const runLive = () => attempt(async () => {
    const onProblem = (error) => { result.replaceChildren(); refuse(error); };
    live = plainLive(write.text, { signal: leaving, onProblem });
    result.replaceChildren(...live.elements);
  });

  const explain = () => attempt(async () => {
    const found = await api.explain(write.text);
    result.replaceChildren(...tabs({
      ...(found.operators ? { Operators: () => planTree(found.operators) } : {}),
      Query: () => planTree(found.rewritten?.root ?? found.rewritten ?? found.root),
    }));
  });

  const register = () => attempt(async () => {
    if (!name.reportValidity()) return;
    await api.register(name.value, write.text);
    location.hash = `#/query/${encodeURIComponent(name.value)}`;
  });

  return {
    title: "Query",
    content: [
      h("h1", {}, "Query"), write.element, problem,
      h("div", { class: "bar" }, buttons.run, buttons.live, buttons.explain, h("span", { class: "end bar" }, h("label", {}, "as ", name), buttons.register)),
      h("p", { class: "soft" }, "SPARQL 1.2, RSP-QL, C-SPARQL or CQELS-QL. Ctrl+Space completes, Ctrl+Enter runs."),
      result,
    ],
    start: async (signal) => {
      leaving = signal;
      check();
      words = await api.vocabulary().catch(() => ({}));
    },
  };
}

function describe(query) {
  if (query.refused) return `cannot be kept answered: ${query.refused}`;
  if (!query.windows?.length) return "a query of the stored graph";
  return `continuous, over ${query.windows.map((window) => window.stream ?? window.name).join(", ")}`;
}

function debounced(pauseMs, task) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(task, pauseMs);
  };
}
