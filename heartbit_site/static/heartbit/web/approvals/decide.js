// Send what a person decided; every decision names the digest of what was shown.

import { all, api } from "../api.js";

/** Whatever waits for a person: calls to approve, calls of unknown outcome, and waits of other kinds. */
export async function listAsked() {
  return (await Promise.all([all("/approvals", "calls"), all("/uncertain-calls", "calls"), all("/waits", "waits")])).flat();
}

/** A name for a call that stays the same while it waits for the same people. */
export function keyOf(asked) {
  return `${asked.run_id}/${asked.call_id}/${asked.key ?? asked.question ?? asked.digest}${asked.escalated ? "/escalated" : ""}`;
}

/** Whether a call has run with an unknown outcome, instead of waiting to run. */
export function isInDoubt(asked) {
  return asked.question !== undefined;
}

/**
 * Let the call run as it is shown.
 * @param {object} asked From GET /approvals.
 * @param {{scope: "run"|"agent", until: string|null}} [always] Also from now on.
 * @throws {import("../api.js").Refusal} 409: somebody was quicker, and who.
 */
export function approve(asked, always) {
  return decide(asked, { verdict: "approve", ...(always ? { always } : {}) });
}

/** Let the call run with other arguments. */
export function edit(asked, args) {
  return decide(asked, { verdict: "edit", arguments: args });
}

/** Answer a call that is a question; the model reads the answer. */
export function answer(asked, value) {
  return decide(asked, { verdict: "answer", answer: value });
}

/** Do not let the call run; the model reads the reason. */
export function deny(asked, reason) {
  return decide(asked, { verdict: "deny", reason });
}

function decide({ run_id: run, call_id: call, digest }, decision) {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/decision`, {
    method: "POST", body: { digest, ...decision },
  });
}

/**
 * Say what became of a call of unknown outcome.
 * @param {object} asked From GET /uncertain-calls.
 * @param {"retry"|"confirm"|"skip"} outcome
 * @param {string} [result] With confirm: what the model reads as the call's answer.
 */
export function settle({ run_id: run, call_id: call }, outcome, result = "") {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/outcome`, {
    method: "POST", body: { outcome, ...(outcome === "confirm" && result ? { result } : {}) },
  });
}

/**
 * Ask how a question that is not asked any more was closed.
 * @param {object} asked From GET /approvals or GET /uncertain-calls.
 * @returns {Promise<{state: string, by: string, at: string|null, reason: string}>}
 */
export function questionState({ run_id: run, call_id: call, digest, question }) {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/decision`, { query: { digest, question } });
}
