// The journal of a run: every event in words, the selected one in full.

import { seen } from "../approvals/pieces.js";
import { el, fill, icon } from "../dom.js";
import { moment } from "../moment.js";
import { duration } from "../words.js";
import { code } from "./json.js";
import { Windowed } from "./windowed.js";

const ROW = 30;

/** Journal of the selected run. */
export class Journal {
  constructor() {
    this.words = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter events", onInput: () => this.filter() });
    this.count = el("span.quiet.number");
    this.list = new Windowed({ height: ROW, label: "Events", make: (item) => this.view(item) });
    this.detail = el("div.event-detail");
    this.element = el("div.journal", {}, el("div.row.inside", {}, this.words, this.count), this.list.element, this.detail);
    this.run = null;
    this.chosen = null;
  }

  /** Show a run. */
  draw(run) {
    if (this.run !== run) {
      this.run = run;
      this.chosen = null;
      this.length = -1;
      fill(this.detail, el("p.quiet.inside", {}, "Choose an event to see what it holds."));
    }
    if (this.length === run.events.length) return;
    this.length = run.events.length;
    this.filter();
  }

  filter() {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const events = words.length ? this.run.events.filter((line) => {
      line.words ??= `${line.event} ${line.title} ${JSON.stringify(line.payload)}`.toLowerCase();
      return words.every((word) => line.words.includes(word));
    }) : this.run.events;
    this.count.textContent = words.length ? `${events.length} of ${this.run.events.length}` : `${events.length} events`;
    this.list.show(events.map((line) => ({ key: `${this.run.id} ${line.seq}`, line, current: line === this.chosen })));
  }

  view(item) {
    const { line } = item;
    const row = el("button.event", { type: "button", title: moment(line.at).title, onClick: () => this.choose(line) },
      el("span.number.quiet", {}, line.seq), el("span.number.quiet", {}, `+${duration(new Date(line.at).getTime() - this.run.began) || "0 ms"}`),
      el("span.clip.says", {}, el(`b.is-${line.tone || "plain"}`, {}, seen(line.title)), line.text ? [" ", el("span.quiet", {}, seen(line.text.slice(0, 240)))] : null),
      el("code.clip.quiet.kind", {}, line.event));
    const update = ({ current }) => row.setAttribute("aria-pressed", String(current));
    update(item);
    return { element: row, update };
  }

  choose(line) {
    this.chosen = line;
    this.filter();
    const text = JSON.stringify(line.payload, null, 2);
    fill(this.detail, el("div.row.inside", {}, el("h3", {}, `${line.seq} · `, seen(line.title)), el("code.quiet", {}, line.event), el("span.quiet", {}, moment(line.at)),
      el("button.iconic", { type: "button", "aria-label": "Copy the event", onClick: () => navigator.clipboard.writeText(text) }, icon("content_copy"))),
    line.text ? el("p.text.inside", {}, seen(line.text)) : null, code(text, `Event ${line.seq}`));
  }
}
