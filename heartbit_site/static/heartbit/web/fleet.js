// The fleet page: workers and queues, refreshed every two seconds while the page is visible.

import { api } from "./api.js";
import { el, fill, note } from "./dom.js";
import { pauses, stops } from "./fleet/stops.js";
import { paused, queues } from "./fleet/queues.js";
import { workers } from "./fleet/workers.js";

const EVERY_MS = 2000;

const place = document.getElementById("fleet");
const parts = {
  figures: el("div.figures"), problems: el("div.stack"), stops: el("div.actions"),
  workers: el("div"), queues: el("div"),
};
const state = el("p.quiet", { role: "status" });
let shown = "";
let timer;

fill(place,
  el("header.head", {}, el("h1", {}, "Fleet"), state, parts.stops),
  el("div.stack", {}, parts.problems, parts.figures, parts.workers, parts.queues));

/** Request and show the fleet; unchanged parts are kept, with their focus and selection. */
async function look() {
  clearTimeout(timer);
  try {
    const fleet = await api("/fleet");
    state.textContent = "";
    show(fleet);
  } catch (refusal) {
    state.textContent = refusal.message;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

/** Perform an action, show its result, and refresh. */
async function act(path, body, done) {
  try {
    await api(path, { method: "POST", body });
    note(done, "success");
  } catch (refusal) {
    note(refusal.message, "danger");
  }
  await look();
}

function show(fleet) {
  const { totals } = fleet;
  fill(parts.figures,
    figure("Workers", totals.workers), figure("Slots in use", `${totals.slots_used} of ${totals.slots}`),
    figure("Runs queued", totals.queued));
  const now = JSON.stringify(fleet.pauses.concat(fleet.problems));
  if (now !== shown) {
    shown = now;
    fill(parts.problems, pauses(fleet.pauses, act), paused(fleet, act), problems(fleet));
    fill(parts.stops, stops(fleet.pauses, act));
  }
  workers(parts.workers, fleet.workers, act);
  queues(parts.queues, fleet.queues, act);
}

/** Return the problems, except those that the page has a button for. */
function problems({ problems: sentences }) {
  const others = sentences.filter((one) => !/`heartbit fleet (resume|resume-queue|enable-tool)\b/.test(one));
  return others.map((one) => el("p.problem", {}, ...quoted(one)));
}

/** Return a sentence as nodes; text in backticks becomes code. */
function quoted(sentence) {
  return sentence.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

function figure(name, value) {
  return el("div.card", {}, el("div.inside", {}, el("p.quiet", {}, name), el("p.figure", {}, value)));
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : look()));
look();
