// Queues, each with its runs and its workers.

import { el, icon } from "../dom.js";
import { ago, duration } from "../words.js";
import { ask } from "./ask.js";
import { table } from "./rows.js";

/** Show the queues. */
export function queues(place, rows, act) {
  table(place, {
    title: "Queues",
    columns: ["Queue", "State", "Waiting", "Oldest", "Blocked", "Running", "Workers", ""],
    rows,
    key: (row) => row.name,
    said: ({ oldest_seconds, depth, blocked, running, workers, ...rest }) => rest,
    cells: (row) => [
      el("b", {}, row.name), state(row), String(row.depth),
      row.depth ? duration(row.oldest_seconds * 1000) : "–", row.blocked ? String(row.blocked) : "–",
      String(row.running), String(row.workers), button(row, act),
    ],
    empty: ["inbox", "No queue is served and no run waits."],
  });
}

/** Return the paused queues with waiting runs, each with a button that resumes it. */
export function paused({ queues: rows, pauses }, act) {
  return rows.filter((row) => row.paused && row.blocked).map((row) => {
    const pause = pauses.find(({ kind, name }) => kind === "queue" && name === row.name);
    const who = pause ? ` by ${pause.by}, ${ago(pause.at)}${pause.reason ? ` (${pause.reason})` : ""}` : "";
    return el("div.problem.stopped", {}, icon("pause_circle"),
      el("p", {}, el("b", {}, `The queue ${row.name} is paused`), `${who}: ${row.blocked === 1 ? "1 run is" : `${row.blocked} runs are`} blocked in it.`),
      resume(row, act, "Resume it"));
  });
}

function resume(row, act, label, name = null) {
  const go = () => act(`/fleet/queues/${encodeURIComponent(row.name)}/resume`, undefined, `The queue ${row.name} is resumed.`);
  return el("button.button", { type: "button", "aria-label": name, onclick: go }, icon("play_arrow"), label);
}

function state(row) {
  if (row.paused) return el("span.pill.warning", {}, "paused");
  return row.has_workers ? el("span.pill.success", {}, "open") : el("span.pill.danger", {}, "no worker serves it");
}

function button(row, act) {
  const path = `/fleet/queues/${encodeURIComponent(row.name)}`;
  if (row.paused) return resume(row, act, "Resume", `Resume ${row.name}`);
  return el("button.button", { type: "button", "aria-label": `Pause ${row.name}`, onclick: () => pause(row, path, act) }, icon("pause"), "Pause");
}

async function pause(row, path, act) {
  const reason = await ask({
    title: `Pause the queue ${row.name}?`,
    text: "No run starts from it until it is resumed. Running runs continue for about a minute, to the end of a turn; then they wait in the queue like new ones.",
    button: "Pause", reason: true,
  });
  if (reason !== null) await act(`${path}/pause`, { reason }, `The queue ${row.name} is paused.`);
}
