// State of a run tree, from the lines of its socket. Independent of the page.

import { put, unknown, write } from "./known.js";

const MOST_NAMED = 1000;

/** Runs of a tree by id, in the order of their first lines. */
export class Store {
  constructor() {
    this.runs = new Map();
  }

  /** Return the last known event of each run, sent when a socket opens. */
  after() {
    // A frame is limited; events of omitted runs are sent again and ignored.
    const longest = [...this.runs.values()].sort((one, other) => other.seq - one.seq).slice(0, MOST_NAMED);
    return Object.fromEntries(longest.map((run) => [run.id, run.seq]));
  }

  /**
   * Apply lines in order; known lines change nothing.
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

  /** Return the run; create it if it is new. */
  run(id) {
    if (!this.runs.has(id)) this.runs.set(id, unknown(id));
    return this.runs.get(id);
  }

  /** Return the children of a run, oldest first. */
  children(id) {
    return [...this.runs.values()].filter((run) => run.parent === id);
  }

  /** Return the tree from its root, each run with its depth; parents before children. */
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

  /** Return tokens and cost of a run and all runs below it; `cost` null: a price is unknown. */
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
