// A message and its run: the steps as they arrive, the answer, and its cost.

import { USER, api, may } from "../api.js";
import { el, fill, icon, note, sentence } from "../dom.js";
import { short } from "../moment.js";
import { cost, duration, tokens } from "../words.js";
import { follow } from "./live.js";
import { runAddress } from "./places.js";
import { questions } from "./questions.js";
import { bubble, prose, stepView } from "./steps.js";

const LIVE = new Set(["queued", "running", "waiting"]);
const NO_WORKER_MS = 4000; // time in the queue after which the page looks for the reason

/**
 * Show a message.
 * @param {object} first Message from GET /conversations/{id}.
 * @param {{ended: () => void}} how `ended` is called when the run has ended and the answer is available.
 * @returns {{node: HTMLElement, update: (message: object) => void, tell: (text: string) => void,
 *            end: () => void, message: object}} `tell` shows a steering message until the
 *   journal has it.
 */
export function messageView(first, { ended }) {
  const said = el("div", {}, bubble(first.text, { by: first.started_by, at: first.created_at, images: first.images }));
  const steps = el("ul.steps");
  const words = document.createTextNode("");
  const writing = el("div.text.writing", { dir: "auto", hidden: true }, words);
  const sent = el("div.stack", { hidden: true });
  const asked = questions(first.run_id);
  const doing = el("p.doing.quiet", { hidden: true });
  const answer = el("div.answer");
  const foot = el("div");
  const node = el("article.message", { "aria-label": `Message of ${short(first.created_at)}`, data: { run: first.run_id } },
    said, el("div.reply", {}, steps, writing, sent, answer, asked.node, doing, foot));
  const views = [];
  const view = { node, update, tell, end, message: first };
  let pending = [];
  let leave = null;
  let frame = 0;
  let patience = 0;

  function update(message) {
    view.message = message;
    node.dataset.status = message.status;
    if (LIVE.has(message.status)) live(message);
    else over(message);
  }

  function live(message) {
    if (!leave) showSteps(message.steps);
    if (message.waits_for_previous) {
      fill(doing, icon("schedule"), "Waits for the previous answer.", may("runs:write") ? takeBack(message.run_id) : null).hidden = false;
    } else if (!leave) {
      say("Queued");
      leave = follow(message.run_id, { changed, ended, open: (open) => { doing.classList.toggle("away", !open); } });
      patience = setTimeout(() => whyNot(message.run_id), NO_WORKER_MS);
    }
  }

  function changed(told) {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (told.status !== "queued") clearTimeout(patience);
      showSteps(told.steps);
      write(told.writing);
      unsent(told.steps);
      asked.update(told.asked);
      say(told.doing);
    });
  }

  function tell(text) {
    pending.push(text);
    unsent([]);
  }

  function unsent(known) {
    const steers = known.filter(({ kind }) => kind === "steer").map(({ text }) => text);
    pending = pending.filter((text) => !steers.includes(text));
    fill(sent, pending.map((text) => bubble(text, { by: USER, note: "read at its next step" }))).hidden = pending.length === 0;
  }

  function write(text) {
    if (text.startsWith(words.data)) words.appendData(text.slice(words.data.length));
    else words.data = text;
    writing.hidden = text === "";
  }

  function say(what) {
    fill(doing, el("span.icon.spin", { "aria-hidden": "true" }, "progress_activity"), el("span", {}, `${what}…`)).hidden = false;
  }

  async function whyNot(run) {
    const found = await api(`/runs/${run}`).catch(() => null);
    if (found?.blocked_reason) fill(doing, icon("hourglass_empty"), el("span", {}, sentence(found.blocked_reason)));
  }

  function over(message) {
    end();
    showSteps(message.steps);
    write("");
    pending = [];
    unsent([]);
    doing.hidden = true;
    asked.update(new Set());
    fill(answer, outcome(message));
    fill(foot, took(message));
  }

  function showSteps(list) {
    const seen = { text: 0, steer: 0 };
    const keys = list.map((step) => step.kind === "call" ? `call ${step.call_id}` : `${step.kind} ${seen[step.kind]++}`);
    keys.forEach((key, index) => {
      if (views[index]?.key !== key) {
        for (const one of views.splice(index)) one.view.node.remove();
        views.push({ key, view: stepView(list[index]) });
        steps.append(views[index].view.node);
      }
      views[index].view.update(list[index]);
    });
    for (const one of views.splice(keys.length)) one.view.node.remove();
    steps.hidden = keys.length === 0;
  }

  function end() {
    leave?.();
    leave = null;
    cancelAnimationFrame(frame);
    clearTimeout(patience);
  }

  update(first);
  return view;
}

function takeBack(run) {
  const button = el("button.button", { type: "button" }, "Take it back");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await api(`/runs/${run}/cancel`, { method: "POST" });
    } catch (error) {
      note(error.message, "danger");
      button.disabled = false;
    }
  });
  return button;
}

function outcome({ status, answer, html, structured, error }) {
  const said = structured !== null
    ? el("pre.code", { tabindex: "0", "aria-label": "Answer" }, JSON.stringify(structured, null, 2))
    : answer && prose(answer, html);
  switch (status) {
    case "succeeded":
      return said || el("p.quiet", {}, "It ended without an answer.");
    case "cancelled":
      return [said, el("p.quiet.row", {}, icon("block"), "Stopped.")];
    case "quarantined":
      return [said, el("p.problem", { role: "alert" }, "Its workers crashed repeatedly, so it was quarantined. Resume it on the run's page.")];
    default:
      return [said, el("p.problem", { role: "alert" }, sentence(error?.message ?? "It failed."))];
  }
}

function took({ run_id: run, usage, cost_usd, created_at, finished_at }) {
  const parts = [
    `Tokens: ${tokens(usage.input_tokens, usage.output_tokens)}`,
    cost_usd === null ? "cost unknown" : cost(cost_usd),
    duration(new Date(finished_at) - new Date(created_at)),
  ];
  return el("p.took.quiet", {},
    el("span.number", { title: "With its sub-agents" }, parts.join(" · ")),
    el("a", { href: runAddress(run) }, "Open the run"));
}
