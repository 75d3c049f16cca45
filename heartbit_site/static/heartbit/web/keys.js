// Keys of every page. Those without Ctrl can be switched off on the account page (WCAG 2.1.4),
// and do nothing while a person types or a dialog is open.

import { el } from "./dom.js";
import { openPalette } from "./palette.js";

const PLACES = { r: "runs", i: "inbox", c: "chat", a: "agents", w: "workflows", s: "schedules", h: "health" };
const HELP = [
  ["Ctrl K", "find and go"], ["Ctrl Enter", "send the form"], ["/", "search on this page"], ["n", "new run"],
  ...Object.entries(PLACES).map(([key, place]) => [`g ${key}`, `go to ${place}`]), ["?", "these keys"],
];
const SWITCH = "heartbit-keys";
const PATIENCE_MS = 1500;
const TYPED = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), select, textarea, [contenteditable=true], dialog[open]";

let asked = 0; // when g was pressed

const isOff = () => localStorage.getItem(SWITCH) === "off";
const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey) && !isOff() && !event.target.closest?.(TYPED);

// Before a page's own keys: after g, a letter is a place and nothing else.
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") openPalette();
  else if (isPlain(event) && event.timeStamp - asked < PATIENCE_MS && asked && event.key.length === 1) {
    asked = 0;
    document.querySelector(`[data-place="${PLACES[event.key] ?? ""}"]`)?.click();
  } else if (isPlain(event) && event.key === "g" && !event.repeat) asked = event.timeStamp;
  else {
    asked = 0;
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// After a page's own keys.
addEventListener("keydown", (event) => {
  if (event.defaultPrevented) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return send(event);
  if (!isPlain(event) || event.repeat) return;
  if (event.key === "/") document.querySelector("main input[type=search], main #searchbar")?.focus();
  else if (event.key === "n") begin();
  else if (event.key === "?") help();
  else return;
  event.preventDefault();
});

/** Send the form that the focus is in, by its first button. */
function send(event) {
  const { form } = event.target;
  if (!form) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("button.primary, [name=_save], button:not([type=button], [type=reset]), input[type=submit]"));
}

function begin() {
  const { workspace, scopes } = document.body.dataset;
  const button = document.querySelector("[data-new-run]");
  if (button) button.click();
  else if (workspace && scopes.split(" ").includes("runs:write")) location.assign(`/w/${workspace}/runs/?new`);
}

function help() {
  const box = el("dialog", { "aria-labelledby": "keys-title", onClose: () => box.remove() },
    el("div.inside.stack", {}, el("h2", { id: "keys-title" }, "Keys"),
      el("dl.facts", {}, HELP.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
      el("div.actions", {}, el("button.button", { type: "button", onClick: () => box.close() }, "Close"))));
  document.body.append(box);
  box.showModal();
}

const chosen = document.getElementById("keys-on"); // on the account page
if (chosen) {
  chosen.checked = !isOff();
  chosen.addEventListener("change", () => localStorage.setItem(SWITCH, chosen.checked ? "on" : "off"));
}
