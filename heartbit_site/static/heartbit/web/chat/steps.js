// The parts of a message: texts, files, tool calls, sub-agents.

import { el, fill, icon, pill } from "../dom.js";
import { pretty } from "../run/json.js";
import { sources } from "../run/sources.js";
import { moment } from "../moment.js";
import { duration, person } from "../words.js";
import { pictures, size, split } from "./attachments.js";
import { runAddress } from "./places.js";

const CALL_ICONS = { delegate_task: "group", ok: "build", pending: "build" };
const AT_WORK = new Set(["pending", "started", "running"]);

/** Return a person's message, with its files folded. */
export function bubble(message, { by = "", at = "", note = "", images = [] } = {}) {
  const { said, files } = split(message);
  return el("div.said", { title: at ? moment(at).title : null },
    by && el("p.quiet.who", {}, person(by)),
    said && el("p.text", { dir: "auto" }, said),
    pictures(images), files.map(attachment),
    note && el("p.quiet.who", {}, note));
}

function attachment({ name, text, bytes }) {
  const content = el("pre.code", { dir: "auto", tabindex: "0", "aria-label": name });
  return el("details.fold.attached", { ontoggle: () => { content.textContent ||= text; } },
    el("summary", {}, icon("attach_file"), el("span.clip", {}, name), el("span.quiet.number", {}, size(bytes))),
    content);
}

/** Return Markdown that the server rendered and sanitised, or plain text until it has. */
export function prose(text, html) {
  if (!html) return el("div.text", { dir: "auto" }, text);
  const box = el("div.markdown", { dir: "auto" });
  box.innerHTML = html; // from heartbit_site/base/markdown.py
  for (const wide of box.querySelectorAll("pre, table")) wide.tabIndex = 0;
  return box;
}

/** Return a step's node and its update function. */
export function stepView(step) {
  if (step.kind === "call") return callView();
  if (step.kind === "steer") return still((one) => bubble(one.text, { by: one.by, at: one.at, note: "sent while it worked" }));
  return still((one) => prose(one.text, one.html));
}

function still(make) {
  const node = el("li");
  let last = null;
  return {
    node,
    update(step) {
      const now = JSON.stringify([step.text, step.html]);
      if (now !== last) fill(node, make(step));
      last = now;
    },
  };
}

function callView() {
  const mark = el("span.mark");
  const name = el("span.strong.clip");
  const state = el("span");
  const took = el("span.quiet.number");
  const body = el("div.body");
  const helpers = el("ul.helpers");
  const cited = el("div.cited");
  const box = el("details.fold.call", { ontoggle: show }, el("summary", {}, mark, name, state, took), body);
  const node = el("li", {}, box, cited, helpers);
  let now;
  function show() {
    if (box.open && now) fill(body, part("Arguments", pretty(now.arguments)), now.result !== null && part("Result", pretty(now.result)));
  }
  function update(step) {
    const same = now && now.result === step.result && now.arguments === step.arguments;
    now = step;
    fill(mark, AT_WORK.has(step.status) ? el("span.icon.spin", { "aria-hidden": "true" }, "progress_activity") : icon(CALL_ICONS[step.tool] ?? "build"));
    fill(name, step.tool);
    fill(state, pill(step.status === "started" ? "running" : step.status));
    fill(took, step.duration_ms ? duration(step.duration_ms) : "");
    if (!same) fill(cited, sources(step), pictures(step.images ?? []));
    fill(helpers, step.children.map(helperLine));
    helpers.hidden = step.children.length === 0;
    if (!same) show();
  }
  return { node, update };
}

function part(title, text) {
  return [el("p.quiet", {}, title), el("pre.code", { dir: "auto", tabindex: "0", "aria-label": title }, text)];
}

function helperLine({ id: run, agent, task, status }) {
  return el("li", {},
    el("a.helper", { href: runAddress(run) },
      icon("subdirectory_arrow_right"), el("span.strong", {}, agent), el("span.quiet.clip", {}, task.replace(/\s+/g, " ")), pill(status)));
}
