// The answers of one registered query as they come: table, chart, map, and its plan.

import * as api from "./api.js";
import { count, empty, h, tabs, time } from "./dom.js";
import { connection } from "./connection.js";
import { answerPanels } from "./panels.js";
import { planTree } from "./plan.js";
import { whyPanel } from "./why.js";

const MOST_REPORTS = 2000;

export function liveView(name) {
  const reports = [];
  const state = h("p", { class: "soft", role: "status" }, "Waiting for the first answer …");
  const problem = h("p", { class: "error", role: "alert" });
  const text = h("pre", { hidden: true });
  const why = whyPanel();
  const { panels, redraw, still } = answerPanels(reports, {
    waiting: "No answer yet. The query is registered; its answers appear here when its windows close.",
    onWhy: (id, row) => why.show(name, id, row),
  });

  const planned = still(() => {
    const place = h("div", {}, "…");
    api.plan(name).then((plan) => place.replaceChildren(planTree(plan.operators ?? plan)), (error) => place.replaceChildren(empty(error.message)));
    return place;
  });

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
      ...tabs({ ...panels, Plan: planned }, sessionStorage.getItem("freshet-tab"), (tab) => sessionStorage.setItem("freshet-tab", tab)),
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
