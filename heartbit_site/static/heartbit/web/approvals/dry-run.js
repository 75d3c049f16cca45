// Dry run of a waiting call: shows what its tool would change in the database.

import { api } from "../api.js";
import { el } from "../dom.js";
import { seen } from "./pieces.js";

const KINDS = { inserted: ["+", "inserted"], updated: ["±", "updated"], deleted: ["−", "deleted"] };

/** Return true if a call can be tried: only effects in the database can be rolled back. */
export function canTry({ effect }) {
  return effect === "transactional";
}

/**
 * Run a call and roll it back.
 * @param {object} asked From GET /approvals.
 * @param {object} [args] Arguments instead of the call's own.
 * @throws {import("../api.js").Refusal} 409: the call no longer waits, or took too long.
 */
export function dryRun({ run_id: run, call_id: call, digest }, args) {
  return api(`/runs/${run}/calls/${encodeURIComponent(call)}/dry-run`, {
    method: "POST", body: { digest, ...(args === undefined ? {} : { arguments: args }) },
  });
}

/** Return the result of a dry run as an element. */
export function outcome(tried) {
  const failed = tried.status !== "ok";
  return el("section.stack.inside", { "aria-label": "What it would do" },
    el("p.strong", { role: "status" }, failed ? "The dry run failed; nothing was changed." : summary(tried)),
    tried.refused ? el("p.problem", {}, seen(tried.refused)) : null,
    el("div", {}, el("p.quiet", {}, failed ? "The model would get" : "Its result would be"), el("pre.code", { tabindex: "0" }, seen(tried.result))),
    tried.tables.map(table),
    tried.more_tables ? el("p.quiet", {}, `It changes ${count(tried.more_tables, "more table")}, not shown.`) : null);
}

function summary({ tables, more_tables: more, refused }) {
  if (refused) return "The dry run was rolled back. The database would reject the changes:";
  const changed = tables.length + more;
  return `The dry run was rolled back. The call would change ${changed ? `rows of ${count(changed, "table")}` : "no rows"}.`;
}

function table({ table: name, rows, more, note }) {
  const below = more ? el("p.quiet", {}, `${count(more, "more changed row")}, not shown.`) : null;
  if (note) return el("div", {}, el("p.strong.text", {}, seen(name)), el("p.quiet", {}, note));
  return el("div", {}, el("div.scroll", {}, el("table.list.tried", {},
    el("caption.strong", {}, seen(name)),
    el("thead", {}, el("tr", {}, ["Change", "Row", "Columns"].map((one) => el("th", { scope: "col" }, one)))),
    el("tbody", {}, rows.map(row)))), below);
}

function row({ kind, key, columns }) {
  const [sign, word] = KINDS[kind];
  return el(`tr.${kind}`, {},
    el("th", { scope: "row" }, el("span.sign", { "aria-hidden": "true" }, sign), word),
    el("td", {}, key.map(({ column, value }) => el("div", {}, seen(column), " ", cell(value)))),
    el("td", {}, columns.map(({ column, old, new: next }) => el("div", {}, el("span.quiet", {}, seen(column), ": "),
      old ? el("del", {}, cell(old)) : null, old && next ? " → " : null, next ? el("ins", {}, cell(next)) : null))));
}

function cell({ text, more, hidden }) {
  if (hidden) return el("i", {}, "hidden");
  if (text === null) return el("i", {}, "NULL");
  return [seen(text), more ? el("i", {}, ` … (${count(more, "more character")})`) : null];
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
