// Card of one tool call that waits for a person: the whole call and the possible decisions.

import { may, Refusal, whoCan, WORKSPACE } from "../api.js";
import { el, fill, icon, note, sentence } from "../dom.js";
import { moment, since } from "../moment.js";
import { duration } from "../words.js";
import { closedText, isFinal } from "./closed.js";
import { answer, approve, deny, edit, isInDoubt, questionState, settle } from "./decide.js";
import { canTry, dryRun, outcome } from "./dry-run.js";
import { editPanel } from "./edit.js";
import { alwaysPanel, denyPanel, donePanel } from "./panels.js";
import { nodes, prose, seen } from "./pieces.js";
import { answerPanel, isQuestion, questionText } from "./question.js";
import { isWait, waitCard } from "./wait.js";


const SAID = { approved: "Approved", edited: "Approved with changes", answered: "Answered", denied: "Denied", retried: "Retried", done: "Confirmed", confirmed: "Confirmed", skipped: "Skipped" };

const AGAIN_MS = 1000; // delay after a failed request for the state of a call
const LONGEST_MS = 60000;

const conclusions = new WeakMap();

/**
 * Update a card whose call no longer waits: show who decided, and keep unsent input, marked as
 * stale, until the card is dismissed.
 * @param {HTMLElement} element From `card`.
 * @returns {Promise<boolean>} True if the card stays; false: the call was decided on this card,
 *   or is still open and shown by another card.
 */
export async function conclude(element) {
  return conclusions.get(element)?.() ?? false;
}

/** Return true if a person is writing in a card. */
export function isBeingEdited(element) {
  return element.querySelector('[aria-expanded="true"]') !== null;
}

/**
 * Return a waiting call as an element; its buttons have `data-act` (approve, edit, deny, always, try;
 * answer, deny; retry, confirm, skip).
 * @param {object} asked An item of the lists of `decide.js`.
 * @param {{onDecided?: (answer: object|null, problem?: Refusal) => void, onAway?: () => void, link?: HTMLElement|null}} [how]
 *   `onDecided` gets the decision, or null and the refusal if another person decided first or the
 *   run has ended. `onAway` is called when a closed card is dismissed. `link` leads to the run; by default to its page.
 *   `hold` sends a decision later: it gets the verb, the function that sends, and the card, and
 *   returns the decision, or null if it was taken back; by default a decision is sent at once.
 */
