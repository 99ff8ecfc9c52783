// Solutions with a place, on a plain map: a grid of longitude and latitude, without tiles from elsewhere.

import { empty, h, s } from "./dom.js";
import { numberOf, pointOf, short, whole } from "./terms.js";

const WIDTH = 900, HEIGHT = 520, EDGE = 36;
const LATITUDE = /^(lat|latitude)$/i, LONGITUDE = /^(long?|lng|longitude)$/i;

/** The place of a solution, [longitude, latitude], or null. */
export function placeOf(row) {
  for (const term of Object.values(row)) {
    const point = pointOf(term);
    if (point) return point;
  }
  const find = (pattern) => numberOf(row[Object.keys(row).find((name) => pattern.test(name))]);
  const [longitude, latitude] = [find(LONGITUDE), find(LATITUDE)];
  return longitude == null || latitude == null ? null : [longitude, latitude];
}

/** The map of some solutions; `value` is a variable whose number is shown by size and colour. */
export function map(rows, value, label) {
  const places = rows.map((row) => ({ row, at: placeOf(row), number: numberOf(row[value]) })).filter(({ at }) => at);
  if (places.length === 0)
    return empty("No places yet. The map shows solutions with a WKT point (geo:wktLiteral), or with ?lat and ?long.");
  const [west, east] = range(places.map(({ at }) => at[0]));
  const [south, north] = range(places.map(({ at }) => at[1]));
  const stretch = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const scale = Math.min((WIDTH - 2 * EDGE) / ((east - west) * stretch), (HEIGHT - 2 * EDGE) / (north - south));
  const x = (longitude) => WIDTH / 2 + (longitude - (west + east) / 2) * stretch * scale;
  const y = (latitude) => HEIGHT / 2 - (latitude - (south + north) / 2) * scale;
  const numbers = places.map(({ number }) => number).filter((number) => number != null);
  const [least, most] = numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : [0, 1];
  const share = (number) => (number == null || most === least ? 0.5 : (number - least) / (most - least));
  return h("figure", { class: "figure", style: "margin:0" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `map of ${places.length} places` },
      lines(west, east).map((at) => [
        s("line", { class: "grid", x1: x(at), x2: x(at), y1: 0, y2: HEIGHT }),
        s("text", { x: x(at) + 3, y: HEIGHT - 6 }, `${at}°`)]),
      lines(south, north).map((at) => [
        s("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(at), y2: y(at) }),
        s("text", { x: 3, y: y(at) - 3 }, `${at}°`)]),
      places.map(({ row, at, number }) =>
        s("g", { class: "mark" },
          s("circle", { cx: x(at[0]), cy: y(at[1]), r: 6 + 12 * share(number), fill: `hsl(${200 - 190 * share(number)} 75% 45% / .75)`, stroke: "var(--surface)" },
            s("title", {}, Object.entries(row).map(([name, term]) => `?${name} ${whole(term)}`).join("\n"))),
          label && places.length <= 60 ? s("text", { x: x(at[0]) + 9 + 12 * share(number), y: y(at[1]) + 4 }, short(row[label])) : null))),
    h("figcaption", { class: "legend" }, `${places.length} places`, numbers.length ? `, ?${value} from ${least} (blue, small) to ${most} (red, large)` : ""));
}

function range(numbers) {
  const low = Math.min(...numbers), high = Math.max(...numbers);
  return high - low < 1e-6 ? [low - 0.005, high + 0.005] : [low, high];
}

function lines(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil((low - step) / step) * step; at <= high + step; at += step) found.push(Number(at.toPrecision(10)));
  return found;
}
