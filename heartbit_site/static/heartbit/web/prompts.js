// Prompts at the edge of every admin page for calls that began to wait while a person is there.
// A prompt that was not dismissed is shown on the next page, too.

import { el, fill } from "./dom.js";
import { children } from "./morph.js";
import { Soon } from "./soon.js";

const AFTER = "heartbit-prompts-after"; // last wait that gets no prompt
const DISMISSED = "heartbit-prompts-dismissed";
const SAID_MS = 8000;

export class Prompts {
  /** @param {HTMLElement} place Element with the URL of the prompts and the token for decisions. */
  constructor(place) {
    this.place = place;
    this.look = new Soon(() => this.fetch());
    place.addEventListener("click", ({ target }) => this.clicked(target.closest("button[data-act]")));
    place.addEventListener("submit", (event) => {
      event.preventDefault();
      this.decide(event.target.closest("article"), { verdict: "deny", reason: event.target.reason.value });
    });
    place.addEventListener("keydown", ({ key, target }) => {
      const prompt = target.closest("article");
      if (key === "Escape" && prompt) this.dismiss(prompt);
    });
  }

  async fetch() {
    const shown = [...this.place.children].filter((one) => !one.dataset.said).map((one) => one.dataset.call);
    const after = sessionStorage.getItem(AFTER) ?? "";
    const query = new URLSearchParams({ after, shown: shown.join(), dismissed: remembered().join() });
    const answer = await fetch(`${this.place.dataset.href}?${query}`, { headers: { "Heartbit-Live": "prompts" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(`${answer.status}`); // retried
    if (answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild;
    if (!fresh) return; // nothing is new
    this.place.dataset.newest = fresh.dataset.newest;
    if (sessionStorage.getItem(AFTER) === null) sessionStorage.setItem(AFTER, fresh.dataset.newest);
    const over = new Map([...fresh.querySelectorAll("[data-over]")].map((one) => [one.dataset.over, one.textContent]));
    this.show([...fresh.querySelectorAll("[data-call]")], over);
  }

  show(wanted, over) {
    const dismissed = remembered();
    const said = [...this.place.children].filter((one) => one.dataset.said || over.has(one.dataset.call));
    for (const one of said) if (!one.dataset.said) this.say(one, over.get(one.dataset.call));
    const ids = new Set(said.map((one) => one.dataset.call));
    children(this.place, [...said, ...wanted.filter(({ dataset: { call } }) => !ids.has(call) && !dismissed.includes(call))]);
  }

  clicked(button) {
    const prompt = button?.closest("article");
    if (!prompt) return;
    if (button.dataset.act === "dismiss") this.dismiss(prompt);
    if (button.dataset.act === "approve") this.decide(prompt, { verdict: "approve" });
  }

  dismiss(prompt) {
    sessionStorage.setItem(DISMISSED, JSON.stringify([...remembered(), prompt.dataset.call].slice(-200)));
    const next = prompt.nextElementSibling ?? prompt.previousElementSibling;
    const hadFocus = prompt.contains(document.activeElement);
    prompt.remove();
    this.look.ask(); // shows the next prompt, if any
    if (hadFocus) next?.querySelector("button, a")?.focus();
  }

  /** Send a decision like the web pages, and show its result. */
  async decide(prompt, decision) {
    const { run, callId, digest, workspace } = prompt.dataset;
    const buttons = [...prompt.querySelectorAll("button, textarea")];
    for (const one of buttons) one.disabled = true;
    try {
      const answer = await fetch(`/api/v1/runs/${run}/calls/${encodeURIComponent(callId)}/decision`, {
        method: "POST", credentials: "same-origin", body: JSON.stringify({ digest, ...decision }),
        headers: { "Content-Type": "application/json", "Heartbit-Workspace": workspace, "X-CSRFToken": document.body.dataset.csrf },
      });
      const said = await answer.json();
      if (answer.ok) this.say(prompt, outcome(decision, said), "success");
      else if (answer.status === 409) this.say(prompt, said.detail);
      else this.refuse(prompt, buttons, said.detail ?? "The server refused the decision.");
    } catch {
      this.refuse(prompt, buttons, "The server does not answer: the decision may not have been stored.");
    }
  }

  refuse(prompt, buttons, sentence) {
    for (const one of buttons) one.disabled = false;
    prompt.querySelector("[role=alert]")?.remove();
    prompt.querySelector(".hb-decide").before(el("p.problem", { role: "alert" }, sentence));
  }

  /** Replace a prompt for a while by one sentence about the call's outcome. */
  say(prompt, sentence, tone = "warning") {
    prompt.dataset.said = "1";
    prompt.classList.add(`hb-said-${tone}`);
    const hadFocus = prompt.contains(document.activeElement);
    fill(prompt.querySelector(".inside"), el("p", {}, sentence));
    if (hadFocus) prompt.querySelector("[data-act=dismiss]").focus();
    setTimeout(() => prompt.contains(document.activeElement) || prompt.remove(), SAID_MS);
  }
}

function outcome({ verdict }, { remaining_approvals: missing }) {
  if (verdict === "deny") return "Denied; the model gets the reason.";
  if (missing) return `Your approval is stored; ${missing} more ${missing === 1 ? "person has" : "people have"} to approve.`;
  return "Approved; the run continues.";
}

function remembered() {
  return JSON.parse(sessionStorage.getItem(DISMISSED) ?? "[]");
}
