// The inbox: the server draws what waits; one of it is shown as a card, on a phone alone.

import { may } from "./api.js";
import { fill, note } from "./dom.js";
import { morph } from "./morph.js";
import { onPulse, tellLook } from "./pulse.js";
import { card, conclude, isBeingEdited } from "./approvals/card.js";
import { hold, takeBack } from "./approvals/hold.js";
import { onKey, onSwipe } from "./approvals/keys.js";
import { notifyButton, tell } from "./approvals/notify.js";

const inbox = document.getElementById("inbox");
const region = document.getElementById("asked-list");
const box = document.getElementById("chosen");
const said = document.getElementById("said");
const title = document.title;
const cardBox = document.getElementById("card");
const looking = document.getElementById("looking"); // who else looks at it
const held = new Set(); // keys of decisions that can still be taken back

let chosen = null;
let loading = false;
let again = false;

if (may("approvals:decide")) document.getElementById("tools").prepend(notifyButton() ?? "");
box.addEventListener("click", ({ target }) => {
  const by = target.closest("[data-move]")?.dataset.move;
  if (by) move(Number(by));
  if (target.closest("[data-act=back]")) history.back();
});
region.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-key]");
  if (row) open(row.dataset.key);
  if (!target.matches("[data-all]")) return;
  for (const one of target.closest("section").querySelectorAll("[name=call]")) one.checked = target.checked;
});
region.addEventListener("change", ({ target }) => target.matches("select") && target.form.requestSubmit());
addEventListener("popstate", () => inbox.classList.toggle("open", Boolean(history.state?.open)));
onSwipe(cardBox, move);

onPulse(({ looks }, changed) => {
  if (changed.includes("calls")) load();
  if (!looks) look();
  else if (looks.call === chosen) fill(looking, looks.said);
});
setInterval(look, 5000);
setInterval(load, 30000); // uncertain and expired calls change without a new call
show();
const linked = rows().find(({ dataset: { key } }) => key.startsWith(new URLSearchParams(location.search).get("call") ?? "?"));
if (linked) open(linked.dataset.key);

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
  const known = new Set([...rows().map(({ dataset }) => dataset.key), ...held]);
  const at = rows().findIndex(({ dataset }) => dataset.key === chosen);
  if (drawn) morph(region, drawn);
  tell(rows().filter(({ dataset }) => !known.has(dataset.key)).length);
  await show(at);
  loading = false;
  if (again) load();
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
    for (const one of [cardBox, looking]) fill(one);
    mark();
    if (inbox.classList.contains("open")) history.back();
  }
}

function mark() {
  const all = rows();
  for (const row of all) row.setAttribute("aria-current", String(row.dataset.key === chosen));
  const count = Math.max(0, Number(region.dataset.count) - held.size);
  document.title = count ? `(${count}) ${title}` : title;
  fill(document.getElementById("place"), `${all.findIndex(({ dataset }) => dataset.key === chosen) + 1} of ${all.length}`);
}

function look() {
  if (chosen && !document.hidden && cardBox.checkVisibility()) tellLook(chosen);
}

function choose(key) {
  chosen = key;
  fill(looking);
  look();
  mark();
  fill(cardBox, card(JSON.parse(rowOf(key).dataset.asked), {
    onDecided: load, onAway: () => show(), hold: (verb, send, element) => later(key, verb, send, element),
  }));
  rowOf(key).scrollIntoView({ block: "nearest" });
}

function open(key) {
  choose(key);
  if (!box.checkVisibility()) { // on a phone: the list is what "Back" leads to
    history.pushState({ open: true }, "");
    inbox.classList.add("open");
  }
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
    back(error);
    throw error;
  } finally {
    held.delete(key);
    load();
  }

  function back(error) {
    if (isBeingEdited(cardBox)) return error && note(error.message, "danger");
    chosen = key;
    fill(cardBox, element);
    return focus();
  }
}

function move(by) {
  const at = rows().findIndex(({ dataset }) => dataset.key === chosen);
  const next = rows()[Math.min(rows().length - 1, Math.max(0, at + by))];
  if (!next) return;
  choose(next.dataset.key);
  focus();
}

function press(selector) {
  const button = cardBox.querySelector(selector);
  button?.click();
  return button;
}

const PRESSES = {
  "?": () => document.getElementById("keys").togglePopover() || true,
  j: () => move(1) || true,
  k: () => move(-1) || true,
  a: () => press('[data-act="approve"], [data-act="answer"]'),
  e: () => press('[data-act="edit"]'),
  d: () => press('[data-act="deny"]'),
  t: () => press('[data-act="try"]'),
  u: takeBack,
  Escape: () => {
    const shut = press('[aria-expanded="true"]');
    shut?.focus();
    return shut;
  },
};
onKey((key) => Object.hasOwn(PRESSES, key) && Boolean(PRESSES[key]()));
