// Live progress of a run from its stream: the steps of a message while the run works on it.
// The API returns the same steps for a message whose run has ended.

import { WORKSPACE } from "../api.js";
import { Store } from "../run/store.js";
import { keep } from "../socket.js";

/**
 * Follow a run.
 * @param {string} run Its id.
 * @param {{changed: (told: Told) => void, ended: () => void, open: (open: boolean) => void}} how
 * @returns {() => void} Function that stops following.
 */
export function follow(run, { changed, ended, open }) {
  const told = new Told(run);
  let over = false;
  return keep(`/ws/${WORKSPACE}/runs/${run}/`, {
    opened: (send) => send({ type: "resume", after: told.store.after() }),
    state: (what) => open(what === "live"),
    done: () => over,
    told(data) {
      if (data.type === "lines") {
        told.store.take(data.lines);
        changed(told);
      } else if (data.type === "end") {
        over = true;
        ended();
      }
    },
  });
}

/** State of a run and its sub-agents, as displayed in the chat. */
export class Told {
  constructor(run) {
    this.id = run;
    this.store = new Store();
  }

  get run() {
    return this.store.run(this.id);
  }

  get status() {
    return this.run.status;
  }

  /** Text of the model call in flight. */
  get writing() {
    return [...this.run.turns.values()].find((turn) => !turn.answered)?.text ?? "";
  }

  /** Names ("run/call") of the tree's calls that wait for a person. */
  get asked() {
    return new Set([...this.store.runs.values()].flatMap((run) => run.waits
      .filter(({ kind }) => kind === "person").map(({ call }) => `${run.id}/${call}`)));
  }

  /** Steps so far, in the form of the API. */
  get steps() {
    return this.run.entries.flatMap(({ turn, note }) => {
      if (note) return note.who === null ? [] : [{ kind: "steer", text: note.text, by: note.who, at: note.at }];
      if (!turn.answered) return [];
      const calls = turn.calls.map((call) => ({
        ...call, kind: "call", call_id: call.id,
        children: call.children.map((id) => this.store.run(id)).filter(({ agent }) => agent)
          .map(({ id, agent, task, status }) => ({ id, agent, task, status })),
      }));
      return turn.text ? [{ kind: "text", text: turn.text, html: turn.html }, ...calls] : calls;
    });
  }

  /** Current activity, for people; a wait for a person comes first. */
  get doing() {
    const asking = [...this.store.runs.values()].find(({ waits }) => waits.some(({ kind }) => kind === "person"));
    return (asking ?? this.run).doing;
  }
}
