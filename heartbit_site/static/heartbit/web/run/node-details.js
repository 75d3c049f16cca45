// The details of a node: its visits with their input, output, retries and child runs.

import { seen } from "../approvals/pieces.js";
import { el, fill, icon, pill } from "../dom.js";
import { duration } from "../words.js";
import { messageOf, resultOf, retriesOf } from "./messages.js";
import { code } from "./json.js";
import { counts, stateOf } from "./node-words.js";

const MOST = 10; // calls that are shown, the last first
const TONES = { running: "info", asks: "primary", done: "success", failed: "danger", cancelled: "warning" };

/** Box below the graph. */
export class NodeDetails {
  /**
   * @param {(id: string) => {address: string, agent: string}} place Returns the URL and agent of a run.
   * @param {() => void} close Closes the box.
   */
  constructor(place, close) {
    this.place = place;
    this.close = close;
    this.shown = "";
    this.element = el("div.inside.stack.node-details", { hidden: true, tabindex: "-1", role: "region", "aria-label": "Node" });
  }

  hide() {
    this.element.hidden = true;
    this.shown = "";
  }

  /** Show a node as it is now. */
  show(run, name, label) {
    const part = run.nodes.get(name);
    const calls = [...run.calls.values()].filter((call) => call.tool === name && !call.parent).slice(-MOST).reverse();
    const now = JSON.stringify([run.id, name, part, calls]);
    if (now === this.shown) return;
    this.shown = now;
    this.element.hidden = false;
    this.element.setAttribute("aria-label", `Node ${name}`);
    const work = label?.slice(name.length + 2) ?? "";
    fill(this.element,
      el("div.row", {}, el("h3", {}, seen(name)), el(`span.pill.${TONES[part?.state] ?? "neutral"}`, {}, stateOf(part)),
        part?.visits ? el("span.quiet", {}, counts(part)) : null,
        el("button.iconic", { type: "button", "aria-label": "Close the node", onClick: this.close }, icon("close"))),
      el("p.quiet.text", {}, seen(work)),
      calls.map((call, index) => this.call(run, call, index === 0)));
  }

  call(run, call, isOpen) {
    const failures = retriesOf(run, call.id);
    const isBad = call.status === "error";
    const input = messageOf(run, call.id);
    return el("details.call", { open: isOpen },
      el("summary", {}, el("b", {}, `Superstep ${call.turn}`), el("span.clip.quiet", {}, seen(input.slice(0, 200))),
        pill(call.children.length && call.status === "waiting" ? "running" : call.status),
        call.duration_ms ? el("span.number.quiet", {}, duration(call.duration_ms)) : null),
      el("div.call-inside", {},
        el("h4", {}, "Input"), code(input, `Input of ${call.tool}`),
        failures.map((error) => el("p.hint", {}, "Tried again after: ", seen(error))),
        call.children.length ? el("p", {}, "Run: ", call.children.map((id, index) => {
          const { address, agent } = this.place(id);
          return [index ? ", " : "", el("a", { href: address }, agent || id)];
        })) : null,
        call.result === null ? null : [el("h4", {}, isBad ? "Error" : "Output"), code(resultOf(run, call) || "nothing", `Output of ${call.tool}`)]));
  }
}
