// A run's page: the state from the lines of its socket, drawn once per frame.

import { WORKSPACE, Refusal, api } from "./api.js";
import { el, fill, pill, sentence } from "./dom.js";
import { onPulse } from "./pulse.js";
import { Actions } from "./run/actions.js";
import { Answer } from "./run/answer.js";
import { Artifacts } from "./run/artifacts.js";
import { Blackboard } from "./run/blackboard.js";
import { Commands } from "./run/commands.js";
import { Deliveries } from "./run/deliveries.js";
import { Facts } from "./run/facts.js";
import { Files } from "./run/files.js";
import { Graph } from "./run/graph.js";
import { Journal } from "./run/journal.js";
import { code } from "./run/json.js";
import { Store } from "./run/store.js";
import { Tree } from "./run/tree.js";
import { Turns } from "./run/turns.js";
import { Waiting } from "./run/waiting.js";
import { keep } from "./socket.js";

const TICK_MS = 1000;
const LOOK_MS = 5000; // interval for checking what blocks a queued run
const TABS = { turns: "Turns", journal: "Journal" };

const box = document.getElementById("run");
const { run: START, root: ROOT } = box.dataset;

const store = new Store();
const rows = new Map(); // rows of the API by run
const address = (id) => `#${id}${tab === "turns" ? "" : `/${tab}`}`;
let [chosen, tab, wanted] = chosenNow();
let frame = 0;
let isOver = false;
let asked = "";
let hangUp = () => {};

const state = el("span.live", { role: "status" });
const name = el("h1");
const status = el("span");
const task = el("p.text.task");
const payload = el("details.payload", { hidden: true });
const parent = el("p.quiet", { hidden: true });
const hint = el("p.hint", { hidden: true });
const actions = new Actions({ again: follow });
const answer = new Answer();
const artifacts = new Artifacts(address);
const files = new Files(ROOT);
const deliveries = new Deliveries();
const blackboard = new Blackboard(ROOT);
const graph = new Graph((id) => ({ address: address(id), agent: store.runs.get(id)?.agent ?? "" }));
const tree = new Tree({ address, turn: showTurn });
const turns = new Turns((id) => ({ address: address(id), agent: store.runs.get(id)?.agent ?? "" }));
const journal = new Journal();
const facts = new Facts();
const commands = new Commands();
const waiting = new Waiting(address);
const tabs = Object.fromEntries(Object.entries(TABS).map(([key, title]) => [key, el("button", {
  type: "button", role: "tab", id: `tab-${key}`, "aria-controls": "tab-panel", onClick: () => go(key), onKeydown: besides,
}, title)]));
const panel = el("div", { role: "tabpanel", id: "tab-panel", "aria-labelledby": "tab-turns" });

fill(box,
  el("header.head", {}, el("div.row", {}, name, status, state), actions.element),
  el("div.columns", {},
    el("div.stack", {},
      el("section.card", { "aria-label": "Task" }, el("div.inside.stack.tight", {}, parent, task, el("button.plain.more", { type: "button", hidden: true, onClick: unfold }, "Show all"), payload)),
      hint, graph.element, waiting.element, answer.element, artifacts.element, files.element, deliveries.element, tree.element, blackboard.element,
      el("section.card", { "aria-label": "Steps" }, el("div.tabs", { role: "tablist", "aria-label": "Steps" }, Object.values(tabs)), panel)),
    el("div.stack", {}, facts.element, commands.element)));

addEventListener("hashchange", () => {
  [chosen, tab, wanted] = chosenNow();
  soon();
});
setInterval(() => isOver || soon(), TICK_MS);
onPulse(() => isOver && store.run(START).status === "quarantined" && again());
follow();

/** Read the socket from the page's last event on, and reopen it after each interruption. */
function follow() {
  hangUp();
  isOver = false;
  hangUp = keep(`/ws/${WORKSPACE}/runs/${START}/`, {
    opened: (send) => send({ type: "resume", after: store.after() }),
    told(data) {
      if (data.type === "end") over();
      else if (data.type === "lines") store.take(data.lines);
      soon();
    },
    state: (what, code) => isOver || tell(code === 4403 || code === 4404 ? "gone" : what),
    done: () => isOver,
  });
}

function over() {
  isOver = true;
  tell("over");
}

