// Requests for decisions; each contains the digest of the displayed call.

import { all, api } from "../api.js";

/** List everything that waits for a person: approvals, uncertain calls, and waits of other kinds. */
export async function listAsked() {
  return (await Promise.all([all("/approvals", "calls"), all("/uncertain-calls", "calls"), all("/waits", "waits")])).flat();
}

/** Return true if a call has run with an unknown outcome, instead of waiting to run. */
export function isInDoubt(asked) {
  return asked.question !== undefined && asked.key === undefined;
}

/**
 * Approve the call as displayed.
 * @param {object} asked From GET /approvals.
 * @param {{scope: "run"|"agent", until: string|null}} [always] Standing permission to add.
 * @throws {import("../api.js").Refusal} 409: another person decided first; says who.
 */
export function approve(asked, always) {
  return decide(asked, { verdict: "approve", ...(always ? { always } : {}) });
}

/** Approve the call with other arguments. */
export function edit(asked, args) {
  return decide(asked, { verdict: "edit", arguments: args });
}

/** Answer a call that is a question; the model reads the answer. */
export function answer(asked, value) {
  return decide(asked, { verdict: "answer", answer: value });
}

/** Deny the call; the model reads the reason. */
export function deny(asked, reason) {
  return decide(asked, { verdict: "deny", reason });
}

function decide({ run_id: run, call_id: call, digest }, decision) {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/decision`, {
    method: "POST", body: { digest, ...decision },
  });
}

/**
 * Resolve an uncertain call.
 * @param {object} asked From GET /uncertain-calls.
 * @param {"retry"|"confirm"|"skip"} outcome
 * @param {string} [result] With confirm: the call's result for the model.
 */
export function settle({ run_id: run, call_id: call }, outcome, result = "") {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/outcome`, {
    method: "POST", body: { outcome, ...(outcome === "confirm" && result ? { result } : {}) },
  });
}

/**
 * Request how a closed question was closed.
 * @param {object} asked From GET /approvals or GET /uncertain-calls.
 * @returns {Promise<{state: string, by: string, at: string|null, reason: string}>}
 */
export function questionState({ run_id: run, call_id: call, digest, question }) {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/decision`, { query: { digest, question } });
}
