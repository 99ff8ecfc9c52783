// Which view is shown, and the theme.

import { overview } from "./overview.js";
import { queryView } from "./query.js";
import { liveView } from "./live.js";
import { rejectsView } from "./rejects.js";

const VIEWS = [
  [/^#\/query\/([^/]+)$/, ([, name]) => liveView(decodeURIComponent(name))],
  [/^#\/query(?:\?(.*))?$/, ([, options]) => queryView(new URLSearchParams(options))],
  [/^#\/rejects$/, () => rejectsView()],
  [/^/, () => overview()],
];
let leaving = new AbortController();

function show() {
  leaving.abort(); // the view before stops what it follows
  leaving = new AbortController();
  const place = location.hash || "#/";
  const [pattern, view] = VIEWS.find(([pattern]) => pattern.test(place));
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href");
    link.toggleAttribute("aria-current", here === "#/" ? place === "#/" : place.startsWith(here));
  }
  const main = document.getElementById("view");
  const { title, start, content } = view(pattern.exec(place));
  document.title = title ? `${title} – Freshet` : "Freshet";
  main.replaceChildren(...[content].flat());
  start?.(leaving.signal);
}

const THEME = "freshet-theme";
document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? "auto";
document.getElementById("theme").onclick = () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme;
  const next = now === "dark" || (now === "auto" && isDark) ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem(THEME, next);
};
addEventListener("hashchange", show);
show();
