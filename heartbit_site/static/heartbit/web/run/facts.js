// Figures of a run, and of all runs below it.

import { WORKSPACE } from "../api.js";
import { el, fill } from "../dom.js";
import { ago, cost, duration, moment, person, tokens } from "../words.js";

/** Card of facts. */
export class Facts {
  constructor() {
    this.list = el("dl.facts");
    this.element = el("section.card", { "aria-label": "Facts" }, el("header", {}, el("h2", {}, "Facts")), el("div.inside", {}, this.list));
    this.shown = "";
  }

  /**
   * Show a run.
   * @param {object} run Run of the store.
   * @param {object} row Row of the API; null until it has arrived.
   * @param {object} total Totals of the run and all runs below it.
   */
  draw(run, row, total, now) {
    const lasted = run.began === null ? "" : duration((run.ended ?? now) - run.began);
    const facts = [
      ["Agent", row ? `${run.agent}, version ${row.version}` : run.agent],
      run.kind === "workflow" ? null : ["Model", run.kind !== "agent" ? "none" : run.model || row?.model || "chosen at the first start"],
      ["Duration", lasted],
      ["Tokens", tokens(run.input, run.output)],
      run.cached ? ["Cached of these", run.cached.toLocaleString("en")] : null,
      ["Cost", run.priced || !Number(run.cost) ? cost(run.priced ? run.cost : null) : `${cost(run.cost)} and calls without a price`],
      total.runs > 1 ? ["Tokens with sub-agents", tokens(total.input, total.output)] : null,
      total.runs > 1 ? ["Cost with sub-agents", cost(total.cost)] : null,
      [run.kind === "workflow" ? "Supersteps" : "Turns", String([...run.turns.values()].filter((turn) => turn.answered && turn.number).length)],
      ["Tool calls", String(run.calls.size)],
      ["Accepted", run.began === null ? "" : el("time", { datetime: new Date(run.began).toISOString(), title: ago(run.began) }, moment(run.began))],
      row?.started_at ? ["Started", later(row.started_at, row)] : null,
      row?.finished_at ? ["Finished", later(row.finished_at, row)] : null,
      row?.started_by ? ["Started by", person(row.started_by)] : null,
      row ? ["Executed by", row.placement] : null,
      run.worker ? ["Worker", run.sandbox ? `${run.worker}, code in ${run.sandbox}` : run.worker] : null,
      row?.attempts ? ["Worker crashes", String(row.attempts)] : null,
      row ? ["Queue", `${row.queue}${row.priority ? `, priority ${row.priority}` : ""}`] : null,
      row?.require_approval ? ["Approval", "every tool call waits for a person"] : null,
      row?.conversation_id ? ["Conversation", el("a", { href: `/w/${WORKSPACE}/chat/${encodeURIComponent(row.agent)}/${row.conversation_id}/` }, row.conversation_id.slice(0, 13))] : null,
      row?.forked_from_id ? ["Begun with", runLink(row.forked_from_id)] : null,
      row?.forks.length ? ["Forks", el("span", {}, row.forks.map((one, index) => [index ? ", " : "", runLink(one.id), one.turn ? ` after turn ${one.turn}` : " from the beginning"]))] : null,
      ["Run", el("code", {}, run.id)],
    ].filter(Boolean);
    const shown = JSON.stringify(facts.map(([name, value]) => [name, value.textContent ?? value]));
    if (shown === this.shown) return;
    this.shown = shown;
    fill(this.list, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }
}

function later(moment, { created_at: began }) {
  return `${duration(new Date(moment) - new Date(began))} later`;
}

function runLink(id) {
  return el("a", { href: `../${id}/` }, id.slice(0, 13));
}
