// A question of an agent, with the form for the answer.

import { el, fill } from "../dom.js";
import { FormProblem, schemaForm } from "../forms/schema-form.js";
import { nodes } from "./pieces.js";

/** Return true if a call is a question, which a person answers. */
export function isQuestion(asked) {
  return Boolean(asked.answer_schema);
}

/** Return the question: its text first, then the other arguments except the form. */
export function questionText(asked) {
  const parts = asked.view.arguments.map(({ name, value }) => [name.map(({ text }) => text).join(""), value]);
  const text = parts.find(([name]) => name === "question");
  const others = parts.filter(([name]) => name !== "question" && name !== "form");
  return [
    text ? el("p.question.text", { tabindex: "0" }, nodes(text[1])) : null,
    others.length ? el("dl.arguments", {}, others.map(([name, value]) => [el("dt.strong", {}, name), el("dd.code", { tabindex: "0" }, nodes(value))])) : null,
  ];
}

/**
 * Return the panel in which a person answers.
 * @param {object} asked From GET /approvals.
 * @param {{send: (answer: any) => void, leave: () => void}} how
 */
export function answerPanel(asked, { send, leave }) {
  const problem = el("p.problem", { role: "alert", hidden: true });
  const form = schemaForm(asked.answer_schema, undefined, "Answer");
  return el("form.stack.inside", {
    "aria-label": "Answer the question",
    onsubmit: (event) => { event.preventDefault(); answer(); },
  }, form.element, problem, el("div.actions", {},
    el("button.button.primary", { data: { act: "send" } }, "Send the answer"),
    el("button.button", { type: "button", onclick: leave }, "Cancel")));

  function answer() {
    problem.hidden = true;
    try {
      send(form.read());
    } catch (error) {
      if (!(error instanceof FormProblem)) throw error;
      fill(problem, error.message).hidden = false;
    }
  }
}
