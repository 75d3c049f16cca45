// Editing of a waiting call's arguments: a form, then the changes, then the decision.

import { el, fill } from "../dom.js";
import { FormProblem, schemaForm } from "../forms/schema-form.js";
import { diff } from "./diff.js";
import { seen } from "./pieces.js";

/**
 * Return the panel in which a person edits arguments.
 * @param {object} asked From GET /approvals.
 * @param {{send: (args: object) => void, leave: () => void, attempt: ((args: object) => void)|null}} how
 *   `attempt` makes a dry run with the arguments.
 */
export function editPanel(asked, { send, leave, attempt }) {
  const problem = el("p.problem", { role: "alert", hidden: true });
  const form = formOf(asked);
  const changes = el("div.stack");
  const element = el("form.stack.inside", {
    "aria-label": "Edit the arguments",
    onsubmit: (event) => { event.preventDefault(); review(); },
  }, form.element, problem, changes);
  fields();
  return element;

  function fields() {
    form.element.hidden = false;
    fill(changes, el("div.actions", {},
      el("button.button.primary", {}, "Review the changes"),
      el("button.button", { type: "button", onclick: leave }, "Cancel")));
  }

  function review() {
    problem.hidden = true;
    let after;
    try {
      after = form.read();
    } catch (error) {
      if (!(error instanceof FormProblem)) throw error;
      fill(problem, error.message).hidden = false;
      return;
    }
    const found = diff(asked.arguments, after);
    if (!found.length) {
      fill(problem, "Nothing has changed: change an argument, or approve the call as it is.").hidden = false;
      return;
    }
    form.element.hidden = true;
    const run = el("button.button.primary", { type: "button", data: { act: "send" }, onclick: () => send(after) }, "Approve with these changes");
    fill(changes, table(found), el("div.actions", {}, run,
      attempt ? el("button.button", { type: "button", data: { act: "try-edited" }, onclick: () => attempt(after) }, "Try these without keeping it") : null,
      el("button.button", { type: "button", onclick: fields }, "Back")));
    run.focus();
  }
}

function formOf(asked) {
  // A field would hide invisible characters; JSON shows them as escapes with the same meaning.
  if (asked.view.hidden_character_count === 0) return schemaForm(asked.parameters, asked.arguments);
  const form = schemaForm(null, asked.arguments);
  form.element.querySelector("textarea").value = asked.view.arguments_json;
  return form;
}

function table(found) {
  const rows = found.map(({ path, before, after }) => el("tr", {},
    el("th", { scope: "row" }, seen(path || "arguments")),
    el("td", {}, before === undefined ? el("span.quiet", {}, "not given") : el("del", {}, said(before))),
    el("td", {}, after === undefined ? el("span.quiet", {}, "left out") : el("ins", {}, said(after)))));
  return el("div.scroll", {}, el("table.list.changes", {},
    el("thead", {}, el("tr", {}, ["Argument", "As asked", "As edited"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows)));
}

function said(value) {
  return seen(typeof value === "string" ? value : JSON.stringify(value, null, 2));
}
