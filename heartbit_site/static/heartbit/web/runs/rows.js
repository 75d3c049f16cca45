// Rows of the list; unchanged rows keep their elements, so nothing jumps.

import { may } from "../api.js";
import { el, fill, pill } from "../dom.js";
import { ago, cost, duration, moment, person, tokens } from "../words.js";

const LIVE = new Set(["queued", "running", "waiting"]);

/** Table of runs. */
export class Rows {
  /** @param {(ids: string[]) => void} chosen Called with the ids of the ticked rows. */
  constructor(chosen) {
    this.tell = chosen;
    this.views = new Map();
    this.body = el("tbody");
    this.all = may("runs:write") ? el("input", { type: "checkbox", "aria-label": "Choose all that can be cancelled", onChange: () => this.choose(this.all.checked) }) : null;
    this.head = el("thead", {}, el("tr", {}, this.all ? el("th.tick-cell", {}, this.all) : null,
      ["Run", "Status", "Tokens", "Cost", "Duration", "Accepted"].map((name) => el(`th.is-${name.toLowerCase()}`, { scope: "col" }, name))));
    this.element = el("table.list.runs", { hidden: true }, el("caption.unseen", {}, "Runs, the newest first"), this.head, this.body);
    setInterval(() => this.tick(), 1000);
  }

  get length() {
    return this.views.size;
  }

  /** Return true if a shown run fits a condition. */
  some(fits) {
    return [...this.views.values()].some(({ run }) => fits(run));
  }

  /**
   * Show runs.
   * @param {object[]} runs Runs of the API.
   * @param {{further: boolean, quietly: boolean}} how Add to the shown runs, or refresh them.
   */
  show(runs, { further, quietly }) {
    const now = new Set(runs.map(({ id }) => id));
    const oldest = runs.at(-1)?.id ?? "";
    if (!further) {
      for (const [id, view] of this.views) {
        if (now.has(id) || (quietly && runs.length && id < oldest)) continue;
        view.row.remove();
        this.views.delete(id);
      }
    }
    let place = further ? null : this.body.firstChild;
    for (const run of runs) {
      const view = this.views.get(run.id) ?? this.made(run);
      if (view.shown !== JSON.stringify(run)) this.draw(view, run);
      if (view.row === place) place = place.nextSibling;
      else this.body.insertBefore(view.row, place);
    }
    this.element.hidden = this.length === 0;
    this.count();
  }

  /** Tick all rows that can be ticked, or none. */
  choose(wanted) {
    for (const { tick } of this.views.values()) if (tick) tick.checked = wanted && !tick.disabled;
    this.count();
  }

  /** Ids of the ticked rows. */
  chosen() {
    return [...this.views].filter(([, { tick }]) => tick?.checked).map(([id]) => id);
  }

  count() {
    const chosen = this.chosen();
    if (this.all) {
      const possible = [...this.views.values()].filter(({ tick }) => tick && !tick.disabled).length;
      this.all.checked = possible > 0 && chosen.length === possible;
      this.all.disabled = possible === 0;
    }
    this.tell(chosen);
  }

  made(run) {
    const tick = this.all ? el("input", { type: "checkbox", "aria-label": `Choose the run of ${run.agent}`, onChange: () => this.count() }) : null;
    const view = { run, tick, row: el("tr"), lasted: el("td.number.is-duration"), since: el("td.number.is-accepted"), cells: [] };
    this.views.set(run.id, view);
    return view;
  }

  draw(view, run) {
    Object.assign(view, { run, shown: JSON.stringify(run) });
    if (view.tick) {
      view.tick.disabled = !LIVE.has(run.status);
      view.tick.checked &&= !view.tick.disabled;
    }
    fill(view.row, view.tick ? el("td.tick-cell", {}, view.tick) : null,
      el("td.is-run", {}, el("a.run-link", { href: `${run.id}/` }, el("span.run-head.clip", {}, el("b", {}, run.agent), run.test ? el("span.pill.neutral", {}, "test") : null, run.parent_id ? el("span.quiet", {}, " sub-agent") : null,
          run.started_by ? el("span.by", {}, ` · ${person(run.started_by)}`) : null),
        el("span.task-line.clip", {}, run.task.slice(0, 200)))),
      el("td.is-status", {}, pill(run.status)),
      el("td.number.is-tokens", {}, tokens(run.usage.input_tokens, run.usage.output_tokens)),
      el("td.number.is-cost", {}, cost(run.cost_usd)), view.lasted, view.since);
    this.time(view);
  }

  time({ run, lasted, since }) {
    const end = run.finished_at ? new Date(run.finished_at) : new Date();
    lasted.textContent = duration(Math.max(0, end - new Date(run.created_at)));
    since.textContent = ago(run.created_at);
    since.title = moment(run.created_at);
  }

  tick() {
    for (const view of this.views.values()) this.time(view);
  }
}
