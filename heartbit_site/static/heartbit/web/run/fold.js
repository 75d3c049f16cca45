// How one event of the journal changes what is known of its run.

import { callOf, touched, turnOf } from "./known.js";
import { Spans } from "./spans.js";

const FOLDS = {
  "run.created": (run, { task, agent }, at) => {
    Object.assign(run, { task: run.task || task, agent: run.agent || agent, began: at });
    Spans.open(run, "queue", "queue", at);
  },
  "run.forked": (run, payload, at) => {
    // What lies before is another run's past: its time and its cost are not this run's.
    Object.assign(run, { began: at, spans: [], input: 0, output: 0, cached: 0, cost: 0, priced: true, status: "queued" });
    run.waits.clear();
    Spans.open(run, "queue", "queue", at);
    tell(run, at, "fork_right", `Begun with the journal of another run, up to turn ${payload.turn}${by(payload)}.`, payload.source);
  },
  "run.started": (run, { worker, model }, at) => {
    Spans.close(run, "queue", at);
    Object.assign(run, { status: "running", worker, model });
  },
  "run.requeued": (run, { reason }, at) => {
    run.status = "queued";
    Spans.open(run, "queue", "queue", at);
    tell(run, at, "redo", `Back in the queue: ${reason}`);
  },
  "model.answered": answered,
  "model.delayed": (run, { key, reason, delay_seconds: seconds }, at) => {
    wait(run, key, "pause", at);
    tell(run, at, "hourglass_empty", `${reason} (waits ${Math.round(seconds)} s)`);
  },
  "model.cut": (run, payload, at) => {
    spend(run, payload);
    Spans.took(run, "model", at, payload.duration_ms, { name: "cut off" });
    tell(run, at, "content_cut", payload.reason);
  },
  "context.summarized": (run, payload, at) => {
    spend(run, payload);
    Spans.took(run, "model", at, payload.duration_ms, { name: "summary" });
    const replaced = payload.upto - 1; // from the second message on: the first one stays
    tell(run, at, "compress", `A summary replaces ${replaced} earlier message${replaced === 1 ? "" : "s"}.`);
  },
  "approval.requested": (run, payload, at) => {
    const call = callOf(run, payload.call_id);
    const again = payload.question > 1 ? `:${payload.question}` : "";
    Object.assign(call, { status: "waiting", effect: payload.effect, asked: payload });
    wait(run, `approval:${payload.call_id}${again}`, "person", at, call);
  },
  "approval.escalated": (run, { key, group }, at) => {
    const known = run.waits.get(key);
    if (known) known.escalated = true;
    tell(run, at, "back_hand", `Nobody has decided in time: escalated to ${group || "everybody who may decide"}.`);
  },
  "decision.lapsed": (run, { call_id: id, reason }, at) => {
    callOf(run, id).decision = null;
    tell(run, at, "block", reason);
  },
  "outcome.asked": (run, payload, at) => {
    const call = callOf(run, payload.call_id);
    Object.assign(call, { status: "uncertain", doubt: payload });
    wait(run, `outcome:${payload.call_id}:${payload.question}`, "person", at, call);
  },
  "tool.started": (run, payload, at) => {
    Object.assign(callOf(run, payload.call_id), { status: "running", effect: payload.effect, began: at });
  },
  "tool.finished": (run, payload, at) => {
    const call = callOf(run, payload.call_id);
    Object.assign(call, {
      status: payload.status, result: payload.content, ms: payload.duration_ms, grant: payload.grant,
      effect: payload.effect || call.effect, finished: at,
    });
    if (!call.children.length) Spans.took(run, "tool", at, payload.duration_ms, { call });
  },
  "call.waiting": (run, { call_id: id, keys }, at) => {
    const call = callOf(run, id);
    call.status = "waiting";
    call.children = keys.filter((key) => key.startsWith("child:")).map((key) => key.slice(6));
    for (const key of keys) wait(run, key, key.startsWith("child:") ? "agents" : "pause", at, call);
  },
  "wait.resolved": resolved,
  "run.steered": (run, payload, at) => tell(run, at, "chat", payload.text, null, payload.by || "somebody"),
  "run.cancel_requested": (run, { reason }, at) => tell(run, at, "stop_circle", reason || "Somebody asked it to stop."),
  "run.succeeded": (run, payload, at) => end(run, "succeeded", at, { text: payload.output, ...payload }),
  "run.failed": (run, payload, at) => end(run, "failed", at, { text: payload.partial, ...payload }),
  "run.cancelled": (run, payload, at) => end(run, "cancelled", at, { text: payload.partial, ...payload }),
  "run.quarantined": (run, payload, at) => end(run, "quarantined", at, {
    text: "", message: `Its workers died ${payload.attempts} times without progress, so no other takes it.`,
  }),
  "run.revived": (run, payload, at) => {
    Object.assign(run, { status: "queued", ended: null, ending: null });
    Spans.open(run, "queue", "queue", at);
    tell(run, at, "play_circle", `It was let go on${by(payload)}.`);
  },
  "run.discarded": (run, payload, at) => {
    tell(run, at, "delete", `It was given up${by(payload)}.`);
    end(run, "cancelled", at, { text: "", reason: `given up${by(payload)}` });
  },
};

