// One tool call: a summary line that unfolds to its arguments and result.

import { api, Refusal } from "../api.js";
import { seen } from "../approvals/pieces.js";
import { el, fill, icon } from "../dom.js";
import { moment } from "../moment.js";
import { duration } from "../words.js";
import { pretty, values } from "./json.js";
import { sources } from "./sources.js";
import { label } from "./waits.js";

/** View of a call; `update` shows its current state. */
export class CallView {
  /** @param {(id: string) => {address: string, agent: string}} place Returns the URL and agent of a run. */
  constructor(place) {
    this.place = place;
    this.line = el("summary");
    this.inside = el("div.call-inside");
    this.element = el("details.call", { onToggle: () => this.unfold() }, this.line, this.inside);
    this.shown = "";
    this.decisions = []; // from the API: all decisions, with their origin and right
    this.known = null;
  }

  /** Show the call. */
  update(call, run) {
    const now = JSON.stringify([call, run.status === "running"]);
    if (now === this.shown) return;
    this.shown = now;
    this.call = call;
    this.run = run;
    this.element.classList.toggle("of-script", Boolean(call.parent));
    fill(this.line, icon(call.children.length ? "account_tree" : "build"), el("b", {}, seen(call.tool || call.id)),
      el("span.clip.quiet.code-line", {}, short(call.arguments)), status(call),
      call.progress && call.result === null ? el("span.clip.quiet", { role: "status" }, seen(call.progress)) : null,
      call.duration_ms ? el("span.number.quiet", {}, duration(call.duration_ms)) : null);
    this.unfold();
  }

  unfold() {
    const { call } = this;
    if (!this.element.open) return;
    this.learn();
    fill(this.inside,
      call.parent ? el("p.quiet", {}, `Made by the script of call ${call.parent}.`) : null,
      el("h3", {}, "Arguments"), values(call.arguments, `Arguments of ${call.tool}`),
      call.effect ? el("p.quiet", {}, `Effect class: ${call.effect.replaceAll("_", " ")}. Call ${call.id}.`) : null,
      this.asked(), this.decided(),
      call.grant ? el("p.quiet", {}, `A standing permission (${call.grant}) let it run without an approval.`) : null,
      call.children.length ? el("p", {}, "Sub-agents: ", call.children.map((id, index) => {
        const { address, agent } = this.place(id);
        return [index ? ", " : "", el("a", { href: address }, agent || id)];
      })) : null,
      sources(call),
      call.result === null ? null : [el("h3", {}, call.status === "ok" ? "Result" : "What went wrong"),
        values(call.result, `Result of ${call.tool}`)]);
  }

  asked() {
    const { asked, doubt, reason } = this.call;
    if (doubt) return el("p.hint", {}, "Its worker crashed while it ran: a person can resolve it above.");
    return asked ? el("p.hint", {}, `Waits for a person. ${reason}`) : null;
  }

  /** Request details of decisions that the journal lacks, once per decision. */
  async learn() {
    const { decision, id } = this.call;
    if (!decision || this.known === decision.at) return;
    this.known = decision.at;
    try {
      this.decisions = (await api(`/runs/${this.run.id}/calls/${id}`)).decisions;
      this.unfold();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error; // the journal's data stays
    }
  }

  decided() {
    const { decision, decided } = this.call;
    if (!decision) return null;
    const told = { ...decision, text: decided, verdict: decision.status };
    return (this.decisions.length ? this.decisions : [told]).map((one) => [
      el("p", {}, one.text, one.via && one.via !== "grant" ? ` (${one.via})` : "", " at ", moment(new Date(one.at).toISOString()), ".", rightOf(one), one.reason ? [" Reason: ", seen(one.reason)] : ""),
      one.arguments ? [el("h3", {}, one.verdict === "edited" ? "What ran instead" : "What ran"), values(one.arguments, "What a person wrote")] : null]);
  }
}

function rightOf({ grant_id: grant, via }) {
  if (!grant) return "";
  return via === "grant" ? ` Standing permission ${grant} allows it.` : ` Standing permission ${grant} was given with it.`;
}

function status(call) {
  return label(call.status, call.children.length ? "agents" : call.asked ? "person" : "others");
}

function short(text) {
  return seen(pretty(text).replace(/\s+/g, " ").slice(0, 300));
}
