// A run's page: the server draws it first, then it follows the state from the lines of its socket, once per frame.

import { WORKSPACE, api } from "./api.js";
import "./copy.js";
import { el, fill, sentence } from "./dom.js";
import { onPulse } from "./pulse.js";
import { Actions } from "./run/actions.js";
import { Answer } from "./run/answer.js";
import { Graph } from "./run/graph.js";
import { Inspector } from "./run/inspector.js";
import { Journal } from "./run/journal.js";
import { Store } from "./run/store.js";
import { Tree } from "./run/tree.js";
import { Turns } from "./run/turns.js";
import { Waiting } from "./run/waiting.js";
import { label } from "./run/waits.js";
import { keep } from "./socket.js";

const TICK_MS = 1000;
const TABS = { turns: "Turns", journal: "Journal" };

const box = document.getElementById("run");
const { run: START, root: ROOT } = box.dataset;
const [name, status, state, task, more, payload, parent, hint, panel] = ["h1", ".status", ".live", ".task", ".more", ".payload", ".parent", ".why", "#tab-panel"]
  .map((one) => box.querySelector(one));

const store = new Store();
const address = (id) => `#${id}${tab === "turns" ? "" : `/${tab}`}`;
const place = (id) => ({ address: address(id), agent: store.runs.get(id)?.agent ?? "" });
let [chosen, tab, wanted] = chosenNow();
let frame = 0;
let isOver = false;
let hangUp = () => {};

const actions = new Actions({ again: follow, element: box.querySelector(".head .actions") });
const answer = new Answer();
const graph = new Graph(box.querySelector("#node"));
const tree = new Tree({ address, turn: showTurn });
const turns = new Turns(place);
const journal = new Journal();
const inspector = new Inspector(box.querySelector("#inspector"), { drawn: box.dataset.drawn, show: soon });
const waiting = new Waiting(address);
const tabs = Object.fromEntries(Object.entries(TABS).map(([key, title]) => [key, el("button", {
  type: "button", role: "tab", id: `tab-${key}`, "aria-controls": "tab-panel", onClick: () => go(key), onKeydown: besides,
}, title)]));

fill(box.querySelector("[role=tablist]"), Object.values(tabs));
put("timeline", tree);
put("graph", graph);
more.addEventListener("click", unfold);
hideMore();
addEventListener("hashchange", () => {
  [chosen, tab, wanted] = chosenNow();
  soon();
});
setInterval(() => isOver || soon(), TICK_MS);
onPulse(() => isOver && store.run(START).status === "quarantined" && again());
follow();

/** Replace what the server drew in a part's place. */
function put(part, { element }) {
  const drawn = box.querySelector(`[data-part=${part}]`);
  if (drawn === element) return;
  if (drawn?.dataset.rows) element.dataset.rows = drawn.dataset.rows;
  if (drawn) drawn.replaceWith(element);
  else box.querySelector("[data-part=answer]").before(element);
  element.dataset.part = part;
}

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
  if (!run?.seq) return;
  const now = Math.max(Date.now(), run.last ?? 0);
  if (name.textContent !== run.agent) {
    name.textContent = run.agent;
    document.title = `${run.agent} · ${document.title.split(" · ").slice(1).join(" · ")}`;
  }
  const word = `${run.status} ${run.waiting}`;
  if (status.dataset.of !== word) fill(status, label(run.status, run.waiting)).dataset.of = word;
  describe(run);
  put("answer", answer);
  put("waiting", waiting);
  actions.draw(run);
  waiting.draw(store, ROOT);
  answer.draw(run);
  graph.draw(run);
  tree.draw(store, ROOT, run.id, now);
  inspector.draw(store, run, ROOT);
  drawTab(run);
}

function describe(run) {
  if (task.textContent !== run.task) {
    task.textContent = run.task;
    hideMore();
  }
  const isBelow = run.parent !== null;
  parent.hidden = !isBelow;
  if (isBelow && parent.dataset.of !== run.parent) {
    parent.dataset.of = run.parent;
    const above = store.run(run.parent);
    fill(parent, "A sub-agent of ", el("a", { href: address(above.id) }, above.agent || above.id));
  }
  const { blocked = "", payload: sent = "" } = inspector.of(run.id);
  payload.hidden = !sent;
  if (payload.lastChild.textContent !== sent) payload.lastChild.textContent = sent;
  const why = run.status === "queued" ? blocked : "";
  hint.hidden = !why;
  if (hint.dataset.of !== why) fill(hint, sentence(why)).dataset.of = why;
}

function hideMore() {
  more.hidden = task.scrollHeight <= task.clientHeight + 2 && !task.classList.contains("whole");
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

function unfold() {
  more.textContent = task.classList.toggle("whole") ? "Show less" : "Show all";
}
