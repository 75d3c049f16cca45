// What waits: each queue with its runs and who serves it.

import { el, icon } from "../dom.js";
import { duration } from "../words.js";
import { ask } from "./ask.js";
import { table } from "./rows.js";

/** Show the queues. */
export function queues(place, rows, act) {
  table(place, {
    title: "Queues",
    columns: ["Queue", "State", "Waiting", "Oldest", "Held back", "Running", "Workers", ""],
    rows,
    key: (row) => row.name,
    said: ({ oldest_seconds, depth, parked, running, workers, ...rest }) => rest,
    cells: (row) => [
      el("b", {}, row.name), state(row), String(row.depth),
      row.depth ? duration(row.oldest_seconds * 1000) : "–", row.parked ? String(row.parked) : "–",
      String(row.running), String(row.workers), button(row, act),
    ],
    empty: ["inbox", "No queue is served and no run waits."],
  });
}

function state(row) {
  if (row.paused) return el("span.pill.warning", {}, "paused");
  return row.served ? el("span.pill.success", {}, "open") : el("span.pill.danger", {}, "nobody serves it");
}

function button(row, act) {
  const path = `/fleet/queues/${encodeURIComponent(row.name)}`;
  if (row.paused) {
    return el("button.button", { type: "button", "aria-label": `Resume ${row.name}`, onclick: () => act(`${path}/resume`, undefined, `The queue ${row.name} goes on.`) },
      icon("play_arrow"), "Resume");
  }
  return el("button.button", { type: "button", "aria-label": `Pause ${row.name}`, onclick: () => pause(row, path, act) }, icon("pause"), "Pause");
}

async function pause(row, path, act) {
  const reason = await ask({
    title: `Pause the queue ${row.name}?`,
    text: "Nothing more is started from it. What is at work goes on, and new runs wait in the queue until it is resumed.",
    button: "Pause", reason: true,
  });
  if (reason !== null) await act(`${path}/pause`, { reason }, `The queue ${row.name} is paused.`);
}
