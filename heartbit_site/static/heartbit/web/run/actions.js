// Actions on a run that its status and the person's role allow.

import { api, may } from "../api.js";
import { el, fill, icon, note } from "../dom.js";
import { ask } from "./ask.js";
import { visit } from "./visit.js";

const LIVE = new Set(["queued", "running", "waiting"]);

/** The buttons of a run. */
export class Actions {
  /** @param {{again: () => void, element: HTMLElement}} how `again` is called when an ended run continues. */
  constructor({ again, element }) {
    Object.assign(this, { again, element, shown: "" });
  }

  /** Show the actions that are possible now. */
  draw(run) {
    const now = `${run.id} ${run.takes_messages} ${run.status} ${run.turns.size}`;
    if (now === this.shown) return;
    this.shown = now;
    const isLive = LIVE.has(run.status), isHeld = run.status === "quarantined";
    const begins = may(this.element.closest("[data-test]") ? "agents:write" : "runs:write"); // as the server's _buttons
    fill(this.element, may("runs:write") ? [
      begins && run.takes_messages ? button("chat", "Send it a message", () => steer(run)) : null,
      isHeld ? button("play_circle", "Resume it", () => this.resume(run)) : null,
      isHeld ? button("delete", "Discard it", () => discard(run)) : null,
      isLive || !begins ? null : button("replay", "Retry", () => retry(run)),
      run.events.length && begins ? el("a.button", { href: `../${run.id}/fork/` }, icon("fork_right"), "Fork") : null,
      isLive ? button("stop_circle", "Cancel", () => cancel(run), "danger") : null,
    ] : null);
  }

  async resume(run) {
    ask({
      title: "Resume it?", label: "Resume it",
      body: el("p", {}, "Its workers crashed repeatedly. It continues where it was, in a process of its own."),
      send: async () => {
        await api(`/runs/${run.id}/unquarantine`, { method: "POST" });
        this.again();
      },
    });
  }
}

function button(sign, label, act, tone) {
  return el(tone ? `button.button.${tone}` : "button.button", { type: "button", onClick: act }, icon(sign), label);
}

function cancel(run) {
  ask({
    title: "Cancel this run?", label: "Cancel the run", danger: true,
    body: el("p", {}, "It stops with its sub-agents. Their output so far stays here."),
    send: () => api(`/runs/${run.id}/cancel`, { method: "POST" }),
  });
}

function steer(run) {
  ask({
    title: "Send it a message", label: "Send",
    body: el("label", {}, "Its next model call sees this", el("textarea", { name: "text", required: true, maxlength: 20000, autofocus: true })),
    send: async (data) => {
      await api(`/runs/${run.id}/steer`, { method: "POST", body: { text: data.get("text") } });
      note("Sent: the run's next model call sees it.", "success");
    },
  });
}

function retry(run) {
  ask({
    title: "Do the task again?", label: "Retry",
    body: el("p", {}, "A new run of the same task, on the same version of the agent, from the beginning.",
      run.status === "quarantined" ? " This run is discarded." : ""),
    send: async () => visit(await api(`/runs/${run.id}/retry`, { method: "POST" })),
  });
}

function discard(run) {
  ask({
    title: "Discard it?", label: "Discard it", danger: true,
    body: el("p", {}, "It counts as cancelled. Its journal stays."),
    send: () => api(`/runs/${run.id}/discard`, { method: "POST" }),
  });
}
