// One tool call that a person is asked about: all of it, and what can be decided.

import { may, Refusal, whoCan, WORKSPACE } from "../api.js";
import { el, fill, icon, note } from "../dom.js";
import { ago, duration, moment } from "../words.js";
import { answer, approve, deny, edit, isInDoubt, settle } from "./decide.js";
import { canTry, dryRun, outcome } from "./dry-run.js";
import { editPanel } from "./edit.js";
import { alwaysPanel, denyPanel, donePanel } from "./panels.js";
import { nodes } from "./pieces.js";
import { answerPanel, isQuestion, questionText } from "./question.js";

document.head.append(el("link", { rel: "stylesheet", href: new URL("card.css", import.meta.url) }));

const SAID = { approved: "Approved", edited: "Approved with changes", answered: "Answered", denied: "Denied", retried: "It is made again", done: "Confirmed", skipped: "Left as it is" };

/**
 * A waiting call as an element; its buttons carry `data-act` (approve, edit, deny, always, try;
 * answer, deny; retried, done, skipped).
 * @param {object} asked One of `calls` of GET /approvals, or of GET /doubts.
 * @param {{onDecided?: (answer: object|null, problem?: Refusal) => void}} [how] `onDecided` is told
 *   what was decided; null and the refusal when somebody else was quicker or the run has ended.
 */
