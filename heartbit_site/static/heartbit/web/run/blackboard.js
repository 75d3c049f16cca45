// What the runs of the tree share, folded.

import { all } from "../api.js";
import { el, fill } from "../dom.js";
import { ago, moment } from "../words.js";
import { code } from "./json.js";
import { Look } from "./look.js";

/** The card of the blackboard; it is there when something is on it. */
export class Blackboard {
  /** @param {string} root The run at the top of the tree. */
  constructor(root) {
    this.count = el("span.quiet.number");
    this.list = el("ul.shared");
    this.element = el("section.card", { "aria-label": "Blackboard", hidden: true },
      el("details.folded", {}, el("summary", {}, el("h2", {}, "Blackboard"), el("span.quiet", {}, "shared by the whole tree"), this.count), this.list));
    this.look = new Look({ read: () => all(`/runs/${root}/blackboard`, "entries"), show: (rows) => this.show(rows) });
  }

  /** Look again when a run has written on it, or has ended: then its result is there. */
  draw(store, root) {
    const told = store.rows(root).map(({ run }) => (run.ending ? 1 : 0) + [...run.calls.values()].filter(hasWritten).length);
    this.look.at(`${root} ${told.length} ${told.reduce((sum, one) => sum + one, 0)}`);
  }

  show(rows) {
    this.element.hidden = !rows.length;
    this.count.textContent = String(rows.length);
    fill(this.list, rows.map(({ key, author, value, updated_at: at }) => el("li", {},
      el("p.row", {}, el("b.text", {}, key), el("span.quiet", {}, `by ${author}`),
        el("time.quiet", { datetime: at, title: ago(at) }, moment(at))),
      code(typeof value === "string" ? value : JSON.stringify(value, null, 2), `Entry ${key}`))));
  }
}

function hasWritten({ name, finished }) {
  return finished !== null && name === "blackboard_write";
}
