// What happens in a run, as it is told line by line: the steps of a message while it is worked on.
// The API gives the same steps of a message whose run has ended.

import { WORKSPACE } from "../api.js";
import { keep } from "../socket.js";

const ENDINGS = {
  "run.succeeded": "succeeded", "run.failed": "failed", "run.cancelled": "cancelled",
  "run.quarantined": "quarantined", "run.discarded": "cancelled",
};
const MOST_NAMED = 1000;

/**
 * Follow a run.
 * @param {string} run Its id.
 * @param {{changed: (told: Told) => void, ended: () => void, open: (open: boolean) => void}} how
 * @returns {() => void} Ends it.
 */
export function follow(run, { changed, ended, open }) {
  const told = new Told(run);
  let over = false;
  return keep(`/ws/${WORKSPACE}/runs/${run}/`, {
    opened: (send) => send({ type: "resume", after: told.after() }),
    state: (what) => open(what === "live"),
    done: () => over,
    told(data) {
      if (data.type === "lines") {
        for (const line of data.lines) told.take(line);
        changed(told);
      } else if (data.type === "end") {
        over = true;
        ended();
      }
    },
  });
}

/** What is known of a run and its sub-agents. */
export class Told {
  constructor(run) {
    this.run = run;
    this.seqs = new Map();
    this.helpers = new Map();
    this.steps = [];
    this.calls = new Map();
    this.asked = new Set(); // calls of the tree that wait for a person
    this.status = "queued";
    this.writing = { turn: 0, attempt: 0, next: 0, text: "" }; // next: the offset of what comes next
    this.thinking = false;
    this.answered = 0;
    this.delayed = "";
    this.stopping = false;
  }

  /** What the page has, for a socket that opens: the last event of each run. */
  after() {
    // A frame has its limit; what is left out is sent again, and then known already.
    return Object.fromEntries([...this.seqs].sort(([, one], [, other]) => other - one).slice(0, MOST_NAMED));
  }

  /** Take in a line (agents/live/lines.py). */
  take(line) {
    if (line.type === "delta") this.#delta(line);
    else if (line.type === "run") this.#seen(line);
    else if (line.seq > (this.seqs.get(line.run) ?? 0)) {
      this.seqs.set(line.run, line.seq);
      this.#people(line);
      if (line.run === this.run) this.#event(line);
      else this.#helper(line);
    }
  }

  #seen({ run, agent, task }) {
    if (run !== this.run && !this.helpers.has(run)) this.helpers.set(run, { run, agent, task, status: "queued" });
  }

  #delta({ run, turn, attempt, offset, kind, text }) {
    if (run !== this.run || turn <= this.answered) return;
    const { writing } = this;
    if (turn !== writing.turn || attempt > writing.attempt) this.writing = { turn, attempt, next: 0, text: "" };
    if (attempt < this.writing.attempt) return;
    const letters = [...text]; // the server counts characters, not UTF-16 units, and thinking among them
    const fresh = letters.slice(Math.max(0, this.writing.next - offset));
    if (!fresh.length) return;
    this.writing.next = offset + letters.length;
    this.thinking = kind !== "text";
    if (this.thinking) return;
    this.delayed = "";
    this.writing.text += fresh.join("");
  }

  #people({ run, event, payload }) {
    const name = (call) => `${run}/${call}`;
    if (event === "approval.requested" || event === "outcome.asked") this.asked.add(name(payload.call_id));
    else if (event === "tool.finished" || event === "tool.started") this.asked.delete(name(payload.call_id));
    else if (event === "wait.resolved") this.asked.delete(name(payload.key.split(":")[1]));
    else if (event in ENDINGS) for (const one of this.asked) if (one.startsWith(run)) this.asked.delete(one);
  }

  #helper({ run, event }) {
    const helper = this.helpers.get(run);
    if (!helper) return;
    if (event === "run.started") helper.status = "running";
    else if (event === "approval.requested" || event === "outcome.asked") helper.status = "waiting";
    else if (event in ENDINGS) helper.status = ENDINGS[event];
  }

  #event({ event, payload, html, at }) {
    const call = this.calls.get(payload.call_id);
    switch (event) {
      case "run.started":
        this.status = "running";
        break;
      case "run.requeued":
        this.status = "queued";
        break;
      case "model.answered":
        this.#answer(payload, html);
        break;
      case "model.delayed":
        this.delayed = payload.reason;
        break;
      case "run.steered":
        this.steps.push({ kind: "steer", text: payload.text, by: payload.by, at });
        break;
      case "run.cancel_requested":
        this.stopping = true;
        break;
      case "tool.started":
        if (call) call.status = "started";
        break;
      case "approval.requested":
        if (call) call.status = "waiting";
        break;
      case "outcome.asked":
        if (call) call.status = "uncertain";
        break;
      case "call.waiting":
        if (call) {
          call.status = "waiting";
          call.helpers = payload.keys.filter((key) => key.startsWith("child:")).map((key) => key.slice(6));
        }
        break;
      case "tool.finished":
        if (call) Object.assign(call, { status: payload.status, result: payload.content, duration_ms: payload.duration_ms });
        break;
      default:
        if (event in ENDINGS) this.status = ENDINGS[event];
    }
  }

  #answer({ turn, message }, html) {
    this.answered = turn;
    this.writing = { turn, attempt: 0, next: 0, text: "" };
    this.thinking = false;
    this.delayed = "";
    if (message.text) this.steps.push({ kind: "text", text: message.text, html });
    message.tool_calls.forEach(({ name, arguments: given }, index) => {
      const call = { kind: "call", call: `${turn}.${index}`, tool: name, arguments: given, status: "pending", result: null, duration_ms: null, helpers: [] };
      this.calls.set(call.call, call);
      this.steps.push(call);
    });
  }

  /** The steps so far, in the form of the API. */
  shown() {
    return this.steps.map((step) => step.kind === "call" ? { ...step, helpers: step.helpers.map((id) => this.helpers.get(id)).filter(Boolean) } : step);
  }

  /** What it does now, for people. */
  doing() {
    if (this.stopping) return "Stopping";
    if (this.asked.size) return "Waiting for a person";
    if (this.delayed) return this.delayed;
    if (this.status === "queued") return "Waiting for a worker";
    const helpers = [...this.helpers.values()].filter(({ status }) => ["queued", "running", "waiting"].includes(status));
    if (helpers.length) return `Waiting for ${[...new Set(helpers.map(({ agent }) => agent))].join(", ")}`;
    if (this.writing.text) return "Writing";
    const tools = [...this.calls.values()].filter(({ status }) => ["pending", "started"].includes(status));
    if (tools.length) return `Using ${tools[0].tool}`;
    return "Thinking";
  }
}