export function card(asked, { onDecided = () => {} } = {}) {
  const panel = el("div");
  const problem = el("p.problem", { role: "alert", hidden: true });
  const trial = el("div.trial");
  const foot = el("footer.inside", {}, may("approvals:decide") ? el("div.actions", {}, buttons())
    : el("p.quiet.only-look", {}, icon("visibility"), `You can read this, not decide it. Who can: ${asked.group ? whoMay(asked) : whoCan("approvals:decide")}.`));
  const element = el("article.card.asked", { "aria-label": `${asked.tool} of ${asked.agent}`, data: { run: asked.run, call: asked.call } },
    head(asked), body(asked), foot, panel, el("div", { class: "problems" }, problem), trial);
  const end = isInDoubt(asked) ? null : element.querySelector("[data-until]");
  if (end) count(end);
  return element;

  function buttons() {
    if (isQuestion(asked)) {
      return [opens("answer", "Answer", "reply", (how) => answerPanel(asked, how), (value) => answer(asked, value), ".primary"),
        opens("deny", "Decline", "block", (how) => denyPanel(how), (reason) => deny(asked, reason), ".danger")];
    }
    return isInDoubt(asked)
      ? [act("retried", "Make it again", "replay", "", () => settle(asked, "retried")),
        opens("done", "It took effect", "check", (how) => donePanel(how), (result) => settle(asked, "done", result)),
        act("skipped", "Leave it", "skip_next", "", () => settle(asked, "skipped"))]
      : [act("approve", "Approve", "check", ".primary", () => approve(asked)),
        editing(),
        opens("deny", "Deny", "block", (how) => denyPanel(how), (reason) => deny(asked, reason), ".danger"),
        asked.needed > 1 || asked.group ? null : opens("always", "Always allow", "all_inclusive", (how) => alwaysPanel(asked, how), (always) => approve(asked, always)),
        canTry(asked) ? el("button.button", { type: "button", data: { act: "try" }, onclick: () => attempt() }, icon("science"), "Try it without keeping it") : null];
  }

  function editing() {
    if (asked.parameters !== null && asked.view.exact && asked.needed === 1) {
      return opens("edit", "Edit", "edit", (how) => editPanel(asked, { ...how, attempt: canTry(asked) ? attempt : null }), (args) => edit(asked, args));
    }
    return el("button.button", { type: "button", disabled: true, "data-never": true, title: whyNoEdit(asked) }, icon("edit"), "Edit");
  }

  function act(name, label, symbol, tone, send) {
    return el(`button.button${tone}`, { type: "button", data: { act: name }, onclick: () => decide(send) }, icon(symbol), label);
  }

  function opens(name, label, symbol, make, send, tone = "") {
    const button = el(`button.button${tone}`, { type: "button", data: { act: name }, "aria-expanded": "false", onclick: open }, icon(symbol), label);
    return button;

    function open() {
      const was = button.getAttribute("aria-expanded") === "true";
      close();
      if (was) return;
      button.setAttribute("aria-expanded", "true");
      shut(true); // who edits or denies must not approve by a slip
      fill(panel, make({ send: (value) => decide(() => send(value)), leave: () => { close(); button.focus(); } }));
      panel.querySelector("input, select, textarea")?.focus();
    }
  }

  function close() {
    fill(panel);
    problem.hidden = true;
    shut(false);
    for (const one of foot.querySelectorAll("[aria-expanded]")) one.setAttribute("aria-expanded", "false");
  }

  function shut(is) {
    const plain = foot.querySelector('[data-act="approve"]');
    if (plain) plain.disabled = is;
  }

  async function decide(send) {
    problem.hidden = true;
    able(false);
    try {
      const decided = await send();
      const said = saidOf(decided, asked);
      fill(foot, el("p.row", {}, icon("check_circle"), said));
      fill(panel);
      fill(trial);
      note(`${said}: ${asked.tool}`, "success");
      onDecided(decided);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      fill(problem, error.message).hidden = false;
      if (error.status === 409 || error.status === 404) {
        fill(foot);
        fill(panel);
        onDecided(null, error);
      } else {
        able(true);
        shut(panel.firstChild !== null);
      }
    }
  }

  async function attempt(args) {
    const buttons = element.querySelectorAll('[data-act^="try"]');
    for (const one of buttons) one.disabled = true;
    fill(trial, el("p.inside.quiet", { role: "status" }, "Trying …"));
    try {
      fill(trial, outcome(await dryRun(asked, args)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      fill(trial, el("div.inside", {}, el("p.problem", { role: "alert" }, error.message)));
    }
    for (const one of buttons) one.disabled = false;
  }

  function able(is) {
    for (const one of element.querySelectorAll("button:not([data-never])")) one.disabled = !is;
  }
}

function whyNoEdit({ needed, view }) {
  if (needed > 1) return "It needs several people, who approve it as it is.";
  return view.exact ? "The tool has changed since the agent was published." : "Its numbers are larger than a browser can hold: edit it with heartbit approve.";
}

function saidOf({ verdict, outcome, missing }, asked) {
  if (isQuestion(asked) && verdict === "denied") return "Declined";
  if (missing) return `Your approval counts; ${missing} more ${missing === 1 ? "is" : "are"} needed`;
  return SAID[verdict ?? outcome] ?? "Noted";
}

function head(asked) {
  const doubt = isInDoubt(asked);
  const question = isQuestion(asked);
  return el("header", {}, icon(doubt ? "help" : question ? "contact_support" : "back_hand"),
    el("h2.text", {}, question ? `${asked.agent} asks` : nodes(asked.view.tool)),
    el(`span.pill.${doubt ? "warning" : "primary"}`, {}, doubt ? "outcome unknown" : question ? "a question" : may("approvals:decide") ? "waits for you" : "waits for a person"),
    asked.needed > 1 ? el("span.pill.info", {}, `${asked.approved_by.length} of ${asked.needed} approvals`) : null,
    asked.escalated ? el("span.pill.warning", { title: moment(asked.escalated.since) }, `escalated to ${asked.escalated.group || "everybody"} ${ago(asked.escalated.since)}`) : null,
    asked.expires_at ? el("span.pill.warning", { data: { until: asked.expires_at }, title: moment(asked.expires_at) }) : null,
    el("span.actions.quiet", {}, el("a", { href: `/w/${WORKSPACE}/runs/${asked.root}/` }, "Open the run")));
}

function body(asked) {
  const { view } = asked;
  return el("div.inside.stack", {},
    isQuestion(asked) ? questionText(asked) : el("p.text", {}, nodes(view.reason)),
    view.hidden ? el("p.problem", {}, `${view.hidden === 1 ? "One character" : `${view.hidden} characters`} of the arguments cannot be seen or reorder${view.hidden === 1 ? "s" : ""} others: shown as an escape, marked so.`) : null,
    isQuestion(asked) ? null : view.arguments.length ? el("dl.arguments", {}, view.arguments.map((one) => [
      el("dt", {}, el("span.strong.text", {}, nodes(one.name)), el("span.quiet", {}, ` ${one.kind}`)),
      el("dd.code", { tabindex: "0" }, nodes(one.value))])) : el("p.quiet", {}, "It has no arguments."),
    facts(asked));
}

function facts(asked) {
  const { view } = asked;
  const rows = [
    ["Agent", asked.agent],
    ["Effect", view.effect || "unknown"],
    ...view.hosts.map(({ argument, host }) => [`${argument} leads to`, el("code", { class: host.includes("xn--") ? "escape" : null }, host)]),
    asked.group ? ["Who may decide", whoMay(asked)] : null,
    asked.approved_by?.length ? ["Approved by", asked.approved_by.join(", ")] : null,
    view.asked_as.length ? ["The model called it", nodes(view.asked_as)] : null,
    ["Task", el("span.text.task", {}, asked.task)],
    ["Asked", asked.since ? el("span", { title: moment(asked.since) }, ago(asked.since)) : "just now"],
    asked.digest ? ["Digest", el("code", { title: asked.digest }, asked.digest.slice(0, 16))] : null,
  ];
  return el("dl.facts", {}, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function whoMay({ group, escalated }) {
  if (escalated?.group === "") return "everybody whose role may, since it was escalated";
  return `members of ${escalated ? `${group} and of ${escalated.group}` : group}`;
}

/** Count down to the end of a call's time, as long as it is on the page. */
function count(element) {
  const symbol = icon("timer");
  symbol.classList.add("small");
  const left = () => {
    const ms = new Date(element.dataset.until).getTime() - Date.now();
    fill(element, symbol, ms > 0 ? `${duration(Math.ceil(ms / 1000) * 1000).replace(".0 s", " s")} left` : "its time is over");
  };
  left();
  const clock = setInterval(() => (element.isConnected ? left() : clearInterval(clock)), 1000);
}