function tell(what) {
  if (state.dataset.state === what) return;
  state.dataset.state = what;
  state.textContent = { live: "Live", reconnecting: "Reconnecting …", offline: "Offline", gone: "You may no longer see this run", over: "" }[what];
}

/** Check whether a quarantined run was resumed, and follow it again if so. */
async function again() {
  const row = await api(`/runs/${START}`);
  if (row.last_seq > store.run(START).seq) follow();
}

function soon() {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    draw();
  });
}

function draw() {
  const run = store.runs.get(chosen) ?? store.runs.get(START);
  if (!run) return;
  const now = Math.max(Date.now(), run.last ?? 0);
  learn(run);
  if (name.textContent !== run.agent) {
    name.textContent = run.agent;
    document.title = `${run.agent} · ${document.title.split(" · ").slice(1).join(" · ")}`;
  }
  if (status.dataset.of !== run.status) {
    status.dataset.of = run.status;
    fill(status, pill(run.status));
  }
  describe(run);
  actions.draw(run);
  waiting.draw(store, ROOT);
  answer.draw(run);
  artifacts.draw(store, run);
  files.draw(store, ROOT);
  deliveries.draw(run);
  graph.draw(run);
  tree.draw(store, ROOT, run.id, now);
  blackboard.draw(store, ROOT);
  facts.draw(run, rows.get(run.id) ?? null, store.total(run.id), now);
  commands.draw(run);
  drawTab(run);
}

function describe(run) {
  if (task.textContent !== run.task) {
    task.textContent = run.task;
    task.nextSibling.hidden = task.scrollHeight <= task.clientHeight + 2 && !task.classList.contains("whole");
  }
  const isBelow = run.parent !== null;
  parent.hidden = !isBelow;
  if (isBelow && parent.dataset.of !== run.parent) {
    parent.dataset.of = run.parent;
    const above = store.run(run.parent);
    fill(parent, "A sub-agent of ", el("a", { href: address(above.id) }, above.agent || above.id));
  }
  showPayload(run.id, rows.get(run.id)?.payload ?? null);
  const why = run.status === "queued" ? (rows.get(run.id)?.blocked_reason ?? "") : "";
  hint.hidden = !why;
  if (hint.dataset.of !== why) fill(hint, sentence(why)).dataset.of = why;
}

/** Show the structured form of the task, if there is one. */
function showPayload(id, sent) {
  payload.hidden = sent === null;
  if (sent === null || payload.dataset.of === id) return;
  payload.dataset.of = id;
  fill(payload, el("summary", {}, "As it was sent"), code(JSON.stringify(sent, null, 2), "The task as it was sent"));
}

function drawTab(run) {
  for (const [key, button] of Object.entries(tabs)) {
    button.setAttribute("aria-selected", String(key === tab));
    button.tabIndex = key === tab ? 0 : -1;
  }
  tabs.turns.textContent = run.kind === "workflow" ? "Supersteps" : "Turns";
  panel.setAttribute("aria-labelledby", `tab-${tab}`);
  const part = tab === "journal" ? journal : turns;
  if (panel.firstChild !== part.element) fill(panel, part.element);
  part.draw(run);
  if (part === turns && run.turns.has(wanted)) {
    turns.reveal(wanted);
    wanted = null;
  }
}

/** Request data that the journal lacks: after a change of status, and regularly while the run is queued. */
async function learn(run) {
  const look = run.status === "queued" ? Math.floor(Date.now() / LOOK_MS) : "";
  const now = `${run.id} ${run.status} ${look}`;
  if (asked === now) return;
  asked = now;
  try {
    rows.set(run.id, await api(`/runs/${run.id}`));
    soon();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    asked = "";
  }
}

function chosenNow() {
  const [id, part, turn] = location.hash.slice(1).split("/");
  return [id || START, part in TABS ? part : "turns", turn ? Number(turn) : null]; // a workflow has a superstep 0
}

function go(key) {
  tab = key;
  history.replaceState(null, "", address(chosen));
  tabs[key].focus();
  soon();
}

function besides(event) {
  const keys = Object.keys(TABS);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) go(keys[(keys.indexOf(tab) + step + keys.length) % keys.length]);
}

function showTurn(number) {
  if (!number) return;
  go("turns");
  draw();
  turns.reveal(number);
}

function unfold({ target }) {
  target.textContent = task.classList.toggle("whole") ? "Show less" : "Show all";
}
