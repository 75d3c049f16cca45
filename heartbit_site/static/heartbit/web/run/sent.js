// The model request of a turn, loaded on demand.

import { Refusal, api } from "../api.js";
import { seen } from "../approvals/pieces.js";
import { el, fill } from "../dom.js";
import { code, pretty } from "./json.js";

const ROLES = { user: () => "User", assistant: () => "Model", tool: ({ name, is_error: failed }) => [`Result of `, seen(name), failed ? ", an error" : ""] };

/** Button with the box that it opens. */
export class Sent {
  /** @param {{id: string}} run @param {number} number Number of the turn. */
  constructor(run, number) {
    Object.assign(this, { run, number, isKnown: false });
    this.box = el("div.sent.stack", { hidden: true });
    this.button = el("button.button.small", { type: "button", "aria-expanded": "false", onClick: () => this.flip() }, "What it was sent");
  }

  flip() {
    this.box.hidden = !this.box.hidden;
    this.button.setAttribute("aria-expanded", String(!this.box.hidden));
    if (!this.isKnown) this.load();
  }

  async load() {
    this.isKnown = true; // a sent request never changes
    fill(this.box, el("p.quiet", { role: "status" }, "Loading …"));
    try {
      fill(this.box, shown(await api(`/runs/${this.run.id}/turns/${this.number}`)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.isKnown = false;
      fill(this.box, el("p.problem", { role: "alert" }, error.message));
    }
  }
}

function shown({ agent, version, answer, request }) {
  const { messages, tools } = request;
  const facts = [
    ["Agent", `${agent}, version ${version}`],
    ["Longest answer", `${request.max_tokens.toLocaleString("en")} tokens`],
    ["Tool choice", request.tool_choice],
    request.temperature === null ? null : ["Temperature", String(request.temperature)],
    request.reasoning_effort ? ["Reasoning effort", request.reasoning_effort] : null,
    request.stop.length ? ["Stops at", request.stop.map((one) => JSON.stringify(one)).join(", ")] : null,
    request.omitted_messages ? ["Left out", `${request.omitted_messages} message${request.omitted_messages === 1 ? "" : "s"}, by the context strategy`] : null,
    ["Ended with", answer.finish_reason.replaceAll("_", " ")],
  ].filter(Boolean);
  return [
    el("dl.facts", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("ol.messages", { "aria-label": "Messages" }, message("System", request.system), messages.map(messageOf)),
    el("div.offered", {}, el("h4", {}, tools.length ? "Tools offered" : "No tools were offered"),
      tools.map((tool) => el("details", {}, el("summary", {}, el("code", {}, tool.name)),
        el("p.text.quiet", {}, seen(tool.description)), code(JSON.stringify(tool.parameters, null, 2), `Parameters of ${tool.name}`)))),
    request.changed_tools.length ? el("p.hint", {}, `Changed or removed since: ${request.changed_tools.join(", ")}.`) : null,
  ];
}

function messageOf(one) {
  return message(ROLES[one.role](one), one.text ?? one.content, one.tool_calls ?? [], one.is_error);
}

function message(who, text, calls = [], isError = false) {
  return el(isError ? "li.failed" : "li", {}, el("p.quiet", {}, who), text ? el("p.text", {}, seen(text)) : null,
    calls.map(({ name, arguments: given }) => [el("p", {}, el("b", {}, seen(name))), code(pretty(given), `Arguments of ${name}`)]));
}
