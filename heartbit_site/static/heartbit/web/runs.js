// The list of runs: filters in the URL, pages by cursor, updates by the workspace's pulse.

import { Refusal, api, may, whoCan } from "./api.js";
import { el, fill, icon, note } from "./dom.js";
import { onPulse } from "./pulse.js";
import { ask } from "./run/ask.js";
import { Filters } from "./runs/filters.js";
import { newRun } from "./runs/new-run.js";
import { Rows } from "./runs/rows.js";

const PAGE = 30;
const MOST = 300;
const PAUSE_MS = 500; // minimum time between two refreshes

const box = document.getElementById("runs");
const filters = new Filters(() => load());
const rows = new Rows(choose);
const cancel = el("button.button.danger", { type: "button", hidden: true, onClick: cancelChosen });
const more = el("button.button", { type: "button", hidden: true, onClick: () => load({ further: true }) }, "Load more");
const empty = el("div.empty", { hidden: true });
const problem = el("div", { role: "alert" });
let next = null;
let turn = 0;
let seen = 0;
let coming;
let missed = false;

fill(box,
  el("header.head", {}, el("h1", {}, "Runs"),
    may("runs:write") ? el("div.actions", {}, el("button.button.primary", { type: "button", onClick: newRun }, icon("add"), "New run")) : null),
  filters.element, problem,
  el("section.card", { "aria-label": "Runs" }, el("div.scroll", {}, rows.element), empty,
    el("footer.row.inside.foot-row", {}, more, cancel)));

load();
onPulse((pulse) => {
  if (seen && seen !== pulse.runs) soon();
  seen = pulse.runs;
});
document.addEventListener("visibilitychange", () => missed && soon());

/** Refresh the shown runs, throttled, while the page is visible. */
function soon() {
  missed = document.hidden;
  if (missed || coming) return;
  coming = setTimeout(async () => {
    await load({ quietly: true });
    coming = setTimeout(() => {
      coming = undefined;
      if (missed) soon();
    }, PAUSE_MS);
  });
}

/** Load the filtered runs; `further`: the next page; `quietly`: a refresh. */
async function load({ further = false, quietly = false } = {}) {
  turn += 1;
  const mine = turn;
  const limit = further ? PAGE : Math.min(MOST, quietly ? Math.max(PAGE, rows.length) : PAGE);
  try {
    const page = await api("/runs", { query: { ...filters.query(), limit, cursor: further ? next : null } });
    if (mine !== turn) return; // another request has started meanwhile
    fill(problem);
    // Runs beyond the refreshed page stay unchanged, and so does the cursor.
    if (!quietly || rows.length <= limit) next = page.next_cursor;
    rows.show(page.runs, { further, quietly });
    more.hidden = next === null;
    empty.hidden = rows.length > 0;
    if (!rows.length) explain();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine === turn) fill(problem, el("p.problem", {}, error.message));
  }
}

function explain() {
  if (filters.isSet()) {
    fill(empty, icon("filter_alt_off"), el("p", {}, "No run matches."), el("button.button", { type: "button", onClick: () => filters.clear() }, "Clear the filters"));
  } else if (may("runs:write")) {
    fill(empty, icon("rocket_launch"), el("p", {}, "Nothing has run here yet. Give an agent a task, and watch it work."),
      el("button.button.primary", { type: "button", onClick: newRun }, icon("add"), "Start the first run"),
      el("p", {}, "On a command line: ", el("code", {}, 'heartbit submit "What is the weather in Rome?"')));
  } else fill(empty, icon("hourglass_empty"), el("p", {}, `Nothing has run here yet. Who can start a run: ${whoCan("runs:write")}.`));
}

function choose(chosen) {
  cancel.hidden = chosen.length === 0;
  cancel.textContent = `Cancel ${chosen.length} run${chosen.length === 1 ? "" : "s"}`;
}

function cancelChosen() {
  const ids = rows.chosen();
  ask({
    title: `Cancel ${ids.length} run${ids.length === 1 ? "" : "s"}?`, label: "Cancel them", danger: true,
    body: el("p", {}, "They stop with their sub-agents. Their output so far stays."),
    send: async () => {
      for (const id of ids) await api(`/runs/${id}/cancel`, { method: "POST" });
      note(`${ids.length} run${ids.length === 1 ? " was" : "s were"} asked to stop.`, "success");
      rows.choose(false);
      load({ quietly: true });
    },
  });
}
