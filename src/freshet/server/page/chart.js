// A number by time, a line a group.

import { empty, h, s, time } from "./dom.js";
import { numberOf, short } from "./terms.js";

const COLOURS = ["#0b7285", "#d9480f", "#5f3dc4", "#2b8a3e", "#c2255c", "#1864ab", "#e67700", "#087f5b", "#862e9c", "#495057", "#a61e4d", "#364fc7"];
const WIDTH = 900, HEIGHT = 340, LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 28;
const MOST_POINTS = 20000;

/** Points of the reports so far: `{time, number, group}`. */
export function chartPoints(reports, value, group) {
  const points = [];
  for (const report of reports)
    if (report.stream !== "dstream")
      for (const row of report.bindings ?? []) {
        const number = numberOf(row[value]);
        if (number != null) points.push({ time: report.time, number, group: group ? short(row[group]) : value });
      }
  return points.slice(-MOST_POINTS);
}

/** The chart of some points. */
export function chart(points, label) {
  if (points.length === 0) return empty("No numbers yet. A chart needs a variable with numbers; choose one above, or wait for an answer.");
  const groups = Map.groupBy(points, (point) => point.group);
  const [from, to] = extent(points.map((point) => point.time), 1000);
  const [low, high] = extent(points.map((point) => point.number), 1);
  const x = (at) => LEFT + ((at - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const y = (number) => HEIGHT - BOTTOM - ((number - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const shown = [...groups].slice(0, COLOURS.length);
  return h("figure", { class: "figure", style: "margin:0" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label} by time, ${shown.length} lines` },
      ticks(low, high, 5).map((number) => [
        s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(number), y2: y(number) }),
        s("text", { x: LEFT - 6, y: y(number) + 4, "text-anchor": "end" }, number.toLocaleString("en", { maximumSignificantDigits: 6 })),
      ]),
      ticks(from, to, 4, timeStep).map((at) => s("text", { x: Math.min(x(at), WIDTH - 24), y: HEIGHT - 8, "text-anchor": "middle" }, time(at).replace(/^\d{4}-\d\d-\d\d /, ""))),
      shown.map(([group, line], at) => [
        s("polyline", { points: line.map((point) => `${x(point.time).toFixed(1)},${y(point.number).toFixed(1)}`).join(" "), fill: "none", stroke: COLOURS[at], "stroke-width": 2 }),
        line.slice(-60).map((point) => s("circle", { cx: x(point.time), cy: y(point.number), r: 2.5, fill: COLOURS[at] }, s("title", {}, `${group}: ${point.number} at ${time(point.time)}`))),
      ])),
    h("figcaption", { class: "legend" }, shown.map(([group], at) => h("span", { style: `--colour: ${COLOURS[at]}` }, group)),
      groups.size > shown.length ? h("em", {}, `${groups.size - shown.length} groups more are not drawn`) : null));
}

function extent(numbers, least) {
  let low = Infinity, high = -Infinity;
  for (const number of numbers) [low, high] = [Math.min(low, number), Math.max(high, number)];
  return high - low < 1e-9 ? [low - least, high + least] : [low, high];
}

/** Round numbers within a range. */
function ticks(low, high, count, roundUp = decimalStep) {
  const step = roundUp((high - low) / count);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

function decimalStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
}

/** Whole seconds, minutes, hours or days, in milliseconds. */
function timeStep(rough) {
  const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return 1000 * (seconds.find((each) => 1000 * each >= rough) ?? 86400 * Math.ceil(rough / 86400e3));
}
