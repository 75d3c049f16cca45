// Fork: a new run that begins with another run's journal up to a turn, with changes.

import { Refusal, all, api } from "../api.js";
import { seen } from "../approvals/pieces.js";
import { el, fill } from "../dom.js";
import { ask } from "./ask.js";
import { pretty } from "./json.js";
import { visit } from "./visit.js";

/**
 * Ask for the changes, and go to the new run.
 * @param {object} run Run of the store.
 * @param {number} [at] Last turn to keep; by default the last answered turn.
 */
export async function fork(run, at) {
  const turns = [...run.turns.values()].filter((turn) => turn.answered && (turn.number || turn.superstep)).reverse();
  const select = el("select", { name: "turn" },
    turns.map(({ number, superstep }) => superstep
      ? el("option", { value: number + 1 }, `with superstep ${number}, whose nodes run again`)
      : el("option", { value: number, selected: number === at }, `after turn ${number}`)),
    el("option", { value: 0 }, "from the beginning"));
  const version = el("select", { name: "version" }, el("option", { value: "" }, "as it was"));
  const task = el("textarea", { name: "task", required: true, maxlength: 400000, value: run.task });
  const before = task.value;
  const isAgent = run.kind === "agent";
  const isWorkflow = run.kind === "workflow";
  const replacement = new Replacement(run);
  const move = () => replacement.at(Number(select.value));
  select.addEventListener("change", move);
  move();
  ask({
    title: "Fork this run", label: "Fork",
    body: [
      el("p", {}, "A new run that begins with this one's journal. Kept turns are not repeated."),
      el("label", {}, "Where it begins", select),
      el("label", {}, el("span", {}, `Version of ${run.agent}`, el("span.quiet", {}, isWorkflow ? ": its steps and limits" : ": its prompt, model, tools and limits")), version),
      isAgent ? el("label", {}, "Task", task) : null,
      isAgent ? el("label", {}, el("span", {}, "Send it a message before it continues", el("span.quiet", {}, " optional")), el("textarea", { name: "message", maxlength: 20000 })) : null,
      replacement.element,
      isWorkflow ? el("label", {}, el("span", {}, "Other values of its state, as JSON", el("span.quiet", {}, " optional, from a superstep")), el("textarea.code", { name: "state", rows: 2, spellcheck: "false", placeholder: '{"rounds": 0}' })) : null,
    ],
    send: async (data) => {
      const body = { turn: Number(data.get("turn")), ...replacement.edits() };
      if (data.get("message")?.trim()) body.message = data.get("message");
      if (data.get("version")) body.version = Number(data.get("version"));
      if (data.get("state")?.trim()) body.state = readObject(data.get("state"), "values of the state");
      if (task.value !== before) body.task = task.value;
      visit(await api(`/runs/${run.id}/fork`, { method: "POST", body }));
    },
  });
  version.append(...await versionsOf(run.agent));
}

/** Fields for other arguments, or another result, of one call of the selected turn. */
class Replacement {
  constructor(run) {
    this.run = run;
    this.calls = [];
    this.call = el("select", { onChange: () => this.draw() });
    this.what = el("select", { onChange: () => this.draw() },
      el("option", { value: "arguments" }, "arguments (its turn's calls run again)"),
      el("option", { value: "result" }, "result (nothing runs again)"));
    this.text = el("textarea.code", { rows: 6, spellcheck: "false", autocomplete: "off", maxlength: 400000 });
    this.again = el("p.problem");
    this.more = el("div.stack", { hidden: true }, el("label", {}, "What is replaced", this.what), el("label", {}, "What it gets instead", this.text), this.again);
    this.element = el("div.stack", {}, el("label", {}, el("span", {}, "Replace something of a call", el("span.quiet", {}, " optional")), this.call), this.more);
  }

  /** Offer the calls of a turn; turn 0 has none. */
  at(number) {
    this.calls = this.run.kind === "workflow" ? [] : this.run.turns.get(number)?.calls ?? [];
    this.element.hidden = !this.calls.length;
    fill(this.call, el("option", { value: "" }, "none"), this.calls.map(({ id, tool }) => el("option", { value: id }, `${id} `, seen(tool))));
    this.draw();
  }

  draw() {
    const chosen = this.chosen();
    this.more.hidden = !chosen;
    if (!chosen) return;
    const isRun = this.what.value === "arguments";
    this.text.value = isRun ? pretty(chosen.arguments) : chosen.result ?? "";
    const effects = this.calls.filter(({ effect }) => effect !== "pure").map(({ id, tool }) => `${id} ${tool}`);
    this.again.hidden = !isRun || !effects.length;
    fill(this.again, "These calls run again, with their external effects: ", seen(effects.join(", ")), ".");
  }

  chosen() {
    return this.calls.find(({ id }) => id === this.call.value);
  }

  /**
   * Return the replacement for the request.
   * @throws {Refusal} The arguments are not a JSON object.
   */
  edits() {
    const call = this.chosen()?.id;
    if (!call) return {};
    return this.what.value === "arguments" ? { call_id: call, arguments: readObject(this.text.value) } : { call_id: call, result: this.text.value };
  }
}

function readObject(text, what = "arguments") {
  let value;
  try {
    value = JSON.parse(text, exactly);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(0, `The ${what} are not JSON: ${error.message}.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Refusal(0, `The ${what} have to be a JSON object.`);
  return value;
}

function exactly(_, value) {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Refusal(0, `${value} is larger than a browser can hold: fork with heartbit runs fork.`);
  return value;
}

/** Load the versions to choose from; none for an agent that a program defines. */
async function versionsOf(agent) {
  try {
    const versions = await all(`/agents/${encodeURIComponent(agent)}/versions`, "versions");
    return versions.map(({ number, current }) => el("option", { value: number }, `version ${number}${current ? ", the current one" : ""}`));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [];
  }
}
