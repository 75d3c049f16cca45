// The kill switch, and the list of current stops.

import { all, WORKSPACE } from "../api.js";
import { el, icon, note } from "../dom.js";
import { ago } from "../words.js";
import { ask } from "./ask.js";

const STOPPED = "No run starts, and running runs are requeued at once; an external effect in flight finishes first. Nothing is lost: when the stop is ended, all runs continue where they were.";

/** Return the buttons that stop a tool, this workspace, or everything. */
export function stops(now, act) {
  const all = now.some((one) => one.kind === "all");
  const here = now.some((one) => one.kind === "workspace" && one.name === WORKSPACE && one.by_operator);
  return [
    el("button.button", { type: "button", onclick: () => stopTool(act) }, icon("build_circle"), "Stop a tool"),
    here || all ? null : el("button.button.danger", { type: "button", onclick: () => stopHere(act) }, icon("stop_circle"), "Stop this workspace"),
    all ? null : el("button.button.danger", { type: "button", onclick: () => stopAll(act) }, icon("emergency_home"), "Stop everything"),
  ];
}

async function stopHere(act) {
  const reason = await ask({
    title: `Stop the workspace ${WORKSPACE}?`, text: `New runs in it are refused. ${STOPPED}`,
    button: "Stop the workspace", danger: true, reason: true,
  });
  if (reason !== null) await act(`/fleet/workspaces/${WORKSPACE}/halt`, { reason }, "The workspace is stopped.");
}

async function stopAll(act) {
  const reason = await ask({
    title: "Stop everything?", text: `New runs are refused in every workspace. ${STOPPED}`,
    button: "Stop everything", danger: true, reason: true, word: "stop",
  });
  if (reason !== null) await act("/fleet/halt", { reason }, "Everything is stopped.");
}

async function stopTool(act) {
  let names;
  try {
    names = (await all("/tools", "tools")).map(({ name }) => name);
  } catch (refusal) {
    note(refusal.message, "danger");
    return;
  }
  const tool = el("select", { name: "tool" }, names.map((name) => el("option", { value: name }, name)));
  const where = el("select", { name: "where" },
    el("option", { value: WORKSPACE }, `The workspace ${WORKSPACE}`), el("option", { value: "" }, "Everywhere"));
  const reason = await ask({
    title: "Stop a tool?",
    text: "None of its calls is run, not even approved ones. Models learn of the refusal, and their runs continue without it.",
    button: "Stop the tool", danger: true, reason: true,
    fields: [el("label", {}, "Tool", tool), el("label", {}, "Where", where)],
  });
  if (reason === null) return;
  await act(`${toolPath(tool.value, where.value)}/disable`, { reason }, `The tool ${tool.value} is stopped.`);
}

function toolPath(name, workspace) {
  return `/fleet${workspace ? `/workspaces/${workspace}` : ""}/tools/${encodeURIComponent(name)}`;
}

/** Return the current stops, each with the button that ends it. */
export function pauses(now, act) {
  return now.filter((one) => one.kind !== "queue").map((one) => {
    const { path, what, end, verb = "resume" } = SAID[one.kind](one);
    return el("div.problem.stopped", { role: "alert" }, icon("stop_circle"),
      el("p", {}, el("b", {}, `${what} is stopped`), ` by ${one.by}${one.by_operator ? "" : ", who manages it"}, ${ago(one.at)}`, one.reason ? `: ${one.reason}` : ""),
      el("button.button", { type: "button", onclick: () => act(`${path}/${verb}`, undefined, `${what} is no longer stopped.`) }, icon("play_arrow"), end));
  });
}

const SAID = {
  all: () => ({ path: "/fleet", what: "Everything", end: "Resume everything" }),
  workspace: ({ name }) => ({ path: `/fleet/workspaces/${name}`, what: `The workspace ${name}`, end: "Resume it" }),
  tool: ({ name, workspace }) => ({
    path: toolPath(name, workspace), what: `The tool ${name}${workspace ? ` in ${workspace}` : ""}`, end: "Start it again", verb: "enable",
  }),
};
