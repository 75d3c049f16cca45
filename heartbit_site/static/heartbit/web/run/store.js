// What is known of a tree of runs, from the lines of its socket. It touches no page.

import { put, unknown, write } from "./known.js";

const MOST_NAMED = 1000;

/** The runs of a tree by id, in the order in which they were first heard of. */
export class Store {
  constructor() {
    this.runs = new Map();
  }

  /** What the page has, for a socket that opens: the last event of each run. */
  after() {
    // A frame has its limit; what is left out is sent again, and then known already.
    const longest = [...this.runs.values()].sort((one, other) => other.seq - one.seq).slice(0, MOST_NAMED);
    return Object.fromEntries(longest.map((run) => [run.id, run.seq]));
  }

  /**
   * Take lines in, in their order; one that is known already changes nothing.
   * @returns {Set<string>} The runs that changed.
   */
  take(lines) {
    const changed = new Set();
    for (const line of lines) {
      const run = this.run(line.run_id);
      if (line.type === "run") Object.assign(run, { parent: line.parent_id, agent: line.agent, task: line.task });
      else if (line.type === "delta") write(run, line);
      else if (line.type === "progress") put(run, line);
      else if (line.type === "event" && line.seq > run.seq) {
        Object.assign(run, { seq: line.seq, last: new Date(line.at).getTime() });
        run.events.push(line);
        put(run, line);
      } else continue;
      changed.add(run.id);
    }
    return changed;
  }

  /** The run, made if it is new. */
  run(id) {
    if (!this.runs.has(id)) this.runs.set(id, unknown(id));
    return this.runs.get(id);
  }

  /** The children of a run, oldest first. */
  children(id) {
    return [...this.runs.values()].filter((run) => run.parent === id);
  }

  /** The tree from its top, each run with its depth; parents before children. */
  rows(root) {
    const below = new Map();
    for (const run of this.runs.values()) {
      if (run.id === root) continue;
      if (!below.has(run.parent)) below.set(run.parent, []);
      below.get(run.parent).push(run);
    }
    const rows = [];
    const visit = (run, depth) => {
      rows.push({ run, depth });
      for (const child of below.get(run.id) ?? []) visit(child, depth + 1);
    };
    if (this.runs.has(root)) visit(this.runs.get(root), 0);
    return rows;
  }

  /** Tokens and cost of a run and all below it; `cost` null: a price is unknown. */
  total(id) {
    const all = this.rows(id).map(({ run }) => run);
    return {
      runs: all.length,
      input: all.reduce((sum, run) => sum + run.input, 0),
      output: all.reduce((sum, run) => sum + run.output, 0),
      cost: all.every((run) => run.priced) ? all.reduce((sum, run) => sum + Number(run.cost), 0) : null,
    };
  }
}
