// Records that could not be read, with the reason.

import * as api from "./api.js";
import { count, empty, h, time } from "./dom.js";
import { repeat } from "./connection.js";

export function rejectsView() {
  const place = h("div");
  return {
    title: "Rejects",
    content: [h("h1", {}, "Rejects"), place],
    start: (signal) =>
      repeat(signal, 3000, async () => {
        const { rejects, total } = await api.rejects();
        if (!rejects.length) {
          place.replaceChildren(empty("Nothing was rejected. What is posted to streams and cannot be read, and the records that a pipeline rejects, are listed here with the reason."));
          return;
        }
        place.replaceChildren(
          h("p", { class: "soft" }, `${count(total)} in all; the newest ${rejects.length}:`),
          h("div", { class: "scroll" }, h("table", {},
            h("thead", {}, h("tr", {}, ["time", "stream", "reason", "source", "record"].map((name) => h("th", { scope: "col" }, name)))),
            h("tbody", {}, rejects.map((each) => h("tr", {},
              h("td", {}, time(each.time_ms)), h("td", {}, each.stream ?? ""), h("td", {}, each.reason), h("td", {}, each.source ?? ""),
              h("td", { title: each.record ?? "" }, each.record ?? "")))))));
      }),
  };
}
