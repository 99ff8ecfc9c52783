// Elements without a framework. Text is always text: nothing that a server sends becomes markup.

/** An element with properties (`on…` are listeners, `class` and `aria-…` attributes) and children. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same of SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/** Tabs of one view; the arrow keys move between them. `panels` maps a title to a function that makes the panel. */
export function tabs(panels, chosen, onChoice = () => {}) {
  const panel = h("div", { role: "tabpanel", class: "panel" });
  const buttons = Object.keys(panels).map((title) =>
    h("button", { type: "button", role: "tab", onclick: () => choose(title), onkeydown: (event) => step(event, title) }, title),
  );
  function choose(title) {
    for (const button of buttons) {
      const isChosen = button.textContent === title;
      button.setAttribute("aria-selected", isChosen);
      button.tabIndex = isChosen ? 0 : -1;
    }
    panel.replaceChildren(panels[title]());
    onChoice(title);
  }
  function step(event, title) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const titles = Object.keys(panels);
    const next = (titles.indexOf(title) + way + titles.length) % titles.length;
    choose(titles[next]);
    buttons[next].focus();
  }
  choose(chosen in panels ? chosen : Object.keys(panels)[0]);
  return [h("div", { role: "tablist", class: "tabs" }, buttons), panel];
}

/** What an empty place says: what to do next. */
export function empty(...children) {
  return h("div", { class: "empty" }, ...children);
}

/** 1234567 as 1,234,567. */
export function count(number) {
  return number == null ? "–" : Math.round(number).toLocaleString("en");
}

/** A time of the stream, in milliseconds: a date where it can be one, a number where it is small. */
export function time(ms) {
  if (ms == null) return "–";
  if (Math.abs(ms) < 10 * 365 * 86400e3) return `${(ms / 1000).toLocaleString("en")} s`;
  return new Date(ms).toISOString().replace("T", " ").replace(/\.000Z$|Z$/, "");
}
