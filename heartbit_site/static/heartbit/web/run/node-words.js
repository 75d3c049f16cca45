// States of nodes in words.

const STATES = {
  waiting: "waiting", running: "running", asks: "asks a person", done: "done", failed: "failed", skipped: "skipped", cancelled: "cancelled",
};

/** Return the visits and retries of a node in words: "visited 3 times, 1 retry". */
function counts({ visits, retries }) {
  const visited = visits === 1 ? "visited once" : `visited ${visits} times`;
  return retries ? `${visited}, ${retries} ${retries === 1 ? "retry" : "retries"}` : visited;
}

/** Return the name of a node's button. */
export function described(label, part) {
  return `${label}. ${part ? STATES[part.state] : "not reached"}${part?.visits ? `, ${counts(part)}` : ""}`;
}
