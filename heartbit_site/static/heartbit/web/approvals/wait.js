// A wait of any other kind that a person answers, with the form for the answer.

import { api, may, Refusal, whoCan } from "../api.js";
import { el, fill, icon, note } from "../dom.js";
import { FormProblem, schemaForm } from "../forms/schema-form.js";
import { moment, since } from "../moment.js";
import { seen } from "./pieces.js";

const DECISIONS = { approve: "Approve", changes: "Request changes", edit: "Deliver as edited", reject: "Reject", continue: "Go on", stop: "Stop the run" };
const LABELS = { message: "Message", result: "Result, if you edit it" };
const TONES = { approve: ".primary", continue: ".primary", reject: ".danger", stop: ".danger" };

/** Return true for a wait, and false for a tool call to approve or resolve. */
export function isWait(asked) {
  return asked.key !== undefined;
}

/**
 * Return a wait as an element; its button has `data-act` send, or the decision.
 * @param {object} wait One of `waits` of GET /waits.
 * @param {{onDecided: (answer: object|null, problem?: Refusal) => void, link: HTMLElement|null}} how As for `card`.
 */
export function waitCard(wait, { onDecided, link }) {
  const problem = el("p.problem", { role: "alert", hidden: true });
  const { decision, ...others } = wait.answer_schema.properties ?? {}; // a decision is taken by a button of its own
  const schema = decision ? { ...wait.answer_schema, properties: others, required: [] } : wait.answer_schema;
  const form = schemaForm(schema, schema.default, "Answer", decision ? LABELS : {});
  const buttons = decision ? decision.enum.map((one) => el(`button.button${TONES[one] ?? ""}`, { type: "button", data: { act: one }, onclick: () => send(one) }, DECISIONS[one] ?? one))
    : [el("button.button.primary", { data: { act: "send" } }, "Answer")];
  const whose = wait.group || wait.person;
  const result = Object.assign(el("div.markdown.result", { tabindex: "0", role: "group", "aria-label": "The result" }), { innerHTML: wait.result_html }); // sanitised by the server
  const decline = wait.is_declinable ? el("button.button.danger", { type: "button", data: { act: "decline" }, onclick: () => send(null) }, "Decline") : null;
  const foot = el("footer.inside", {}, may(wait.scope)
    ? el("form.stack", { "aria-label": "Answer", onsubmit: (event) => { event.preventDefault(); send(); } },
      form.element, problem, el("div.actions", {}, buttons, decline))
    : el("p.quiet.only-look", {}, icon("visibility"), `You can view this but not answer it. Who can: ${whoCan(wait.scope)}.`));
  const rows = [["Agent", wait.agent], wait.tool ? ["Tool", seen(wait.tool)] : null,
    wait.arguments && wait.arguments !== "{}" ? ["Arguments", el("code", {}, seen(wait.arguments))] : null,
    ["Task", el("span.text.task", {}, seen(wait.task))],
    whose ? ["Who may answer", wait.group ? `members of ${wait.group}` : whose] : null,
    ["Asked", since(wait.waiting_since)],
    wait.expires_at ? ["Expires", moment(wait.expires_at)] : null];
  return el("article.card.asked", { "aria-label": `${wait.label} of ${wait.agent}`, data: { run: wait.run_id, wait: wait.key } },
    el("header", {}, icon("hourglass_top"), el("h2.text", {}, wait.label),
      el("span.pill.primary", {}, whose ? `Waits for ${whose}` : may(wait.scope) ? "Waits for you" : "Waits for a person"),
      link ? el("span.actions.quiet", {}, link) : null),
    el("div.inside.stack", {}, wait.result_html ? result : wait.question ? el("p.question.text", { tabindex: "0" }, seen(wait.question)) : null, el("dl.facts", {}, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))),
    foot);

  async function send(answer) {
    problem.hidden = true;
    try {
      const answered = await api(`/runs/${wait.run_id}/waits/${encodeURIComponent(wait.key)}`, { method: "POST", body: { answer: answer === undefined ? form.read() : typeof answer === "string" ? { ...form.read(), decision: answer } : answer } });
      const done = answer === null ? "Declined" : "Answered";
      fill(foot, el("p.row", {}, icon("check_circle"), done));
      note(`${done}: ${wait.label}`, "success");
      onDecided(answered);
    } catch (error) {
      if (!(error instanceof FormProblem || error instanceof Refusal)) throw error;
      fill(problem, error.message).hidden = false;
      if (error.status === 404 || (error.status === 409 && !whose)) onDecided(null, error); // it stays open for those who are asked
    }
  }
}
