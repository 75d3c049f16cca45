// Cards for the tree's calls that wait for a person.

import { card, conclude, isBeingEdited } from "../approvals/card.js";
import { listAsked } from "../approvals/decide.js";
import { el } from "../dom.js";

/** Section of waiting calls. */
export class Waiting {
  /** @param {(id: string) => string} address Returns the URL of a run of the tree. */
  constructor(address) {
    this.address = address;
    this.element = el("section.stack", { "aria-label": "Waits for a person", hidden: true });
    this.cards = new Map();
    this.known = "";
    this.looks = 0;
  }

  /** Refresh if the tree waits for other calls than before. */
  draw(store, root) {
    const keys = [...store.runs.values()].flatMap((run) => run.waits
      .filter(({ kind }) => kind === "person").map(({ key, escalated }) => `${run.id} ${key} ${escalated ?? ""}`)).join(",");
    if (keys === this.known) return;
    this.known = keys;
    this.look(root, keys !== "");
  }

  async look(root, some) {
    const mine = this.looks += 1;
    const asked = some ? await listAsked() : [];
    const here = new Map(asked.filter((one) => one.root_id === root).map((one) => [keyOf(one), one]));
    for (const [key, one] of here) this.keepEdit(key, callOf(one));
    const gone = [...this.cards].filter(([key]) => !here.has(key));
    await Promise.all(gone.map(([key, shown]) => this.take(key, shown)));
    if (mine !== this.looks) return; // a later request has newer data
    for (const [key, one] of here) {
      if (this.cards.has(key)) continue;
      const made = card(one, { onDecided: () => this.look(root, true), onAway: () => this.leave(key), link: this.link(one) });
      this.cards.set(key, made);
      this.element.append(made);
    }
    this.element.hidden = this.cards.size === 0;
  }

  /** Keep a card while a person writes in it, even if more people may now decide its call. */
  keepEdit(key, call) {
    if (this.cards.has(key)) return;
    const before = [...this.cards].find(([old, shown]) => old.startsWith(call) && isBeingEdited(shown));
    if (!before) return;
    this.cards.delete(before[0]);
    this.cards.set(key, before[1]);
  }

  /** Remove a card whose call no longer waits, unless it has something to be read. */
  async take(key, shown) {
    if (await conclude(shown)) return;
    shown.remove();
    this.leave(key);
  }

  /** Return a link to a sub-agent's run; null for the root run, whose page this is. */
  link({ run_id: run, root_id: root }) {
    return run === root ? null : el("a", { href: this.address(run) }, "Open the sub-agent");
  }

  leave(key) {
    this.cards.delete(key);
    this.element.hidden = this.cards.size === 0;
  }
}

function callOf({ run_id: run, call_id: call, digest, question, key, waiting_since: since }) {
  return `${run} ${call} ${digest ?? question ?? key} ${since} `;
}

function keyOf(asked) {
  return callOf(asked) + (asked.escalated?.since ?? "");
}
