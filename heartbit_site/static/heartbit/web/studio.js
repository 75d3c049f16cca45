// The studio: a test of the draft, panels of tools, and JSON as forms of their schemas.

import { el, note } from "./dom.js";
import { FormProblem, schemaForm } from "./forms/schema-form.js";
import { here, onGo } from "./chat/places.js";
import { thread } from "./chat/thread.js";

const form = document.getElementById("studio");
const panels = document.getElementById("panels");
const chat = document.getElementById("chat");
const drawn = new Map(); // textarea: its form
let isChanged = false;

/** Replace JSON texts by forms of their schemas. */
function draw(root) {
  for (const text of root.querySelectorAll("textarea[data-schema]")) {
    let value;
    try {
      value = text.value.trim() ? JSON.parse(text.value) : undefined;
    } catch {
      continue; // the person corrects the text itself
    }
    const label = text.labels[0]?.textContent ?? text.name;
    const made = schemaForm(JSON.parse(text.dataset.schema), value, label);
    for (const one of made.element.querySelectorAll("input, select, textarea")) one.disabled = text.matches(":disabled");
    text.before(made.element);
    text.hidden = true;
    for (const one of text.labels) one.hidden = true;
    drawn.set(text, made);
  }
}

/** Write the forms' values into their texts; throws a FormProblem at the first wrong one. */
function fillIn() {
  for (const [text, made] of drawn) {
    text.closest("details")?.setAttribute("open", "");
    const value = made.read();
    text.value = value === undefined ? "" : JSON.stringify(value);
  }
}

form.addEventListener("submit", (event) => {
  try {
    fillIn();
    isChanged = false;
  } catch (error) {
    if (!(error instanceof FormProblem)) throw error;
    event.preventDefault();
    note(error.message, "danger");
  }
});
for (const part of [form, panels]) part.addEventListener("input", ({ target }) => { isChanged ||= !target.matches("[type=search]"); });
addEventListener("beforeunload", (event) => { if (isChanged) event.preventDefault(); });
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panels.hidden) close();
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit(document.getElementById("save"));
});

// Rows of tools

const search = form.querySelector("[data-filter]");
search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const source of form.querySelectorAll("[data-source]")) {
    const rows = [...source.querySelectorAll(".pick")];
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    source.hidden = rows.every((row) => row.hidden);
    if (words.length) source.open = !source.hidden;
  }
});

/** Show the panel of a tool, or the test; panels that were opened stay in the form. */
function open(name) {
  for (const panel of panels.children) panel.hidden = panel.dataset.panel !== name;
  panels.hidden = !name;
  chat.hidden = Boolean(name);
  panels.querySelector(".panel:not([hidden]) h2")?.focus();
}

function close() {
  const { panel } = panels.querySelector(".panel:not([hidden])").dataset;
  open("");
  form.querySelector(`[data-tool="${CSS.escape(panel)}"]`)?.focus();
}

async function load(link) {
  const { tool } = link.dataset;
  if (![...panels.children].some(({ dataset }) => dataset.panel === tool)) {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const panel = [...page.querySelectorAll("[data-panel]")].find(({ dataset }) => dataset.panel === tool);
    if (!panel) throw new Error(`The settings of ${tool} were not loaded: try again.`);
    panels.append(document.adoptNode(panel));
    draw(panel);
  }
  open(tool);
}

document.querySelector(".studio").addEventListener("click", (event) => {
  const link = event.target.closest("[data-tool], [data-close]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (link.dataset.tool) load(link).catch((error) => note(error.message, "danger"));
  else close();
});

// The test

/** Keep the draft as it is now, and return the conversation whose next run is pinned to it. */
async function start(_agent, conversation) {
  fillIn();
  const body = new FormData(form);
  body.set("do", "test");
  body.set("conversation", conversation);
  const answer = await fetch(form.action, { method: "POST", body });
  const found = answer.headers.get("content-type")?.startsWith("application/json") ? await answer.json() : { problem: "The draft was not saved: reload the page." };
  if (found.problem) throw new Error(found.problem);
  form.elements.seen.value = found.seen;
  document.getElementById("draft").hidden = !found.has_draft;
  isChanged = false;
  return found.conversation;
}

draw(document);
if (form.method === "post") {
  const about = "What you see on the left is saved as the draft, and answers as a test.";
  const talk = thread({ moved() {}, deleted() {}, start, takesFocus: false });
  const show = () => talk.show({ name: chat.dataset.agent, description: about, state: "idle" }, here().conversation);
  chat.append(talk.node);
  onGo(show);
  show();
}
