// A plan as a tree, with the rows and times that were measured.

import { count, empty, h } from "./dom.js";

/** The tree of operators of a plan, or of nodes of a query. */
export function planTree(root) {
  if (!root) return empty("There is no plan.");
  const most = Math.max(1e-6, ...all(root).map((node) => node.seconds ?? 0));
  return h("ul", { class: "plan" }, item(root, most));
}

const all = (node) => [node, ...(node.children ?? []).flatMap(all)];

function item(node, most) {
  const isAnew = node.how && node.how !== "by increments";
  const facts = [
    node.came == null ? null : `${count(node.came)} rows came`,
    node.went == null ? null : `${count(node.went)} went`,
    node.seconds == null ? null : `${(1000 * node.seconds).toFixed(1)} ms`,
  ].filter(Boolean);
  const children = node.children ?? [];
  return h("li", {},
    h("span", { class: "operator" }, node.text ?? describe(node)),
    isAnew ? h("span", { class: "anew" }, ` ${node.how}`) : null,
    facts.length ? h("span", { class: "soft" }, ` ${facts.join(", ")} `) : null,
    node.seconds == null ? null : h("meter", { min: 0, max: most, value: node.seconds, "aria-label": "share of the time" }),
    children.length ? h("ul", {}, children.map((child) => item(child, most))) : null);
}

function describe({ node, children, ...rest }) {
  const details = Object.values(rest).filter((value) => value != null).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return `${node ?? "?"} ${details.join(" ")}`;
}
