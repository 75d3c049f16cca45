// One conversation: its messages and answers, and the input for the next message.

import { api, may, whoCan } from "../api.js";
import { el, fill, icon, sentence } from "../dom.js";
import { composer } from "./composer.js";
import { messageView } from "./message.js";
import { chatAddress, go } from "./places.js";
import { stick } from "./scroll.js";
import { threadHead } from "./thread-head.js";

const LIVE = new Set(["queued", "running", "waiting"]);
const PAGE = 30;
const MOST = 100; // messages per page of the API

/**
 * Return the thread.
 * @param {{moved: () => void, deleted: (conversation: string) => void, start?: Function, takesFocus?: boolean}} how
 *   `moved`: a message, a title or an answer has changed, so lists may refresh; `start`: returns the
 *   id of the conversation that a message goes to.
 * @returns {{node: HTMLElement, show: (agent: object, conversation: string) => void, refresh: () => Promise<void>}}
 */
export function thread({ moved, deleted, start = begun, takesFocus = true }) {
  const head = threadHead({ changed: () => { refresh(); moved(); }, deleted });
  const earlier = el("button.button", { type: "button", hidden: true, onclick: loadEarlier }, "Earlier messages");
  const list = el("div.messages");
  const empty = el("div.empty", { hidden: true });
  const content = el("div.content", {}, earlier, empty, list);
  const scroller = el("div.scroller", { role: "log", "aria-label": "Messages", tabindex: "0" }, content);
  const place = stick(scroller, content);
  const write = composer({ send, stop });
  const talks = may("runs:write");
  const reads = el("p.composer.quiet.only-look", {}, icon("visibility"), `You can read this but not write. Who can: ${whoCan("runs:write")}.`);
  const node = el("section.thread", { "aria-label": "Conversation" }, head.node, el("div.middle", {}, scroller, place.button), talks ? write.node : reads);
  let agent = null;
  let conversation = "";
  let before = null;
  let views = [];
  let asking = null;

  function show(nextAgent, nextConversation) {
    const same = nextAgent.name === agent?.name && nextConversation === conversation;
    agent = nextAgent;
    if (same) {
      state();
      return;
    }
    const isMine = conversation === "" && views.length === 0 && sentTo === nextConversation;
    conversation = nextConversation;
    if (!isMine) write.clear();
    for (const view of views) view.end();
    views = [];
    before = null;
    earlier.hidden = true;
    fill(list);
    head.show(agent, null);
    if (conversation) refresh().then(place.toEnd);
    else begin();
    state();
    if (takesFocus && matchMedia("(min-width: 761px)").matches) write.focus();
  }

  let sentTo = "";

  function begin() {
    fill(empty, icon("forum"), el("h2", {}, `Talk to ${agent.name}`), agent.description && el("p", {}, agent.description), talks ? el("p", {}, "Say what you want below. It keeps working when you leave the page.") : el("p", {}, "Choose a conversation to read it."), talks && start === begun && el("label.check.quiet", {}, el("input.private", { type: "checkbox" }), "Private: only you read it and its runs. Members who may decide a call see that call.")).hidden = false;
  }

  async function refresh() {
    if (!conversation) return;
    if (asking) {
      await asking.catch(() => null);
      if (asking) return;
    }
    const wanted = conversation;
    asking = api(`/conversations/${wanted}`, { query: { limit: reach() } });
    try {
      const found = await asking;
      if (wanted === conversation) take(found);
    } catch (error) {
      if (wanted === conversation && views.length === 0) fill(empty, el("p.problem", { role: "alert" }, sentence(error.message))).hidden = false;
    } finally {
      asking = null;
    }
  }

  /** Return the number of latest messages that includes all unfinished ones. */
  function reach() {
    const oldest = views.findIndex(({ message }) => LIVE.has(message.status));
    return oldest < 0 ? PAGE : Math.min(MOST, Math.max(PAGE, views.length - oldest));
  }

  function take(found) {
    head.show(agent, found);
    const known = new Map(views.map((view) => [view.message.run_id, view]));
    if (views.length === 0) before = found.before;
    for (const message of found.messages) {
      const view = known.get(message.run_id);
      if (!view) add(message);
      else if (LIVE.has(view.message.status)) view.update(message);
    }
    earlier.hidden = before === null;
    empty.hidden = views.length > 0;
    if (views.length === 0) fill(empty, icon("chat"), el("p", {}, "There are no messages yet.")).hidden = false;
    state();
  }

  function add(message) {
    const view = viewOf(message);
    views.push(view);
    list.append(view.node);
  }

  function viewOf(message) {
    return messageView(message, { ended: () => { refresh(); moved(); } });
  }

  async function loadEarlier() {
    earlier.disabled = true;
    try {
      const found = await api(`/conversations/${conversation}`, { query: { before } });
      before = found.before;
      const made = found.messages.map(viewOf);
      views = [...made, ...views];
      place.keepPlace(() => list.prepend(...made.map((view) => view.node)));
    } catch (error) {
      fill(empty, el("p.problem", {}, sentence(error.message))).hidden = false;
    }
    earlier.disabled = false;
    earlier.hidden = before === null;
  }

  function working() {
    return views.find(({ message }) => LIVE.has(message.status) && !message.waits_for_previous)?.message;
  }

  function state() {
    scroller.setAttribute("aria-busy", working() ? "true" : "false");
    write.state({ agent: agent.name, works: Boolean(working()), refused: refusal() });
  }

  function refusal() {
    if (agent.missing) return `${agent.name} was deleted: its messages stay readable here.`;
    if (agent.state === "stopped") return `${agent.name} is stopped. ${may("agents:write") ? "Start it in the admin." : `Who can start it: ${whoCan("agents:write")}.`}`;
    return "";
  }

  async function send(message, way) {
    const target = await start(agent, conversation);
    if (!conversation) sentTo = target;
    const body = { ...message, ...(way ? { busy_policy: way } : {}) };
    let posted;
    try {
      posted = await api(`/conversations/${target}/messages`, { method: "POST", body });
    } finally {
      if (target !== conversation) go(chatAddress(agent.name, target), { replace: true });
    }
    const isText = Object.keys(message.documents).length === 0; // else the server has made it longer
    if (posted.outcome === "steered" && isText) views.find(({ message }) => message.run_id === posted.run_id)?.tell(message.text);
    await refresh();
    place.toEnd();
    moved();
  }

  async function stop() {
    const run = working()?.run_id;
    if (run) await api(`/runs/${run}/cancel`, { method: "POST" });
  }

  return { node, show, refresh };
}

async function begun(agent, conversation) {
  return conversation || (await api("/conversations", { method: "POST", body: { agent: agent.name, private: Boolean(document.querySelector("input.private")?.checked) } })).id;
}
