// The server's HTTP interface. The page uses nothing that other clients cannot use.

const TOKEN = "freshet-token";
let asking = null; // the dialog for a token, while it is open

/** What the server refuses, with the place in the text where it says one. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.message || body.detail || `the server answered ${status}`);
    Object.assign(this, { status, line: body.line, column: body.column, hint: body.hint });
  }
}

async function send(method, path, { body, type, accept = "application/json", headers = {}, signal } = {}) {
  const all = { Accept: accept, ...headers };
  if (type) all["Content-Type"] = type;
  const token = sessionStorage.getItem(TOKEN);
  if (token) all.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { method, body, headers: all, signal });
  if (response.status === 401) {
    await askForToken();
    return send(method, path, { body, type, accept, headers, signal });
  }
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
  return response;
}

function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token");
    dialog.onclose = () => {
      sessionStorage.setItem(TOKEN, dialog.querySelector("input").value);
      asking = null;
      resolve();
    };
    dialog.showModal();
  });
  return asking;
}

const json = async (...request) => (await send(...request)).json();
const named = (name) => `/queries/${encodeURIComponent(name)}`;
const QUERY = "application/sparql-query";
const EVENTS = "text/event-stream";

export const streams = () => json("GET", "/streams");
export const queries = () => json("GET", "/queries");
export const query = (name) => json("GET", named(name));
export const plan = (name) => json("GET", `${named(name)}/plan`);
export const get = (path) => json("GET", path);
export const whyPath = (name, id, row) => `${named(name)}/why?${new URLSearchParams({ id, row })}`;
export const vocabulary = () => json("GET", "/vocabulary");
export const rejects = () => json("GET", "/rejects");
export const explain = (text) => json("POST", "/explain", { body: text, type: QUERY });
export const ask = (text) => json("POST", "/sparql", { body: text, type: QUERY, accept: "application/sparql-results+json, application/n-triples;q=0.1" });
export const register = (name, text) => send("PUT", named(name), { body: text, type: QUERY });
export const unregister = (name) => send("DELETE", named(name));

/** The answer of a query that constructs a graph, as text. */
export async function askGraph(text) {
  return (await send("POST", "/sparql", { body: text, type: QUERY, accept: "text/turtle, application/trig;q=0.5" })).text();
}

/** Reports of a query, one by one, for as long as the signal lasts; a break is resumed after the last report. */
export function follow(name, { signal, onReport, onState, newest = 100 }) {
  const open = (last) => send("GET", `${named(name)}/answers${last == null ? `?newest=${newest}` : ""}`, {
    accept: EVENTS, headers: last == null ? {} : { "Last-Event-ID": last }, signal });
  return keepOpen(open, { signal, onState, onEvent: ({ id, data }) => onReport({ id, ...data }) });
}

/** A plain query that stays: `onEvent` gets `answer`, the whole of it, and then each `change`. After a break the whole comes again. */
export function followLive(text, { signal, onEvent, onState }) {
  return keepOpen(() => send("POST", "/sparql", { body: text, type: QUERY, accept: EVENTS, signal }),
    { signal, onEvent, onState, goesOn: (reason) => /server stops/.test(reason) });
}

async function keepOpen(open, { signal, onEvent, onState, goesOn = () => true }) {
  let last = null, isKnown = false;
  for (let pause = 250; !signal.aborted; pause = Math.min(2 * pause, 5000)) {
    try {
      const response = await open(last);
      onState("connected");
      isKnown = true;
      pause = 250;
      for await (const event of parseEvents(response.body)) {
        if (event.id) last = event.id;
        const data = JSON.parse(event.data);
        if (event.type !== "end") onEvent({ ...event, data });
        else if (goesOn(data.end)) onState(data.end);
        else throw new Problem(0, { detail: data.end });
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status === 410) last = null;
      else if (error instanceof Problem && (error.status < 500 || !isKnown)) throw error;
    }
    onState("reconnecting");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Server-sent events of a body (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export async function* parseEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { type: "message", id: "", data: "" };
      const lines = [];
      for (const line of block.split(/\r?\n/)) {
        const at = line.indexOf(":");
        const [field, text] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
        if (field === "event") event.type = text;
        else if (field === "id") event.id = text;
        else if (field === "data") lines.push(text);
      }
      if (!lines.length && event.type === "message") continue;
      yield { ...event, data: lines.join("\n") };
    }
  }
}
