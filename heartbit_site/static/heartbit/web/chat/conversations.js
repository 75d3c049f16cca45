// The list of agents, and the conversations with the selected one.

import { all, api, may, whoCan } from "../api.js";
import { el, fill, icon, note } from "../dom.js";
import { since } from "../moment.js";
import { chatAddress } from "./places.js";

const LIVE = new Set(["queued", "running", "waiting"]);
const TICK_MS = 20000; // interval for refreshing "2 min ago"

/** Return the agents that people can talk to: those that are not stopped. */
export async function loadAgents() {
  return all("/agents", "agents");
}

/** Return the list of agents. */
export function agentList(agents, chosen) {
  const open = agents.filter(({ state }) => state !== "stopped");
  if (!open.length) {
    return el("p.quiet.inside", {}, may("agents:write") ? "No agent is published and enabled yet: create one in the admin, under Agents."
      : `No agent is published and enabled yet. Who can create one: ${whoCan("agents:write")}.`);
  }
  return el("ul.agents", {}, open.map(({ name, description }) => el("li", {},
    el("a", { href: chatAddress(name), data: { go: "" }, "aria-current": name === chosen ? "true" : null, title: description },
      el("span.strong.clip", {}, name), description && el("span.quiet.clip", {}, description)))));
}

/**
 * Return the conversations with an agent, the most recently used first.
 * @returns {{node: HTMLElement, show: (agent: string, conversation: string) => Promise<void>,
 *            drop: (conversation: string) => void, again: () => Promise<void>}}
 */
export function conversationList() {
  const list = el("ul.conversations");
  const empty = el("p.quiet.inside", { hidden: true }, may("runs:write") ? "No conversation yet: send a message to begin one." : "No conversation yet.");
  const more = el("button.button", { type: "button", hidden: true, onclick: () => load(next) }, "Earlier ones");
  const node = el("div", {}, empty, list, more);
  let agent = "";
  let chosen = "";
  let next = null;
  let rows = [];
  let loaded = false;
  const lines = new Map();
  setInterval(draw, TICK_MS);

  async function load(cursor) {
    const asked = agent;
    let page;
    try {
      page = await api("/conversations", { query: { agent, cursor } });
    } catch (error) {
      note(error.message, "danger");
      return;
    }
    if (asked !== agent) return; // another agent was selected meanwhile
    loaded = true;
    const fresh = new Set(page.conversations.map((row) => row.id));
    const kept = rows.filter((row) => !fresh.has(row.id));
    const isFirst = !cursor && kept.length === 0;
    rows = cursor ? [...kept, ...page.conversations] : [...page.conversations, ...kept];
    if (cursor || isFirst || next === null) next = page.next_cursor;
    draw();
  }

  function draw() {
    const wanted = rows.map((row) => {
      if (!lines.has(row.id)) lines.set(row.id, line(chatAddress(agent, row.id)));
      const { node: one, update } = lines.get(row.id);
      update(row, row.id === chosen);
      return one;
    });
    // Moved only if the order has changed: a moved link loses the keyboard focus.
    if (wanted.length !== list.children.length || wanted.some((one, index) => list.children[index] !== one)) list.replaceChildren(...wanted);
    empty.hidden = rows.length > 0 || agent === "" || !loaded;
    more.hidden = next === null;
  }

  async function show(nextAgent, conversation) {
    chosen = conversation;
    if (nextAgent === agent) draw();
    else {
      agent = nextAgent;
      rows = [];
      next = null;
      loaded = false;
      lines.clear();
      list.replaceChildren();
      empty.hidden = more.hidden = true;
      if (agent) await load(null);
    }
  }

  function drop(conversation) {
    rows = rows.filter((row) => row.id !== conversation);
    draw();
  }
  return { node, show, drop, again: () => agent ? load(null) : Promise.resolve() };
}

function line(address) {
  const heading = el("span.clip", { dir: "auto" });
  const when = el("span.quiet.row");
  const link = el("a", { href: address, data: { go: "" } }, heading, when);
  function update({ heading: text, active_at: at, status, waits_for_person: waits, private: isPrivate }, isChosen) {
    fill(heading, text || "No messages yet");
    const small = (name, spins = "") => el(`span.icon.small${spins}`, { "aria-hidden": "true" }, name);
    fill(when, ...(waits ? [small("back_hand"), "waits for a person"] : LIVE.has(status) ? [small("progress_activity", ".spin"), "running"] : [isPrivate ? "private, " : "", since(at)]));
    link.ariaCurrent = isChosen ? "page" : null;
  }
  return { node: el("li", {}, link), update };
}

/** Return the link that begins a new conversation, for people who may. */
export function newLink(agent) {
  return may("runs:write") && el("a.button", { href: `${chatAddress(agent)}#new`, data: { go: "" }, "aria-label": "New conversation" }, icon("add"), "New");
}
