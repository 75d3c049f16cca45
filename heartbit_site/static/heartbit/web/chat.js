// The chat: agents and conversations on the left, the selected conversation next to them; on a
// phone, one at a time.

import { may } from "./api.js";
import { el, fill, icon } from "./dom.js";
import { onPulse } from "./pulse.js";
import { agentList, conversationList, loadAgents, newLink } from "./chat/conversations.js";
import { here, onGo } from "./chat/places.js";
import { thread } from "./chat/thread.js";

const LOOK_MS = 1500; // a busy workspace changes each second: refresh less often
const page = document.getElementById("chat");
const agentsBox = el("div.agents-box");
const conversations = conversationList();
const talk = thread({ moved: () => conversations.again(), deleted: conversations.drop });
const nobody = el("section.thread.nobody", { hidden: true });
const withHead = el("header", { hidden: true });
const side = el("div.choose", {}, el("h1", {}, "Chat"), agentsBox, withHead, conversations.node);
let agents = [];

fill(page, side, talk.node, nobody);
talk.node.hidden = true;

function show() {
  const { agent, conversation, fresh } = here();
  const found = agents.find(({ name }) => name === agent);
  page.dataset.screen = conversation || fresh ? "thread" : "list";
  document.title = document.title.replace(/^Chat( with [^·]+)?/, agent ? `Chat with ${agent} ` : "Chat ").replace(/ +·/, " ·");
  fill(agentsBox, agentList(agents, agent));
  agentsBox.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  fill(withHead, agent && found ? [el("h2", {}, "Conversations"), newLink(agent)] : null).hidden = !found;
  conversations.show(agent, conversation);
  const isOpen = Boolean(found) || conversation !== "";
  talk.node.hidden = !isOpen;
  nobody.hidden = isOpen;
  if (isOpen) talk.show(found ?? { name: agent, description: "", state: "idle", missing: true }, conversation);
  else fill(nobody, el("div.empty", {}, icon("forum"), agent
    ? [el("h2", {}, `There is no agent named ${agent}`), el("p", {}, "Choose one from the list.")]
    : [el("h2", {}, may("runs:write") ? "Who do you want to talk to?" : "Whose conversations do you want to read?"), el("p", {}, "Choose an agent. Everybody in the workspace sees its conversations.")]));
}

let last = "";
let coming = 0;

/** Refresh: other people and windows may have written meanwhile. */
function look() {
  coming = 0;
  talk.refresh();
  conversations.again();
}

begin().catch((error) => fill(page, el("p.problem", { role: "alert" }, error.message)));

async function begin() {
  agents = await loadAgents();
  onGo(show);
  show();
  onPulse(({ live, newest_run: newest, waiting, newest_waiting: asked }) => {
    const now = `${live} ${newest} ${waiting} ${asked}`;
    if (last && now !== last && !coming) coming = setTimeout(look, LOOK_MS);
    last = now;
  });
}
