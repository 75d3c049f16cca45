// Workers: each process with its slots, its heartbeat, and its current runs.

import { el, icon } from "../dom.js";
import { duration } from "../words.js";
import { ask } from "./ask.js";
import { table } from "./rows.js";

const TONES = { alive: "success", leaving: "warning", stale: "danger" };
const SHOWN = 3;

/** Show the workers. */
export function workers(place, rows, act) {
  table(place, {
    title: "Workers",
    columns: ["Worker", "State", "Slots", "Last heartbeat", "Up for", "Queues", "Runs", ""],
    rows,
    key: (row) => String(row.id),
    said: ({ heartbeat_age_seconds, uptime_seconds, ...rest }) => rest,
    cells: (row) => [
      name(row), el(`span.pill.${TONES[row.state]}`, {}, row.requested_action && row.state !== "stale" ? `leaving: ${row.requested_action}` : row.state),
      meter(row), `${duration(row.heartbeat_age_seconds * 1000)} ago`, duration(Math.floor(row.uptime_seconds) * 1000),
      row.queues.join(", ") || "one suspicious run, alone", working(row), buttons(row, act),
    ],
    empty: ["dns", "No worker is alive: `heartbit serve` starts one, and until then runs wait.".replaceAll("`", "")],
  });
}

function name(row) {
  const [host, pid] = split(row.name);
  return el("div", {}, el("b", {}, host), el("div.quiet", {}, `process ${pid}, id ${row.id}`));
}

function split(name) {
  const at = name.lastIndexOf(":");
  return [name.slice(0, at), name.slice(at + 1)];
}

function meter({ slots_used: used, slots, name: worker }) {
  const bar = el("span.bar", {
    role: "meter", "aria-label": `Slots in use of ${worker}`, "aria-valuemin": 0, "aria-valuemax": slots, "aria-valuenow": used,
  }, el("span"));
  bar.firstChild.style.width = `${slots ? Math.min(100, (100 * used) / slots) : 0}%`;
  if (used >= slots) bar.classList.add("full");
  return el("div.meter", {}, bar, el("span.number", {}, `${used} of ${slots}`));
}

function working({ runs, slots_used: used }) {
  if (!runs.length) return el("span.quiet", {}, "nothing");
  const links = runs.slice(0, SHOWN).map((run) => el("li", {},
    el("a", { href: `/w/${run.workspace}/runs/${run.id}/` }, run.agent), el("span.quiet", {}, ` in ${run.workspace}`)));
  const more = used - links.length;
  return el("ul", {}, links, more > 0 ? el("li.quiet", {}, `and ${more} more`) : null);
}

function buttons(row, act) {
  if (row.state === "stale" || row.requested_action) return el("span");
  return el("div.actions.tight", {},
    el("button.iconic", { type: "button", title: "Drain and stop", "aria-label": `Drain and stop ${row.name}`, onclick: () => send(row, "stop", act) }, icon("stop_circle")),
    el("button.iconic", { type: "button", title: "Restart", "aria-label": `Restart ${row.name}`, onclick: () => send(row, "restart", act) }, icon("restart_alt")));
}

async function send(row, wanted, act) {
  const back = wanted === "restart"
    ? "Then it restarts, with the code that is installed by then."
    : "Then it exits. A supervisor such as systemd, or a container's restart policy, may start it again.";
  const sure = await ask({
    title: `${wanted === "stop" ? "Drain and stop" : "Restart"} ${row.name}?`,
    text: `It takes no new runs and requeues those that it holds; other workers continue them where they are. ${back}`,
    button: wanted === "stop" ? "Drain and stop" : "Restart", danger: wanted === "stop",
  });
  if (sure !== null) await act(`/fleet/workers/${row.id}/${wanted}`, undefined, `${row.name} was asked to ${wanted}.`);
}
