// The inbox: the server draws what waits; one of it is shown as a card, on a phone alone.

import { may } from "./api.js";
import { el, fill, icon, note } from "./dom.js";
import { onPulse } from "./pulse.js";
import { card, conclude, isBeingEdited } from "./approvals/card.js";
import { hold, takeBack } from "./approvals/hold.js";
import { KEYS, LOOKS, onKey, onSwipe } from "./approvals/keys.js";
import { notifyButton, tell } from "./approvals/notify.js";

const inbox = document.getElementById("inbox");
const region = document.getElementById("asked-list");
const box = document.getElementById("chosen");
const said = document.getElementById("said");
const title = document.title;
const place = el("span.quiet.number");
const cardBox = el("div");
const keys = el("dialog", { "aria-label": "Keys" },
  el("dl.keys", {}, KEYS.filter(([key]) => may("approvals:decide") || LOOKS.has(key)).map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
  el("form.inside", { method: "dialog" }, el("button.button", {}, "Close")));
const held = new Set(); // keys of decisions that can still be taken back

let chosen = null;
let loading = false;
let again = false;

fill(document.getElementById("tools"), may("approvals:decide") ? notifyButton() : null,
  el("button.button.only-keys", { type: "button", onclick: () => keys.showModal() }, icon("keyboard"), "Keys"));
fill(box, el("div.place", {},
  el("button.button", { type: "button", data: { act: "back" }, onclick: () => history.back() }, icon("arrow_back"), "Inbox"), place,
  el("button.button", { type: "button", "aria-label": "The one before", onclick: () => move(-1) }, icon("chevron_left")),
  el("button.button", { type: "button", "aria-label": "The next one", onclick: () => move(1) }, icon("chevron_right"))), cardBox);
inbox.append(keys);

region.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-key]");
  if (row) open(row.dataset.key);
  if (!target.matches("[data-all]")) return;
  for (const one of target.closest("section").querySelectorAll("[name=call]")) one.checked = target.checked;
});
region.addEventListener("change", ({ target }) => target.matches("select") && target.form.requestSubmit());
addEventListener("popstate", () => inbox.classList.toggle("open", Boolean(history.state?.open)));
onSwipe(cardBox, move);

onPulse((_, changed) => changed.includes("calls") && load());
setInterval(load, 30000); // uncertain and expired calls change without a new call
const linked = new URLSearchParams(location.search).get("call");
const first = rows().find(({ dataset: { key } }) => linked && key.startsWith(linked));
show();
if (first) open(first.dataset.key);

function rows() {
  return [...region.querySelectorAll("[data-key]")];
}

function rowOf(key) {
  return rows().find((row) => row.dataset.key === key);
}

/** Draw the list again, as the server sees it now. */
async function load() {
  again = loading;
  if (loading) return;
  loading = true;
  const answer = await fetch(location.href, { cache: "no-store" }).then((found) => (found.ok && !found.redirected ? found.text() : ""), () => "");
  const drawn = new DOMParser().parseFromString(answer, "text/html").getElementById("asked-list");
  if (drawn) await replace(drawn);
  loading = false;
  if (again) load();
}

async function replace(drawn) {
  const known = new Set(rows().map(({ dataset }) => dataset.key));
  const marked = new Set([...region.querySelectorAll("[name=call]:checked")].map(({ value }) => value));
  const { key: focused } = document.activeElement.dataset;
  const at = rows().findIndex(({ dataset }) => dataset.key === chosen);
  region.dataset.count = drawn.dataset.count;
  region.replaceChildren(...drawn.childNodes);
  for (const one of region.querySelectorAll("[name=call]")) one.checked = marked.has(one.value);
  if (focused) rowOf(focused)?.focus({ preventScroll: true });
  tell(rows().filter(({ dataset }) => !known.has(dataset.key) && !held.has(dataset.key)).map(askedOf));
  await show(at);
}

/** Show the chosen one, or the one in its place, unless the shown card has something to be read. */
async function show(at = 0) {
  for (const row of rows()) if (held.has(row.dataset.key)) row.closest("li").remove();
  mark();
  const shown = cardBox.firstChild;
  if (shown && rowOf(chosen)) return;
  // A card that shows another person's decision, or has unsent input, stays until it is dismissed.
  if (shown && (await conclude(shown) || (shown === cardBox.firstChild && isBeingEdited(shown)))) return;
  if (shown !== cardBox.firstChild) return; // another one was selected meanwhile
  const next = rows()[Math.min(Math.max(at, 0), rows().length - 1)];
  if (next) {
    choose(next.dataset.key);
  } else {
    chosen = null;
    fill(cardBox);
    mark();
    if (inbox.classList.contains("open")) history.back();
  }
}

function mark() {
  const all = rows();
  for (const row of all) row.setAttribute("aria-current", String(row.dataset.key === chosen));
  const count = Math.max(0, Number(region.dataset.count) - held.size);
  document.title = count ? `(${count}) ${title}` : title;
  fill(place, `${all.findIndex(({ dataset }) => dataset.key === chosen) + 1} of ${all.length}`);
}

function choose(key) {
  chosen = key;
  mark();
  const asked = askedOf(rowOf(key));
  fill(cardBox, card(asked, {
    onDecided: load, onAway: () => show(), hold: (verb, send, element) => later(key, verb, send, element),
  }));
  rowOf(key).scrollIntoView({ block: "nearest" });
}

function open(key) {
  choose(key);
  if (!inbox.classList.contains("open")) history.pushState({ open: true }, "");
  inbox.classList.add("open");
  focus();
}

/** Focus the chosen row, or its card where the list is hidden. */
function focus() {
  const row = rowOf(chosen);
  const target = row?.checkVisibility({ visibilityProperty: true }) ? row : cardBox.firstChild ?? region.querySelector("h2[tabindex]");
  target?.focus({ preventScroll: true });
}

/** Hold a decision, and go on to the next one meanwhile. */
async function later(key, verb, send, element) {
  const row = rowOf(key);
  const at = rows().indexOf(row);
  held.add(key);
  fill(cardBox);
  const outcome = hold(said, `${verb}: ${row?.querySelector(".title").textContent ?? ""}`, send);
  await show(at);
  focus();
  try {
    const decided = await outcome;
    if (decided === null || decided.remaining_approvals) back();
    return decided;
  } catch (error) {
    if (isBeingEdited(cardBox)) note(error.message, "danger");
    back();
    throw error;
  } finally {
    held.delete(key);
    load();
  }

  function back() {
    if (isBeingEdited(cardBox)) return;
    chosen = key;
    fill(cardBox, element);
    focus();
  }
}

function askedOf({ dataset }) {
  return JSON.parse(dataset.asked);
}

function move(by) {
  const at = rows().findIndex(({ dataset }) => dataset.key === chosen);
  const next = rows()[Math.min(rows().length - 1, Math.max(0, at + by))];
  if (!next) return;
  choose(next.dataset.key);
  focus();
}

function press(name) {
  const button = cardBox.querySelector(`[data-act="${name}"]`);
  button?.click();
  return Boolean(button);
}

onKey((key) => {
  switch (key) {
    case "?":
      keys.showModal();
      return true;
    case "j": case "k":
      move(key === "j" ? 1 : -1);
      return true;
    case "a": return press("approve") || press("answer");
    case "e": return press("edit");
    case "d": return press("deny");
    case "t": return press("try");
    case "u": return takeBack();
    case "Escape": {
      const shut = cardBox.querySelector('[aria-expanded="true"]');
      shut?.click();
      shut?.focus();
      return Boolean(shut);
    }
    default: return false;
  }
});
