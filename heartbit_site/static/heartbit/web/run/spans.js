// How a run spent its time: pieces {kind, from, to, turn, call}; `to` null: it goes on.

/** The kinds, in the order of the legend. */
export const KINDS = {
  queue: "in the queue", model: "model", tool: "tools", person: "waits for a person",
  agents: "waits for sub-agents", pause: "waits for the provider",
};

/** The pieces with those of one kind that overlap made one: what a run waits for at the same time. */
export function merged(spans) {
  const last = new Map();
  const found = [];
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const before = last.get(span.kind);
    if (before && span.from <= before.to && span.kind !== "model") before.to = Math.max(before.to, span.to);
    else {
      const { kind, from, to } = span;
      last.set(kind, { kind, from, to });
      found.push(last.get(kind));
    }
  }
  return found;
}

/**
 * The pieces of a run, the present one included.
 * @param {object} run Of the store.
 * @param {number} now Milliseconds; where open pieces end.
 */
export function spansUntil(run, now) {
  const spans = [...run.spans.values()].map((span) => ({ ...span, to: span.to ?? Math.max(span.from, now) }));
  if (run.status === "running" && run.last !== null) {
    const calls = [...run.calls.values()].filter((call) => call.status === "pending" || call.status === "running");
    spans.push({ kind: calls.length ? "tool" : "model", from: run.last, to: Math.max(run.last, now), now: true });
  }
  return spans;
}
