// The answer of a run, or its progress.

import { el, fill, icon } from "../dom.js";
import { code } from "./json.js";
import { grow } from "./growing.js";

const ICONS = { queued: "schedule", running: "progress_activity", waiting: "pause_circle" };

const LIMITS = {
  max_turns: "model calls", max_run_tokens: "tokens", max_run_cost_usd: "cost", timeout_seconds: "time", budget: "the budget",
};

/** The card of the answer. */
export class Answer {
  constructor() {
    this.text = document.createTextNode("");
    this.plain = el("p.text.writing", {}, this.text);
    this.inside = el("div.inside.stack");
    this.title = el("h2", {}, "Answer");
    this.element = el("section.card.answer", { "aria-label": "Answer" }, el("header", {}, this.title), this.inside);
    this.shown = "";
  }

  /** Show a run. */
  draw(run) {
    const turn = [...run.turns.values()].at(-1);
    const isWriting = !run.ending && turn && !turn.answered && turn.text;
    const now = run.ending ? `${run.id} ${run.seq} ended` : isWriting ? `${run.id} writing` : `${run.id} ${run.doing}`;
    if (now !== this.shown) {
      this.shown = now;
      if (run.ending) fill(this.inside, ended(run));
      else if (isWriting) fill(this.inside, this.plain);
      else fill(this.inside, el("p.row.quiet", {}, sign(run), `${run.doing}.`));
      this.title.textContent = run.ending && run.status !== "succeeded" ? "How it ended" : "Answer";
    }
    if (isWriting) grow(this.text, turn.text);
  }
}

function sign({ status }) {
  const made = icon(ICONS[status] ?? "schedule");
  made.classList.toggle("spin", status === "running");
  return made;
}

function ended({ id, ending }) {
  const { message: why, text, html, unseen, structured, finish_reason: finish, limit } = ending;
  const rich = html === null ? null : el("div.markdown");
  if (rich) rich.innerHTML = html; // sanitised by the server
  return [
    why ? el("p.problem.text", {}, limit ? el("b", {}, `Limit of ${LIMITS[limit] ?? limit}. `) : null, why) : null,
    limit && limit !== "budget" ? el("p.hint", {}, "An editor of the agent can raise it, in the admin under Limits: a fork with the new version continues from here.") : null,
    finish === "length" ? el("p.hint", {}, "The model was cut off at max_tokens: the end of the answer may be missing.") : null,
    structured !== null && structured !== undefined ? code(JSON.stringify(structured, null, 2), "The answer as JSON")
      : rich ?? (text ? el("p.text", {}, text) : why ? null : el("p.quiet", {}, "The answer is empty.")),
    unseen ? el("p.hint", {}, `Its last ${unseen.toLocaleString("en")} characters are left out here: heartbit result ${id} prints all of it.`) : null,
  ];
}
