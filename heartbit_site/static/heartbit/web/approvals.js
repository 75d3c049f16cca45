// The inbox: every tool call of the workspace that waits for a person, with one selected.

import { may, Refusal } from "./api.js";
import { el, fill, icon } from "./dom.js";
import { onPulse } from "./pulse.js";
import { ago } from "./words.js";
import { card, conclude, isBeingEdited } from "./approvals/card.js";
import { isInDoubt, keyOf, listAsked } from "./approvals/decide.js";
import { KEYS, LOOKS, onKey } from "./approvals/keys.js";
import { notifyButton, tell } from "./approvals/notify.js";
import { seen } from "./approvals/pieces.js";
import { isQuestion } from "./approvals/question.js";
import { isWait } from "./approvals/wait.js";

const list = el("ul");
const waiting = el("nav.card.waiting", { "aria-label": "Waiting calls" }, list);
const chosenBox = el("section", { "aria-label": "The chosen call" });
const inbox = el("div.inbox", {}, waiting, chosenBox);
const state = el("div", {}, el("p.empty", {}, "Loading …"));
const keys = el("dialog", { "aria-label": "Keys" },
  el("dl.keys", {}, KEYS.filter(([key]) => may("approvals:decide") || LOOKS.has(key)).map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
  el("form.inside", { method: "dialog" }, el("button.button", {}, "Close")));

let calls = null;
let chosen = new URLSearchParams(location.search).get("call");
let loading = false;
let again = false;

fill(document.getElementById("approvals"), el("div.head", {}, el("h1", {}, "Approvals"),
  el("div.actions", {}, may("approvals:decide") ? notifyButton() : null, el("button.button.only-keys", { type: "button", onclick: () => keys.showModal() }, icon("keyboard"), "Keys"))),
state, keys);

let before = 0;
onPulse(({ calls: now }) => {
  if (now !== before) load();
  before = now;
});
load();
setInterval(load, 30000); // uncertain and expired calls change without a new call

async function load() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const found = await listAsked();
    await show(found.sort((one, other) => (one.waiting_since ?? "").localeCompare(other.waiting_since ?? "")));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (calls === null) fill(state, el("p.problem", { role: "alert" }, error.message));
  }
  loading = false;
  if (again) {
    again = false;
    load();
  }
}

async function show(found) {
  const known = new Set((calls ?? []).map(keyOf));
  if (calls !== null) tell(found.filter((one) => !known.has(keyOf(one))));
  const at = (calls ?? []).findIndex((one) => keyOf(one) === chosen);
  calls = found;
  rows();
  const shown = chosenBox.firstChild;
  if (shown && found.some((one) => keyOf(one) === chosen)) return;
  // A card that shows another person's decision, or has unsent input, stays until it is dismissed.
  if (shown && (await conclude(shown) || (shown === chosenBox.firstChild && isBeingEdited(shown)))) return;
  if (shown !== chosenBox.firstChild) return; // another call was selected meanwhile
  if (!found.length) {
    chosen = null;
    fill(chosenBox);
    fill(state, empty());
    return;
  }
  if (!inbox.isConnected) fill(state, inbox);
  const linked = found.find((one) => keyOf(one) === chosen || `${one.run_id}/${one.call_id}` === chosen);
  choose(keyOf(linked ?? found[Math.min(Math.max(at, 0), found.length - 1)]), false);
}

function rows() {
  const focused = document.activeElement?.dataset?.key;
  fill(list, calls.map((one) => el("li", {}, el("button.plain", {
    type: "button", data: { key: keyOf(one) }, "aria-current": keyOf(one) === chosen ? "true" : null,
    onclick: () => choose(keyOf(one)),
  }, el("span.row", {}, el("span.strong.clip", {}, seen(titleOf(one))), el("span.quiet.number", {}, one.waiting_since ? ago(one.waiting_since) : "")),
  el("span.quiet.clip", {}, isInDoubt(one) ? "Outcome unknown · " : "", one.agent, " · ", seen(one.task.slice(0, 120)))))));
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function choose(key, byHand = true) {
  chosen = key;
  const found = calls.find((one) => keyOf(one) === key);
  rows();
  fill(chosenBox, card(found, { onDecided: (answer) => decided(key, answer), onAway: load }));
  const row = list.querySelector("[aria-current]");
  row?.scrollIntoView({ block: "nearest" });
  if (byHand) row?.focus({ preventScroll: true });
}

/** Remove decided calls; one decided by another person stays readable until the next selection. */
function decided(key, answer) {
  if (answer === null) {
    calls = calls.filter((one) => keyOf(one) !== key);
    rows();
    return;
  }
  load();
}

function titleOf(one) {
  if (isWait(one)) return one.question.slice(0, 120) || one.label;
  return isQuestion(one) ? `${one.arguments.question ?? one.tool}`.slice(0, 120) : one.tool;
}

function move(by) {
  const at = calls.findIndex((one) => keyOf(one) === chosen);
  const next = calls[Math.min(calls.length - 1, Math.max(0, at + by))];
  if (next) choose(keyOf(next));
}

function press(name) {
  const button = chosenBox.querySelector(`[data-act="${name}"]`);
  button?.click();
  return Boolean(button);
}

onKey((key) => {
  switch (key) {
    case "?":
      keys.showModal();
      return true;
    case "j": case "k":
      if (calls?.length) move(key === "j" ? 1 : -1);
      return true;
    case "a": return press("approve") || press("answer");
    case "e": return press("edit");
    case "d": return press("deny");
    case "t": return press("try");
    case "Escape": {
      const open = chosenBox.querySelector('[aria-expanded="true"]');
      open?.click();
      open?.focus();
      return Boolean(open);
    }
    default: return false;
  }
});

function empty() {
  return el("div.card.empty", {}, icon("task_alt"), el("h2", {}, "Nothing waits for you"),
    el("p", {}, "When an agent asks before it uses a tool, the call appears here at once."));
}
