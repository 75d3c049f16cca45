// The answer of a run, or its progress.

import { el, fill, icon } from "../dom.js";
import { code } from "./json.js";

const ICONS = { queued: "schedule", running: "progress_activity", waiting: "pause_circle" };

const LIMITS = {
  max_turns: "model calls", max_run_tokens: "tokens", max_run_cost_usd: "cost", timeout_seconds: "time", max_wall_seconds: "time", budget: "the budget",
};

/** The card of the answer. */
export class Answer {
  constructor() {
    this.written = el("div.markdown.writing");
    this.again = el("p.hint");
    this.inside = el("div.inside.stack");
    this.title = el("h2", {}, "Answer");
    this.element = el("section.card.answer", { "aria-label": "Answer" }, el("header", {}, this.title), this.inside);
    this.shown = "";
  }

  /** Show a run. */
  draw(run) {
    const turn = [...run.turns.values()].at(-1);
    const isWriting = !run.ending && turn && !turn.answered && turn.text;
    const lost = run.lost && !run.ending && !turn?.answered ? run.lost : "";
    const now = run.ending ? `${run.id} ${run.seq} ended` : isWriting ? `${run.id} ${turn.number} writing ${lost}` : `${run.id} ${run.doing} ${lost}`;
    if (now !== this.shown) {
      this.shown = now;
      this.again.textContent = lost;
      if (run.ending) fill(this.inside, ended(run));
      else fill(this.inside, lost ? this.again : null, isWriting ? this.written : el("p.row.quiet", {}, sign(run), `${run.doing}.`));
      this.title.textContent = run.ending && run.status !== "succeeded" ? "How it ended" : "Answer";
    }
    if (isWriting) write(this.written, turn.blocks);
  }
}

/** Show the blocks of a text that is being written; blocks that stay are not touched. */
function write(box, blocks) {
  blocks.forEach((html, index) => {
    const part = box.children[index] ?? box.appendChild(el("div.part"));
    if (part.html === html) return;
    part.html = html;
    part.innerHTML = html; // sanitised by the server
  });
  while (box.children.length > blocks.length) box.lastChild.remove();
}

function sign({ status }) {
  const made = icon(ICONS[status] ?? "schedule");
  made.classList.toggle("spin", status === "running");
  return made;
}

function ended({ id, ending }) {
  const { message: why, text, html, unseen, structured, finish_reason: finish, limit } = ending;
  const rich = html === null ? null : el("div");
  if (rich) rich.innerHTML = html; // sanitised by the server
  return [
    why ? el("p.problem.text", {}, limit ? el("b", {}, `Limit of ${LIMITS[limit] ?? limit}. `) : null, why) : null,
    limit && limit !== "budget" ? el("p.hint", {}, "An editor of the agent can raise it, in the admin under Limits: a fork with the new version continues from here.") : null,
    finish === "length" ? el("p.hint", {}, "The model was cut off at max_tokens: the end of the answer may be missing.") : null,
    structured !== null && structured !== undefined ? code(JSON.stringify(structured, null, 2), "The answer as JSON")
      : rich?.firstChild ?? (text ? el("p.text", {}, text) : why ? null : el("p.quiet", {}, "The answer is empty.")),
    unseen ? el("p.hint", {}, `Its last ${unseen.toLocaleString("en")} characters are left out here: heartbit result ${id} prints all of it.`) : null,
  ];
}
