// Client of the API, as the logged-in person, in the page's workspace.

import { logIn } from "./socket.js";

const { workspace, csrf, scopes, user, others } = document.body.dataset;
const MOST = 1000; // rows of a page

/** The page's workspace. */
export const WORKSPACE = workspace;
/** Name of the logged-in person. */
export const USER = user;

/** Return true if the logged-in person has a scope; the server checks it again. */
export function may(scope) {
  return scopes.split(" ").includes(scope);
}

/** Return who has a scope that the logged-in person lacks: "ada, ben and 2 more". */
export function whoCan(scope) {
  return JSON.parse(others)[scope] ?? "a person with another role";
}

/** A request that the server refused, with the server's sentence. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Call the API.
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
    // A decision is sent even if its page is left meanwhile; browsers keep no more than 64 KB.
    const keepalive = method !== "GET" && typeof sent === "string" && sent.length < 60000;
    answer = await fetch(address, { method, headers, body: sent, credentials: "same-origin", keepalive });
  } catch {
    throw new Refusal(0, "The server does not answer: is it running?");
  }
  const text = await answer.text();
  const data = parsed(text);
  if (answer.status === 401) logIn();
  if (!answer.ok) throw new Refusal(answer.status, sentence(data) ?? `The server refused (${answer.status}).`);
  return data;
}

/**
 * Return all rows of a paginated list.
 * @param {string} path Below /api/v1, e.g. "/agents".
 * @param {string} name Name of the rows in the answer, e.g. "agents".
 * @param {object} [query] Query of the URL, as for `api`.
 * @returns {Promise<object[]>}
 * @throws {Refusal} As for `api`.
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