/** Fold one line of type event into its run; an unknown one stays in the journal alone. */
export function foldEvent(run, line) {
  const at = new Date(line.at).getTime();
  run.seq = line.seq;
  run.last = at;
  run.began ??= at;
  run.events.push(line);
  FOLDS[line.event]?.(run, line.payload, at, line);
}

function answered(run, payload, at, line) {
  const turn = turnOf(run, payload.turn);
  const { message, usage } = payload;
  const kept = message.thinking.map(({ block }) => thought(block)).filter(Boolean).join("\n\n");
  Object.assign(turn, {
    answered: true, gap: false, text: message.text, html: line.html ?? null, at,
    // Not every provider's thinking is journaled; who saw it live need not lose it while they read.
    thinking: kept || turn.thinking, isKept: kept !== "",
    input: usage.input_tokens, output: usage.output_tokens, cached: usage.cached_input_tokens,
    cost: payload.cost_usd, ms: payload.duration_ms, model: payload.model, finish: payload.finish_reason,
    calls: message.tool_calls.map((call, index) => {
      const made = callOf(run, `${payload.turn}.${index}`);
      Object.assign(made, { name: call.name, arguments: call.arguments });
      return made;
    }),
  });
  const place = run.entries.findIndex((entry) => entry.turn === turn);
  run.entries.push(...run.entries.splice(place, 1)); // where the journal has it
  busy(run, at - payload.duration_ms);
  spend(run, payload);
  Spans.took(run, "model", at, payload.duration_ms, { turn });
  run.changed.add(`turn ${turn.number}`);
}

function resolved(run, { key, value }, at) {
  const known = run.waits.get(key);
  if (!known) return;
  run.waits.delete(key);
  Spans.close(run, key, at);
  if (known.call) {
    if (known.kind === "person") Object.assign(known.call, { status: "pending", decision: { ...value, at } });
    touched(run, known.call);
  }
  if (!run.waits.size && run.status !== "running") {
    run.status = "queued";
    Spans.open(run, "queue", "queue", at);
  }
}

function wait(run, key, kind, at, call = null) {
  run.waits.set(key, { kind, call, since: at });
  Spans.open(run, key, kind, at, { call });
  run.status = "waiting";
}

/** Only a worker's run does such things, whatever was known of it. */
function busy(run, at) {
  Spans.close(run, "queue", at);
  if (!run.waits.size) run.status = "running";
}

function spend(run, { usage, cost_usd: cost }) {
  run.input += usage.input_tokens;
  run.output += usage.output_tokens;
  run.cached += usage.cached_input_tokens;
  if (cost === null) run.priced = false;
  else run.cost += Number(cost);
}

function end(run, status, at, ending) {
  const html = run.events.at(-1).html ?? null;
  if (run.status === "running" && status !== "succeeded") {
    // What it was about when it ended has no event of its own.
    const since = new Date(run.events.at(-2)?.at ?? at).getTime();
    Spans.took(run, [...run.calls.values()].some(isOpen) ? "tool" : "model", at, at - since);
  }
  Object.assign(run, { status, ended: at, ending: { status, html, ...ending } });
  Spans.closeAll(run, at);
  run.waits.clear();
  for (const call of run.calls.values()) {
    if (isOpen(call) || call.status === "waiting") {
      call.status = "cancelled";
      touched(run, call);
    }
  }
  for (const turn of run.turns.values()) run.changed.add(`turn ${turn.number}`);
}

function isOpen({ status }) {
  return status === "pending" || status === "running";
}

function tell(run, at, icon, text, about = null, who = "") {
  const key = `note ${run.seq}`;
  run.entries.push({ key, note: { icon, text, about, who, at } });
  run.changed.add(key);
}

function by({ by: name }) {
  return name ? ` by ${name}` : "";
}

function thought(block) {
  if (Array.isArray(block.summary)) return block.summary.map((part) => part.text ?? "").join("\n\n");
  return [block.thinking, block.text, block.reasoning, block.reasoning_content, block.content].find((one) => typeof one === "string") ?? "";
}
