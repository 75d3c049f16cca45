// The one way to the server: as whoever is logged in, in the page's workspace.

const { workspace, csrf, scopes, user, others } = document.body.dataset;
const MOST = 1000; // rows of a page

/** The page's workspace. */
export const WORKSPACE = workspace;
/** Who looks. */
export const USER = user;

/** Whether whoever looks may do what a scope names; the server asks again. */
export function may(scope) {
  return scopes.split(" ").includes(scope);
}

/** Who can do what a scope names, when whoever looks may not: "ada, ben and 2 more". */
export function whoCan(scope) {
  return JSON.parse(others)[scope] ?? "somebody with another role";
}

/** What the server refused, in its own sentence. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Ask the API.
 * @param {string} path Below /api/v1, e.g. "/runs".
 * @param {{method?: string, body?: any, query?: object}} [how]
 * @returns {Promise<any>} The answer's JSON; null for an empty one.
 * @throws {Refusal} With the server's sentence, or one about the connection (status 0).
 */
export async function api(path, { method = "GET", body, query } = {}) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const address = `/api/v1${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
  const headers = { "Heartbit-Workspace": workspace, Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrf;
  if (body !== undefined && !(body instanceof FormData)) headers["Content-Type"] = "application/json";
  const sent = body === undefined || body instanceof FormData ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(address, { method, headers, body: sent, credentials: "same-origin" });
  } catch {
    throw new Refusal(0, "The server does not answer: is it running?");
  }
  const text = await answer.text();
  const data = parsed(text);
  if (answer.status === 401) location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
  if (!answer.ok) throw new Refusal(answer.status, sentence(data) ?? `The server refused (${answer.status}).`);
  return data;
}

/**
 * All rows of a list that comes in pages.
 * @param {string} path Below /api/v1, e.g. "/agents".
 * @param {string} name What the answer calls its rows, e.g. "agents".
 * @param {object} [query] Of the address, as of `api`.
 * @returns {Promise<object[]>}
 * @throws {Refusal} As of `api`.
 */
export async function all(path, name, query = {}) {
  const rows = [];
  let cursor = null;
  do {
    const page = await api(path, { query: { ...query, limit: MOST, cursor } });
    rows.push(...page[name]);
    cursor = page.next_cursor;
  } while (cursor);
  return rows;
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function sentence(data) {
  return data?.detail ?? data?.error?.message;
}
