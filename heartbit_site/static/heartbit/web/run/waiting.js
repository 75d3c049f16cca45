// The calls of the tree that wait for a person, to be decided here.

import { all } from "../api.js";
import { card } from "../approvals/card.js";
import { el } from "../dom.js";

/** The section of waiting calls. */
export class Waiting {
  constructor() {
    this.element = el("section.stack", { "aria-label": "Waits for a person", hidden: true });
    this.cards = new Map();
    this.known = "";
  }

  /** Look again if the tree waits for other calls than before. */
  draw(store, root) {
    const keys = [...store.runs.values()].flatMap((run) => [...run.waits]
      .filter(([, { kind }]) => kind === "person").map(([key, { escalated }]) => `${run.id} ${key} ${escalated ?? ""}`)).join(",");
    if (keys === this.known) return;
    this.known = keys;
    this.look(root, keys !== "");
  }

  async look(root, some) {
    const asked = some ? (await Promise.all([all("/approvals", "calls"), all("/doubts", "calls")])).flat() : [];
    const here = new Map(asked.filter((one) => one.root === root).map((one) => [keyOf(one), one]));
    for (const [key, shown] of this.cards) {
      if (here.has(key)) continue;
      shown.remove();
      this.cards.delete(key);
    }
    for (const [key, one] of here) {
      if (this.cards.has(key)) continue;
      const made = card(one, { onDecided: () => this.look(root, true) });
      this.cards.set(key, made);
      this.element.append(made);
    }
    this.element.hidden = this.cards.size === 0;
  }
}

function keyOf({ run, call, digest, question, since, escalated }) {
  return `${run} ${call} ${digest ?? question} ${since} ${escalated?.since ?? ""}`;
}
