// Small forms under a waiting call: the reason of a denial, and a standing permission.

import { el } from "../dom.js";

/** Return the form for the reason of a denial; the model reads the reason. */
export function denyPanel({ send, leave }) {
  const reason = el("textarea", { rows: 3, placeholder: "The model reads this and continues" });
  return form("Deny the call", () => send(reason.value), leave, "Deny", "danger",
    el("label", {}, "Why not?", reason));
}

/** Return the form for the scope and duration of a standing permission. */
export function alwaysPanel(asked, { send, leave }) {
  const scope = el("select", {},
    el("option", { value: "run" }, "in this run and its sub-agents"),
    el("option", { value: "agent" }, `in every run of ${asked.agent}`));
  const until = el("input", { type: "datetime-local" });
  return form("Always allow the tool", () => {
    send({ scope: scope.value, until: until.value ? new Date(until.value).toISOString() : null });
  }, leave, "Approve and always allow", "primary",
  el("p.hint", {}, "Calls of this tool by this agent no longer need an approval, whatever their arguments. Calls that wait for it now continue, too."),
  el("label", {}, "Where", scope),
  el("label", {}, el("span", {}, "Until", el("span.quiet", {}, " optional")), until));
}

/** Return the form for the result of an uncertain call. */
export function donePanel({ send, leave }) {
  const result = el("textarea", { rows: 3, placeholder: "The model gets this as the call's result" });
  return form("Confirm that the call took effect", () => send(result.value), leave, "Confirm", "primary",
    el("label", {}, el("span", {}, "What was its result?", el("span.quiet", {}, " optional")), result));
}

function form(name, send, leave, verb, tone, ...fields) {
  return el("form.stack.inside", {
    "aria-label": name, onsubmit: (event) => { event.preventDefault(); send(); },
  }, fields, el("div.actions", {},
    el(`button.button.${tone}`, {}, verb),
    el("button.button", { type: "button", onclick: leave }, "Cancel")));
}
