// The equivalent commands, to be copied.

import { may } from "../api.js";
import { el, fill, icon, note } from "../dom.js";

/** Card of commands. */
export class Commands {
  constructor() {
    this.list = el("div.stack.commands");
    this.element = el("section.card", { "aria-label": "Commands" }, el("header", {}, el("h2", {}, "On a command line")), el("div.inside", {}, this.list));
    this.shown = "";
  }

  /** Show the commands of a run. */
  draw(run) {
    if (this.shown === run.id) return;
    this.shown = run.id;
    const at = `${location.origin}/api/v1/runs/${run.id}`;
    const key = '-H "Authorization: Bearer $HEARTBIT_API_KEY"';
    fill(this.list,
      command("Follow", `heartbit status ${run.id} --watch`),
      command("Answer", `heartbit result ${run.id}`),
      may("runs:write") ? command("Cancel", `heartbit cancel ${run.id}`) : null,
      command("cURL: the run", `curl ${key} ${at}`),
      command("cURL: its events", `curl -N ${key} "${at}/events?tree=true"`));
  }
}

function command(name, text) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    note("Copied.", "success");
  };
  return el("div.command", {}, el("span.quiet", {}, name), el("code.clip", { title: text }, text),
    el("button.iconic", { type: "button", "aria-label": `Copy: ${name}`, onClick: copy }, icon("content_copy")));
}
