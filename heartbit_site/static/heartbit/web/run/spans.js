// Time of a run as spans {kind, from, to, turn, call}; `to` null: the span is still open.

/** Kinds of spans, in the order of the legend. */
export const KINDS = {
  queue: "in the queue", model: "model", tool: "tools", lost: "lost work", person: "waits for a person",
  agents: "waits for sub-agents", pause: "waits for others",
};

const APART = new Set(["model", "lost"]);

/** Merge overlapping spans of the same kind, such as concurrent waits. */
export function merged(spans) {
  const last = new Map();
  const found = [];
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const before = last.get(span.kind);
    if (before && span.from <= before.to && !APART.has(span.kind)) before.to = Math.max(before.to, span.to);
    else {
      const { kind, from, to, why } = span;
      last.set(kind, { kind, from, to, why });
      found.push(last.get(kind));
    }
  }
  return found;
}

/**
 * Return the spans of a run, including the current one.
 * @param {object} run Run of the store.
 * @param {number} now Milliseconds; end of open spans.
 */
export function spansUntil(run, now) {
  const spans = [...run.spans.values()].map((span) => ({ ...span, to: span.to ?? Math.max(span.from, now) }));
  if (run.status === "running" && run.last !== null) {
    const calls = [...run.calls.values()].filter((call) => call.status === "pending" || call.status === "running");
    spans.push({ kind: calls.length ? "tool" : "model", from: run.last, to: Math.max(run.last, now), now: true });
  }
  return spans;
}
