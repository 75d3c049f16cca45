// Tables that keep the elements of unchanged rows.

import { el, fill, icon } from "../dom.js";

/**
 * Show rows, keeping those that have not changed.
 * @param {Element} place
 * @param {{title: string, columns: string[], rows: any[], key: (row: any) => string,
 *          cells: (row: any) => Array, said: (row: any) => any, empty: [string, string]}} table
 *   `said` is the part of a row whose change redraws the row; it has no elapsed times.
 */
export function table(place, { title, columns, rows, key, cells, said, empty }) {
  if (!rows.length) {
    place.kept = null;
    fill(place, el("section.card", {}, el("header", {}, el("h2", {}, title)),
      el("div.empty", {}, icon(empty[0]), el("p", {}, empty[1]))));
    return;
  }
  if (!place.kept) {
    place.kept = new Map();
    place.body = el("tbody");
    fill(place, el("section.card", {}, el("header", {}, el("h2", {}, title)),
      el("div.scroll", { tabindex: 0, role: "region", "aria-label": title }, el("table.list.fleet", {},
        el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name || el("span.unseen", {}, "Actions"))))),
        place.body))));
  }
  const kept = new Map();
  const shown = rows.map((row) => {
    const before = place.kept.get(key(row));
    const now = JSON.stringify(said(row));
    const made = cells(row);
    let line = before?.line;
    if (before?.now !== now) line = el("tr", {}, made.map((cell) => el("td", {}, cell)));
    else refresh(line, made);
    kept.set(key(row), { now, line });
    return line;
  });
  place.kept = kept;
  const same = shown.length === place.body.children.length && shown.every((line, index) => line === place.body.children[index]);
  if (!same) place.body.replaceChildren(...shown);
}

/** Update cells that are plain text; keep buttons and links. */
function refresh(line, made) {
  made.forEach((cell, index) => {
    if (!(cell instanceof Node) && !Array.isArray(cell)) line.children[index].textContent = cell ?? "";
  });
}
