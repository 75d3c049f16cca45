// Sentence about a call that a person, its timeout or a cancel closed while it was on the page.

import { el } from "../dom.js";
import { moment } from "../moment.js";
import { ago, person } from "../words.js";

const TICK_MS = 5000;
const SENTENCES = {
  approved: ["Approved", ""], edited: ["Approved with changes", ""], answered: ["Answered", ""], denied: ["Denied", ""],
  retried: ["Retried", ""], done: ["Confirmed", ""], skipped: ["Skipped", ""],
  expired: ["Expired", "No one decided in time, so the call was refused."],
  cancelled: ["Cancelled", "Its run was stopped, so the call can no longer be decided."],
  closed: ["Closed", "The call no longer waits for a decision."],
};

/** Return true if the state of a question is final. */
export function isFinal({ state }) {
  return state !== "open";
}

/**
 * Describe how a question was closed: "Approved by ann just now".
 * @param {{state: string, by: string, at: string|null, reason: string}} found From `questionState`.
 */
export function closedText({ state, by, at, reason }) {
  const [verb, why] = SENTENCES[state];
  const name = by ? ` by ${by && person(by) === "You" ? "you" : by}` : "";
  const when = at ? moment(at) : el("span");
  const say = () => { when.textContent = at ? ` ${ago(at)}` : ""; };
  say();
  const clock = setInterval(() => (when.isConnected ? say() : clearInterval(clock)), TICK_MS);
  return el("span", {}, el("b", {}, `${verb}${name}`, when), ".", why ? ` ${why}` : "", reason ? ` Reason: ${reason}` : "");
}
