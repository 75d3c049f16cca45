// The values that a run's fold consists of, as they are before anything is known.

/** A run that nothing is known of yet. */
export function unknown(id) {
  return {
    id, parent: null, agent: "", task: "", seq: 0, events: [], status: "queued",
    began: null, ended: null, last: null, worker: "", model: "",
    turns: new Map(), calls: new Map(), entries: [], spans: [], waits: new Map(), changed: new Set(),
    input: 0, output: 0, cached: 0, cost: 0, priced: true, ending: null,
  };
}

/** The turn of a run, made if it is new. */
export function turnOf(run, number) {
  if (!run.turns.has(number)) {
    const turn = {
      number, attempt: 0, next: 0, text: "", thinking: "", gap: false, isKept: true, answered: false, html: null,
      calls: [], input: 0, output: 0, cost: null, ms: 0, model: "", finish: "", at: null,
    };
    run.turns.set(number, turn);
    run.entries.push({ key: `turn ${number}`, turn });
  }
  return run.turns.get(number);
}

/** A tool call of a run, made if it is new; its turn counts as changed. */
export function callOf(run, id) {
  if (!run.calls.has(id)) {
    run.calls.set(id, {
      id, turn: Number(id.split(".")[0]), name: "", arguments: "{}", status: "pending", effect: "", result: null,
      ms: 0, asked: null, decision: null, doubt: null, children: [], began: null, finished: null, grant: null,
    });
  }
  const call = run.calls.get(id);
  touched(run, call);
  return call;
}

/** A call changed, so its turn is to be drawn again. */
export function touched(run, call) {
  run.changed.add(`turn ${call.turn}`);
}
