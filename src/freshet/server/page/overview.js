// The overview: streams with their rates, queries with their last answers.

import * as api from "./api.js";
import { count, empty, h, s, time } from "./dom.js";
import { repeat } from "./connection.js";
import { short } from "./terms.js";

const HISTORY = 60; // rates that the small plot shows
const LIVE = 30 * 86400e3; // ms of lag: beyond it a recording is played, and its lag means nothing

export function overview() {
  const streams = h("div", { class: "cards" });
  const queries = h("div", { class: "cards" });
  const rates = new Map();
  return {
    content: [h("h1", {}, "Overview"), h("h2", {}, "Streams"), streams, h("h2", {}, "Queries"), queries],
    start: (signal) =>
      repeat(signal, 1000, async () => {
        const [known, registered] = await Promise.all([api.streams(), api.queries()]);
        show(streams, known.streams.map((stream) => streamCard(stream, rates)), noStreams);
        show(queries, registered.queries.map(queryCard), noQueries);
      }),
  };
}

function show(place, cards, whenEmpty) {
  place.replaceChildren(...(cards.length ? cards : [whenEmpty()]));
}

/** The rate since the last look, and those before it. */
function rateOf(rates, name, total) {
  const now = performance.now();
  const known = rates.get(name) ?? { total, at: now, past: [] };
  if (now > known.at) known.past.push(((total - known.total) * 1000) / (now - known.at));
  known.past.splice(0, known.past.length - HISTORY);
  rates.set(name, Object.assign(known, { total, at: now }));
  return known.past;
}

function streamCard(stream, rates) {
  const past = rateOf(rates, stream.iri, stream.elements);
  return h("article", { class: "card" },
    h("h3", { title: stream.iri }, stream.iri),
    facts({
      elements: count(stream.elements),
      "a second": count(past.at(-1) ?? 0),
      watermark: time(stream.watermark),
      ...(Math.abs(stream.lag ?? Infinity) < LIVE ? { lag: `${(stream.lag / 1000).toFixed(1)} s` } : {}),
      late: warned(stream.late),
      ...(stream.rejected == null ? {} : { rejected: stream.rejected ? h("a", { href: "#/rejects" }, count(stream.rejected)) : "0" }),
    }),
    sparkline(past),
  );
}

function queryCard(query) {
  const last = query.newest;
  const rows = last?.bindings ?? [];
  return h("article", { class: "card" },
    h("h3", {}, h("a", { href: `#/query/${encodeURIComponent(query.name)}` }, query.name)),
    facts({ "last answer": last ? time(last.time) : query.last ? "a long one" : "none yet", subscribers: count(query.subscribers) }),
    rows.length ? h("pre", {}, rows.slice(0, 4).map(line).join("\n"), rows.length > 4 ? `\n… ${rows.length - 4} more` : "") : null,
    query.state === "failed" ? h("p", { class: "error" }, query.reason) : null,
  );
}

const line = (row) => Object.values(row).map(short).join("  ");
const warned = (number) => (number ? h("span", { class: "warn" }, count(number)) : "0");
const facts = (pairs) => h("dl", {}, Object.entries(pairs).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

function sparkline(values) {
  const most = Math.max(1, ...values);
  const points = values.map((value, at) => `${(at * 100) / (HISTORY - 1)},${30 - (28 * value) / most}`).join(" ");
  return s("svg", { class: "spark", viewBox: "0 0 100 32", preserveAspectRatio: "none", role: "img", "aria-label": "elements a second, the last minute" },
    s("polyline", { points }));
}

const noStreams = () =>
  empty(h("p", {}, "There is no stream yet. Declare one and push an element to it:"),
    h("pre", {}, `curl -X PUT ${location.origin}/streams/http://example.org/sensors\n` +
      `curl -d '1000\t<http://example.org/a> <http://example.org/temperature> \"21\" .' \\\n` +
      `     -H 'Content-Type: application/x-timed-n-triples' ${location.origin}/streams/sensors`));

const noQueries = () =>
  empty(h("p", {}, "No query is registered. Write one, and its answers appear here as data arrive."),
    h("a", { class: "button primary", href: "#/query" }, "Write a query"));