export function card(asked, { onDecided = () => {}, onAway = () => {}, link = runLink(asked), hold = null } = {}) {
  if (isWait(asked)) return waitCard(asked, { onDecided, link });
  const panel = el("div");
  const problem = el("p.problem", { role: "alert", hidden: true });
  const trial = el("div.trial");
  const foot = el("footer.inside", {}, may("approvals:decide") ? el("div.actions", {}, buttons())
    : el("p.quiet.only-look", {}, icon("visibility"), `You can view this but not decide it. Who can: ${asked.approver_group ? whoMay(asked) : whoCan("approvals:decide")}.`));
  const element = el("article.card.asked", { "aria-label": `${asked.tool} of ${asked.agent}`, tabindex: "-1", data: { run: asked.run_id, call: asked.call_id } },
    head(asked, link), body(asked), foot, panel, el("div", { class: "problems" }, problem), trial);
  const end = isInDoubt(asked) ? null : element.querySelector("[data-until]");
  if (end) count(end);
  let sending = null;
  let isMine = false;
  let again = AGAIN_MS;
  let timer = 0;
  conclusions.set(element, concluded);
  return element;

  function buttons() {
    if (isQuestion(asked)) {
      return [opens("answer", "Answer", "reply", (how) => answerPanel(asked, how), (value) => answer(asked, value), ".primary"),
        opens("deny", "Decline", "block", (how) => denyPanel(how), (reason) => deny(asked, reason), ".danger")];
    }
    return isInDoubt(asked)
      ? [act("retry", "Retry", "replay", "", () => settle(asked, "retry")),
        opens("confirm", "Confirm", "check", (how) => donePanel(how), (result) => settle(asked, "confirm", result)),
        act("skip", "Skip", "skip_next", "", () => settle(asked, "skip"))]
      : [act("approve", "Approve", "check", ".primary", () => approve(asked)),
        editing(),
        opens("deny", "Deny", "block", (how) => denyPanel(how), (reason) => deny(asked, reason), ".danger"),
        asked.required_approvals > 1 || asked.approver_group ? null : opens("always", "Always allow", "all_inclusive", (how) => alwaysPanel(asked, how), (always) => approve(asked, always)),
        canTry(asked) ? el("button.button", { type: "button", data: { act: "try" }, onclick: () => attempt() }, icon("science"), "Try it without keeping it") : null];
  }

  function editing() {
    if (asked.parameters !== null && asked.view.is_javascript_safe && asked.required_approvals === 1) {
      return opens("edit", "Edit", "edit", (how) => editPanel(asked, { ...how, attempt: canTry(asked) ? attempt : null }), (args) => edit(asked, args));
    }
    return el("button.button", { type: "button", disabled: true, "data-never": true, title: whyNoEdit(asked) }, icon("edit"), "Edit");
  }

  function act(name, label, symbol, tone, send) {
    return el(`button.button${tone}`, { type: "button", data: { act: name }, onclick: () => decide(send, label) }, icon(symbol), label);
  }

  function opens(name, label, symbol, make, send, tone = "") {
    const button = el(`button.button${tone}`, { type: "button", data: { act: name }, "aria-expanded": "false", onclick: open }, icon(symbol), label);
    return button;

    function open() {
      const was = button.getAttribute("aria-expanded") === "true";
      close();
      if (was) return;
      button.setAttribute("aria-expanded", "true");
      shut(true); // prevents an accidental approval while editing or denying
      fill(panel, make({ send: (value) => decide(() => send(value), label), leave: () => { close(); button.focus(); } }));
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

  async function concluded() {
    await sending; // the request in flight may be the decision
    if (isMine) return false;
    if (element.dataset.closed) return true;
    let found;
    try {
      found = await questionState(asked);
      again = AGAIN_MS;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status !== 404) { // state unknown: keep the card as it is
        lookAgain();
        return true;
      }
      found = { state: "closed", by: "", at: null, reason: "" };
    }
    if (isFinal(found)) seal(found);
    return isFinal(found);
  }

  function lookAgain() {
    clearTimeout(timer);
    timer = setTimeout(() => element.isConnected && concluded(), again);
    again = Math.min(LONGEST_MS, again * 2);
  }

  function seal(found) {
    if (element.dataset.closed) return;
    element.dataset.closed = found.state;
    const isStale = isBeingEdited(element);
    fill(foot, el("div.row.closed", { role: "alert" }, icon("info"), closedText(found)),
      el("div.actions", {}, el("button.button", { type: "button", data: { act: "away" }, onclick: () => { element.remove(); onAway(); } }, "Dismiss")));
    for (const one of element.querySelectorAll(".pill.primary, [data-until]")) one.remove();
    problem.hidden = true;
    if (!isStale) fill(panel);
    for (const one of panel.querySelectorAll("button:not([type=button]), [data-act]")) one.disabled = true;
    if (isStale) panel.prepend(el("p.inside.hint", {}, "Your changes were not sent. Copy them before you dismiss the call."));
  }

  function decide(send, verb) {
    if (element.dataset.closed) return null;
    sending = attemptDecision(hold ? () => hold(verb, send, element) : send);
    return sending;
  }

  async function attemptDecision(send) {
    problem.hidden = true;
    able(false);
    try {
      const decided = await send();
      if (decided === null) {
        able(true);
        shut(panel.firstChild !== null);
        return;
      }
      isMine = !decided.remaining_approvals;
      const said = saidOf(decided, asked);
      fill(foot, el("p.row", {}, icon("check_circle"), said));
      fill(panel);
      fill(trial);
      if (!hold) note(`${said}: ${asked.tool}`, "success");
      onDecided(decided);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      fill(problem, sentence(error.message)).hidden = false;
      if (error.status === 409 || error.status === 404) {
        able(true);
        const found = await questionState(asked).catch(() => ({ state: "open" }));
        if (isFinal(found)) {
          seal(found);
        } else {
          fill(foot);
          fill(panel);
        }
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

function whyNoEdit({ required_approvals: needed, view }) {
  if (needed > 1) return "It needs several approvals, so it cannot be edited.";
  return view.is_javascript_safe ? "The tool has changed since the agent was published." : "Its numbers are larger than a browser can hold: edit it with heartbit approve.";
}

function saidOf({ verdict, outcome, remaining_approvals: missing }, asked) {
  if (isQuestion(asked) && verdict === "denied") return "Declined";
  if (missing) return `Your approval counts; ${missing} more ${missing === 1 ? "is" : "are"} needed`;
  return SAID[verdict ?? outcome] ?? "Noted";
}

function runLink({ root_id: root }) {
  return el("a", { href: `/w/${WORKSPACE}/runs/${root}/` }, "Open the run");
}

function head(asked, link) {
  const doubt = isInDoubt(asked);
  const question = isQuestion(asked);
  return el("header", {}, icon(doubt ? "help" : question ? "contact_support" : "back_hand"),
    el("h2.text", {}, question ? `${asked.agent} asks` : nodes(asked.view.tool)),
    el(`span.pill.${doubt ? "warning" : "primary"}`, {}, doubt ? "Outcome unknown" : question ? "A question" : may("approvals:decide") ? "Waits for you" : "Waits for a person"),
    asked.required_approvals > 1 ? el("span.pill.info", {}, `${asked.approved_by.length} of ${asked.required_approvals} approvals`) : null,
    asked.escalated ? el("span.pill.warning", {}, `Escalated to ${asked.escalated.group || "everyone"} `, since(asked.escalated.since)) : null,
    asked.expires_at ? el("span.pill.warning", { data: { until: asked.expires_at }, title: moment(asked.expires_at).title }) : null,
    link ? el("span.actions.quiet", {}, link) : null);
}

function body(asked) {
  const { view } = asked;
  return el("div.inside.stack", {},
    isQuestion(asked) ? questionText(asked) : [asked.summary ? el("p.question.text", {}, seen(asked.summary)) : null, el("p.text", {}, prose(view.reason))],
    view.hidden_character_count ? el("p.problem", {}, `${view.hidden_character_count === 1 ? "One character" : `${view.hidden_character_count} characters`} of the arguments cannot be seen or reorder${view.hidden_character_count === 1 ? "s" : ""} others: shown as an escape, marked so.`) : null,
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
    asked.approver_group ? ["Who may decide", whoMay(asked)] : null,
    asked.approved_by?.length ? ["Approved by", asked.approved_by.join(", ")] : null,
    view.requested_name.length ? ["Name used by the model", nodes(view.requested_name)] : null,
    ["Task", el("span.text.task", {}, asked.task)],
    ["Asked", asked.waiting_since ? since(asked.waiting_since) : "just now"],
    asked.digest ? ["Digest", el("code", { title: asked.digest }, asked.digest.slice(0, 16))] : null,
  ];
  return el("dl.facts", {}, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function whoMay({ approver_group: group, escalated }) {
  if (escalated?.group === "") return "everyone whose role permits it, since the escalation";
  return `members of ${escalated ? `${group} and of ${escalated.group}` : group}`;
}

/** Count down to a call's expiry while the call is on the page. */
function count(element) {
  const symbol = icon("timer");
  symbol.classList.add("small");
  const left = () => {
    const ms = new Date(element.dataset.until).getTime() - Date.now();
    fill(element, symbol, ms > 0 ? `${duration(Math.ceil(ms / 1000) * 1000).replace(".0 s", " s")} left` : "expired");
  };
  left();
  const clock = setInterval(() => (element.isConnected ? left() : clearInterval(clock)), 1000);
}
