// Values of a run's view, updated from the parts of a line (agents/live/view.py).

/** Return a run without any data yet. */
export function unknown(id) {
  return {
    id, parent: null, agent: "", task: "", seq: 0, last: null, events: [], kind: "agent", takes_messages: true, status: "queued", doing: "Queued", worker: "", model: "",
    began: null, ended: null, input: 0, output: 0, cached: 0, cost: 0, priced: true, stopping: false, waits: [], waiting: "waiting", lost: "", ending: null,
    turns: new Map(), calls: new Map(), entries: [], spans: new Map(), nodes: new Map(), changed: new Set(),
  };
}

const PARTS = {
  run: (run, part, { shown: html, unseen }) => {
    if (part.ending || run.ending) for (const number of run.turns.keys()) run.changed.add(`turn ${number}`);
    Object.assign(run, part, { ending: part.ending && { ...part.ending, html: html ?? run.ending?.html ?? null, unseen: unseen ?? run.ending?.unseen ?? 0 } });
  },
  turn: (run, part, { html }) => {
    const turn = turnOf(run, part.number);
    Object.assign(turn, part, { html: html ?? null, calls: part.calls.map((id) => callOf(run, id)) });
    run.entries.find((entry) => entry.turn === turn).seq = part.seq;
    run.changed.add(`turn ${part.number}`);
  },
  call: (run, part) => {
    Object.assign(callOf(run, part.id), part);
    run.changed.add(`turn ${part.turn}`);
  },
  note: (run, note) => {
    const key = `note ${note.seq}`;
    run.entries.push({ key, seq: note.seq, note });
    run.changed.add(key);
  },
  node: (run, part, line, name) => run.nodes.set(name.slice("node ".length), part),
  time: (run, part, line, name) => {
    if (part === null) run.spans.delete(name);
    else run.spans.set(name, { ...part, turn: run.turns.get(part.turn), call: run.calls.get(part.call) });
  },
};

/** Apply the parts that an event changed. */
export function put(run, line) {
  for (const [name, part] of Object.entries(line.view ?? {})) PARTS[name.split(" ")[0]](run, part, line, name);
  run.entries.sort((one, other) => one.seq - other.seq);
}

/** Append a piece of text of the model call in flight. */
export function write(run, { turn: number, blocks, view: { kind, at, text, fresh, gap, doing } }) {
  const turn = turnOf(run, number);
  if (turn.answered) return;
  if (fresh) Object.assign(turn, { text: "", thinking: "", blocks: [] });
  turn[kind] = turn[kind].slice(0, at) + text;
  if (blocks) turn.blocks.splice(blocks.from, Infinity, ...blocks.html);
  turn.gap = gap;
  run.doing = doing;
  run.changed.add(`turn ${number}`);
}

function turnOf(run, number) {
  if (!run.turns.has(number)) {
    const turn = { number, text: "", thinking: "", blocks: [], gap: false, kept: true, answered: false, html: null, calls: [] };
    run.turns.set(number, turn);
    run.entries.push({ key: `turn ${number}`, seq: Infinity, turn });
  }
  return run.turns.get(number);
}

function callOf(run, id) {
  if (!run.calls.has(id)) run.calls.set(id, { id });
  return run.calls.get(id);
}
