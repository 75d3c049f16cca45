// The blackboard of the run tree, folded.

import { all, api, Refusal } from "../api.js";
import { el, fill } from "../dom.js";
import { ago, moment } from "../words.js";
import { code } from "./json.js";
import { Look } from "./look.js";

/** Card of the blackboard; hidden while it is empty. */
export class Blackboard {
  /** @param {string} root Id of the root run. */
  constructor(root) {
    this.root = root;
    this.whole = new Map(); // entries shown in full, by key
    this.count = el("span.quiet.number");
    this.list = el("ul.shared");
    this.element = el("section.card", { "aria-label": "Blackboard", hidden: true },
      el("details.folded", {}, el("summary", {}, el("h2", {}, "Blackboard"), el("span.quiet", {}, "shared by the whole tree"), this.count), this.list));
    this.look = new Look({ read: () => all(`/runs/${root}/blackboard`, "entries"), show: (rows) => this.show(rows) });
  }

  /** Refresh when a run has written an entry, or has ended, which adds its result. */
  draw(store, root) {
    const told = store.rows(root).map(({ run }) => (run.ending ? 1 : 0) + [...run.calls.values()].filter(hasWritten).length);
    this.look.at(`${root} ${told.length} ${told.reduce((sum, one) => sum + one, 0)}`);
  }

  show(rows) {
    this.element.hidden = !rows.length;
    this.count.textContent = String(rows.length);
    fill(this.list, rows.map((row) => {
      const item = el("li");
      const known = this.whole.get(row.key);
      this.fillItem(item, known?.updated_at === row.updated_at ? known : row);
      return item;
    }));
  }

  fillItem(item, row) {
    const { key, author, value, updated_at: at } = row;
    fill(item,
      el("p.row", {}, el("b.text", {}, key), el("span.quiet", {}, `by ${author}`),
        el("time.quiet", { datetime: at, title: ago(at) }, moment(at))),
      code(typeof value === "string" ? value : JSON.stringify(value, null, 2), `Entry ${key}`),
      isCut(row) ? el("button.plain.more", { type: "button", onClick: ({ target }) => this.showAll(item, key, target) }, "Show all") : null);
  }

  async showAll(item, key, button) {
    try {
      const row = await api(`/runs/${this.root}/blackboard/entry`, { query: { key } });
      this.whole.set(key, row);
      this.fillItem(item, row);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      button.textContent = error.message;
    }
  }
}

/** Return true if a value was cut; the server counts characters, not UTF-16 units. */
function isCut({ value, value_characters: whole }) {
  return typeof value === "string" && [...value].length < whole;
}

function hasWritten({ tool, result }) {
  return result !== null && tool === "blackboard_write";
}
