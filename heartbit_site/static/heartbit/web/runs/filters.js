// Filters of the list, kept in the URL, so that a reload or a link shows the same.

import { all } from "../api.js";
import { el } from "../dom.js";

const STATUSES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled", "quarantined"];
const PAUSE_MS = 250;

/** Form of the filters. */
export class Filters {
  /** @param {() => void} changed Called after a change. */
  constructor(changed) {
    this.changed = changed;
    this.text = el("input", { type: "search", placeholder: "Words of the task, or an id", maxlength: 200, onInput: () => this.later() });
    this.status = el("select", { onChange: () => this.now() }, el("option", { value: "" }, "Any"), STATUSES.map((one) => el("option", { value: one }, one)));
    this.agent = el("select", { onChange: () => this.now() }, el("option", { value: "" }, "Any"));
    this.mine = el("input", { type: "checkbox", onChange: () => this.now() });
    this.children = el("input", { type: "checkbox", onChange: () => this.now() });
    this.element = el("form.filters", { role: "search", "aria-label": "Filter runs", onSubmit: (event) => { event.preventDefault(); this.now(); } },
      el("label.wide", {}, "Search", this.text), el("label", {}, "Status", this.status), el("label", {}, "Agent", this.agent),
      el("label.check", {}, this.mine, "Mine"), el("label.check", {}, this.children, "Sub-agents too"));
    this.read();
    this.nameAgents();
    addEventListener("popstate", () => {
      this.read();
      changed();
    });
  }

  /** Query parameters for the API. */
  query() {
    return { text: this.text.value.trim(), status: this.status.value, agent: this.agent.value, mine: this.mine.checked || null, children: this.children.checked || null };
  }

  /** True if a filter is set. */
  isSet() {
    return Boolean(this.text.value.trim() || this.status.value || this.agent.value || this.mine.checked);
  }

  /** Clear all filters. */
  clear() {
    for (const one of [this.text, this.status, this.agent]) one.value = "";
    this.mine.checked = false;
    this.now();
  }

  read() {
    const given = new URLSearchParams(location.search);
    this.text.value = given.get("text") ?? "";
    this.status.value = STATUSES.includes(given.get("status")) ? given.get("status") : "";
    this.mention(given.get("agent") ?? "");
    this.agent.value = given.get("agent") ?? "";
    this.mine.checked = given.get("mine") === "true";
    this.children.checked = given.get("children") === "true";
  }

  /** Add the agent in the URL to the choices: a deleted agent still has runs. */
  mention(name) {
    if (name && ![...this.agent.options].some((option) => option.value === name)) this.agent.append(el("option", { value: name }, name));
  }

  async nameAgents() {
    const agents = await all("/agents", "agents");
    for (const { name } of agents) this.mention(name);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), PAUSE_MS);
  }

  now() {
    clearTimeout(this.timer);
    const given = Object.entries(this.query()).filter(([, value]) => value);
    history.replaceState(null, "", given.length ? `?${new URLSearchParams(given)}` : location.pathname);
    this.changed();
  }
}
