// Sentence about a call that a person, its timeout or a cancel closed while it was on the page.

import { el } from "../dom.js";
import { moment } from "../moment.js";
import { person } from "../words.js";

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
 * Describe how a question was closed: "Approved by ann at 17:05".
 * @param {{state: string, by: string, at: string|null, reason: string}} found From `questionState`.
 */
export function closedText({ state, by, at, reason }) {
  const [verb, why] = SENTENCES[state];
  const name = by ? ` by ${by && person(by) === "You" ? "you" : by}` : "";
  return el("span", {}, el("b", {}, `${verb}${name}`, at ? [" at ", moment(at)] : ""), ".", why ? ` ${why}` : "", reason ? ` Reason: ${reason}` : "");
}
