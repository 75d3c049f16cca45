// The three ways to wait, each with its words, colour and sign.

import { may } from "../api.js";
import { icon, pill } from "../dom.js";

const OTHERS = ["waits for others", "hourglass_top"];
const WAITS = {
  person: may("approvals:decide") ? ["waits for you", "back_hand"] : OTHERS,
  agents: ["waits for sub-agents", "account_tree"],
  others: OTHERS,
};

/**
 * Return the label of a status.
 * @param {string} status Of a run or a call.
 * @param {string} whom If it waits: person, agents or others.
 */
export function label(status, whom) {
  const [words, sign] = (status === "waiting" && WAITS[whom]) || [status];
  const made = pill(words);
  if (sign) made.prepend(icon(sign));
  return made;
}
