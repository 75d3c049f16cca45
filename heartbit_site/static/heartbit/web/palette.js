// The palette: places, actions, definitions and runs by words, on every page.

import { el, fill, icon } from "./dom.js";

const { workspace } = document.body.dataset;
const PAUSE_MS = 120;

/** Open the palette. */
export function openPalette() {
  if (!workspace || document.querySelector("dialog[open]")) return;
  let rows = [];
  let place = 0;
  let turn = 0;
  let timer;
  const field = el("input", {
    type: "search", role: "combobox", "aria-label": "Go to or do", "aria-controls": "palette-found", "aria-expanded": "true",
    "aria-autocomplete": "list", autocomplete: "off", maxlength: 200, placeholder: "A place, an agent, a run, or something to do",
    onInput: () => {
      clearTimeout(timer);
      timer = setTimeout(look, PAUSE_MS);
    },
    onKeydown: pressed,
  });
  const list = el("ul", { id: "palette-found", role: "listbox", "aria-label": "Found" });
  const said = el("p.quiet", { role: "status" });
  const box = el("dialog.palette", { "aria-label": "Go to or do", onClose: () => box.remove(), onClick: ({ target }) => target === box && box.close() },
    field, list, said);
  document.body.append(box);
  box.showModal();
  look();

  async function look() {
    turn += 1;
    const mine = turn;
    let found = null;
    try {
      const answer = await fetch(`/w/${workspace}/find/?${new URLSearchParams({ q: field.value })}`, { credentials: "same-origin" });
      found = answer.ok ? (await answer.json()).found : null;
    } catch { /* reported below */ }
    if (mine !== turn) return; // more was typed meanwhile
    rows = found ?? [];
    said.textContent = found === null ? "The server does not answer." : rows.length ? "" : "Nothing is found.";
    fill(list, rows.map((one, number) => el("li", { role: "option", id: `palette-${number}`, onClick: () => go(one) },
      icon(one.icon), el("span.clip", {}, one.title), el("span.quiet", {}, one.hint))));
    point(0);
  }

  function point(to) {
    place = rows.length ? (to + rows.length) % rows.length : 0;
    [...list.children].forEach((row, number) => row.setAttribute("aria-selected", number === place));
    field.setAttribute("aria-activedescendant", rows.length ? `palette-${place}` : "");
    list.children[place]?.scrollIntoView({ block: "nearest" });
  }

  function pressed(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (steps) point(place + steps);
    else if (event.key === "Enter" && rows[place]) go(rows[place]);
    else return;
    event.preventDefault();
  }

  function go({ address }) {
    box.close();
    if (address.startsWith("#")) document.querySelector(address).click();
    else location.assign(address);
  }
}
