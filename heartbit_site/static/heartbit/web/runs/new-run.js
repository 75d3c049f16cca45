// Form that gives an agent a task and opens the run.

import { WORKSPACE, all, api, whoCan } from "../api.js";
import { el, fill } from "../dom.js";
import { attachments } from "../chat/attachments.js";
import { ask } from "../run/ask.js";

/** Ask for agent and task, start the run and open its page. */
export async function newRun() {
  const agent = el("select", { name: "agent", required: true }, el("option", { value: "" }, "Reading …"));
  const about = el("p.quiet");
  let agents = [];
  const describe = () => {
    const chosen = agents.find(({ name }) => name === agent.value);
    about.textContent = chosen ? [chosen.description, listed("Team", chosen.team), listed("Tools", chosen.tools)].filter(Boolean).join(" ") : "";
  };
  agent.addEventListener("change", describe);
  const task = el("textarea", { name: "task", required: true, maxlength: 400000, rows: 6, autofocus: true, placeholder: "What it should do" });
  const body = el("div.stack");
  const attached = attachments(body);
  fill(body, el("label", {}, "Agent", agent), about, el("label", {}, "Task", task), attached.node,
    el("div.row", {}, attached.clip, el("label.check", {}, el("input", { type: "checkbox", name: "approve" }), "Ask me before every tool call")));
  ask({
    title: "New run", label: "Start", body,
    send: async (data) => {
      const given = { agent: data.get("agent"), task: data.get("task"), require_approval: data.has("approve"), ...await attached.body() };
      const { id } = await api("/runs", { method: "POST", body: given });
      location.assign(`${id}/`);
    },
  });
  agents = await all("/agents", "agents");
  const last = localStorage.getItem("heartbit-agent");
  fill(agent, agents.map(({ name, state }) => el("option", { value: name, disabled: state === "stopped" }, state === "stopped" ? `${name} (stopped)` : name)));
  const first = agents.find(({ name }) => name === last) ?? agents.find(({ name }) => name === "orchestrator") ?? agents[0];
  if (first) agent.value = first.name;
  else fill(agent, el("option", { value: "" }, "There is no agent yet"));
  agent.addEventListener("change", () => localStorage.setItem("heartbit-agent", agent.value));
  describe();
  if (!first) fill(about, noAgent());
}

function noAgent() {
  return document.body.dataset.edits ? el("a", { href: `/w/${WORKSPACE}/new-agent/` }, "Create an agent") : `Who can create one: ${whoCan("agents:write")}.`;
}

function listed(name, words) {
  return words.length ? `${name}: ${words.join(", ")}.` : "";
}
