// The turns of a run, with the other events between them.

import { may } from "../api.js";
import { el, fill, icon, pill } from "../dom.js";
import { moment } from "../moment.js";
import { cost, duration, tokens } from "../words.js";
import { CallView } from "./calls.js";
import { fetched } from "./fragment.js";
import { grow } from "./growing.js";

const MOST = 50; // entries drawn at once, and added with each request for earlier ones

/** List of turns of one run. */
export class Turns {
  /** @param {(id: string) => {address: string, agent: string}} place Returns the URL and agent of a run. */
  constructor(place) {
    this.place = place;
    this.views = new Map();
    this.run = null;
    this.from = null; // first drawn entry, once earlier ones were requested
    this.more = el("button.button.small", { type: "button", onClick: () => this.showEarlier() });
    this.earlier = el("p.earlier", { hidden: true }, this.more);
    this.list = el("div.entries");
    this.element = el("div.turns", {}, this.earlier, this.list);
  }

  /** Show a run, or its last entries if it is long; for the shown run, only the changes. */
  draw(run) {
    if (this.run !== run) {
      this.views.clear();
      this.list.replaceChildren();
      this.run = run;
      this.from = null;
      run.changed = new Set(run.entries.map((entry) => entry.key));
    }
    if (!run.entries.length) {
      this.earlier.hidden = true;
      fill(this.list, el("p.quiet.inside", {}, run.ending ? "The model never answered." : "The model has not answered yet."));
      return;
    }
    if (!this.views.size) this.list.replaceChildren();
    const first = this.first();
    const shown = run.entries.slice(first);
    this.earlier.hidden = first === 0;
    this.more.textContent = first > MOST ? `Show ${MOST} of ${first} earlier` : `Show ${first} earlier`;
    this.leave(new Set(shown.map(({ key }) => key)));
    shown.forEach((entry, index) => {
      let view = this.views.get(entry.key);
      if (!view) {
        view = entry.turn ? new TurnView(this.place) : noteView(entry.note);
        this.views.set(entry.key, view);
        run.changed.add(entry.key);
      }
      if (this.list.children[index] !== view.element) this.list.insertBefore(view.element, this.list.children[index] ?? null);
      if (run.changed.has(entry.key)) view.update?.(entry.turn, run);
    });
    run.changed.clear();
  }

  /** First drawn entry. */
  first() {
    return this.from ?? Math.max(0, this.run.entries.length - MOST);
  }

  showEarlier() {
    this.from = Math.max(0, this.first() - MOST);
    this.draw(this.run);
    if (this.earlier.hidden) this.list.querySelector("article.turn")?.focus({ preventScroll: true });
  }

  /** Remove entries that are no longer drawn. */
  leave(kept) {
    for (const [key, view] of this.views) {
      if (kept.has(key)) continue;
      view.element.remove();
      this.views.delete(key);
    }
  }

  /** Scroll a turn into view. */
  reveal(number) {
    const place = this.run.entries.findIndex(({ key }) => key === `turn ${number}`);
    if (place >= 0 && place < this.first()) {
      this.from = place;
      this.draw(this.run);
    }
    const view = this.views.get(`turn ${number}`);
    view?.element.scrollIntoView({ block: "start", behavior: "smooth" });
    view?.element.focus({ preventScroll: true });
  }
}

class TurnView {
  constructor(place) {
    this.place = place;
    this.calls = new Map();
    this.head = el("header");
    this.thinking = document.createTextNode("");
    this.unkept = el("span", { hidden: true }, "· seen live, not in the journal");
    this.thoughts = el("details.thinking", { hidden: true }, el("summary", {}, icon("psychology"), "Thinking", this.unkept), el("p.text.quiet", {}, this.thinking));
    this.text = document.createTextNode("");
    this.plain = el("p.text", { hidden: true }, this.text);
    this.rich = el("div.markdown", { hidden: true });
    this.above = el("p.quiet", { hidden: true }, "Its text is the answer, above.");
    this.list = el("div.calls");
    this.past = el("div.stack.past", { hidden: true });
    this.element = el("article.turn", { tabindex: "-1" }, this.head, this.thoughts, this.plain, this.rich, this.above, this.list, this.past);
  }

