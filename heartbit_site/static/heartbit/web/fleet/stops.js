// The kill switch, and what is stopped now.

import { WORKSPACE } from "../api.js";
import { el, icon } from "../dom.js";
import { ago } from "../words.js";
import { ask } from "./ask.js";

const STOPPED = "No run starts, and what is at work is handed back as soon as its turn is complete. Nothing is lost: it all goes on where it was when the stop is ended.";

/** Buttons that stop this workspace, or everything. */
export function stops(now, act) {
  const all = now.some((one) => one.kind === "all");
  const here = now.some((one) => one.kind === "workspace" && one.name === WORKSPACE);
  return [
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

/** What is stopped now, each with the button that ends it. */
export function pauses(now, act) {
  return now.filter((one) => one.kind !== "queue").map((one) => {
    const all = one.kind === "all";
    const path = all ? "/fleet/continue" : `/fleet/workspaces/${one.name}/continue`;
    return el("div.problem.stopped", { role: "alert" }, icon("stop_circle"),
      el("p", {}, el("b", {}, all ? "Everything is stopped" : `The workspace ${one.name} is stopped`),
        ` by ${one.by}, ${ago(one.at)}`, one.reason ? `: ${one.reason}` : ""),
      el("button.button", { type: "button", onclick: () => act(path, undefined, "It goes on.") }, icon("play_arrow"), all ? "Let everything go on" : "Let it go on"));
  });
}