  update(turn, run) {
    const isLast = [...run.turns.keys()].at(-1) === turn.number;
    const isAnswer = isLast && Boolean(turn.text) && (turn.answered ? run.ending?.status === "succeeded" && !turn.calls.length : !run.ending);
    const name = turn.superstep ? `Superstep ${turn.number}` : turn.number ? `Turn ${turn.number}` : "The tool call";
    fill(this.head, el("h3", {}, turn.number ? el("a", { href: `#${run.id}/turns/${turn.number}` }, name) : name), ...this.figures(turn, run));
    if (turn.answered && turn.number && !turn.superstep && this.past.hidden) this.lookBack(turn, run);
    this.element.setAttribute("aria-label", name);
    this.thoughts.hidden = !turn.thinking;
    this.unkept.hidden = turn.kept;
    grow(this.thinking, turn.thinking);
    const isRich = turn.answered && turn.html !== null;
    this.plain.hidden = isRich || isAnswer || !turn.text;
    this.rich.hidden = !isRich || isAnswer;
    this.above.hidden = !isAnswer || !turn.answered;
    grow(this.text, isRich || isAnswer ? "" : turn.text);
    if (isRich && this.html !== turn.html) {
      this.html = turn.html;
      this.rich.innerHTML = turn.html; // sanitised by the server
    }
    turn.calls.forEach((call, index) => {
      if (!this.calls.has(call.id)) {
        const view = new CallView(this.place);
        this.calls.set(call.id, view);
        this.list.insertBefore(view.element, this.list.children[index] ?? null); // calls of a script follow the script
      }
      this.calls.get(call.id).update(call, run);
    });
  }

  /** Add the actions of an answered turn. */
  lookBack({ number }, run) {
    const box = el("div.sent.stack", { hidden: true });
    const opens = (sign, name, path) => el("button.button.small", { type: "button", "aria-expanded": "false", onClick: ({ currentTarget }) => unfold(currentTarget, box, path) }, icon(sign), name);
    fill(this.past, el("div.actions", {}, opens("forum", "What it was sent", `${run.id}/turns/${number}/`),
      may("runs:write") ? opens("fork_right", "Fork from here", `${run.id}/fork/?part&turn=${number}`) : null,
      el("button.button.small", { type: "button", data: { copy: `${location.href.split("#")[0]}#${run.id}/turns/${number}` } }, icon("link"), "Copy link")), box);
    this.past.hidden = false;
  }

  figures(turn, run) {
    if (!turn.answered) return [run.ending ? pill("cut off") : el("span.pill.info", {}, icon("edit"), "Writing"), turn.gap ? el("span.quiet", {}, "a piece is missing until the answer is whole") : null];
    const time = moment(new Date(turn.at).toISOString());
    time.className = "quiet number";
    if (turn.superstep) return [time];
    if (!turn.number) return [el("span.quiet", {}, "No model is called.")];
    return [
      turn.finish === "length" ? el("span.pill.warning", { title: "The model was cut at max_tokens." }, "Cut") : null,
      el("span.quiet.clip", {}, turn.model), el("span.quiet.number", {}, tokens(turn.input, turn.output)),
      el("span.quiet.number", {}, cost(turn.cost)), el("span.quiet.number", {}, duration(turn.ms)),
      time,
    ];
  }
}

/** Open or close what a button names, as the server draws it. */
async function unfold(button, box, path) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  for (const one of button.parentElement.querySelectorAll("[aria-expanded]")) one.setAttribute("aria-expanded", String(one === button && !isOpen));
  box.hidden = isOpen;
  if (isOpen) return;
  fill(box, el("p.quiet", { role: "status" }, "Loading …"));
  const html = await fetched(path);
  if (button.getAttribute("aria-expanded") !== "true") return;
  if (html) box.innerHTML = html; // drawn by the server
  else fill(box, el("p.problem", { role: "alert" }, html === null ? "The server does not answer: is it running?" : "The server refuses: look at the run again."));
}

function noteView({ icon: sign, title, text, about, at }) {
  const said = text ? [el("b", {}, `${title}: `), el("span.text", {}, text)] : el("span.text", {}, title);
  return { element: el("p.aside", { title: moment(new Date(at).toISOString()).title }, icon(sign), el("span", {}, said, about ? [" ", el("a", { href: `../${about}/` }, about.slice(0, 13))] : null)) };
}
