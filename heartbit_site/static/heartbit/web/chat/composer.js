// Input for a message: Enter sends it, Shift+Enter begins a line, files can be attached.

import { el, fill, icon } from "../dom.js";
import { attachments } from "./attachments.js";

const WAYS = [["steer", "tell it now"], ["queue", "answer it afterwards"], ["interrupt", "stop, and answer this instead"]];
const TALLEST = 240; // pixels

/**
 * Return the composer.
 * @param {{send: (body: {text: string, images: string[], documents: object}, way: string|null) => Promise<void>, stop: () => Promise<void>}} how
 *   `send` throws with a sentence; `way` is the handling of a message while the agent works.
 * @returns {{node: HTMLElement, state: (now: {agent: string, works: boolean, refused: string}) => void,
 *            focus: () => void, clear: () => void}}
 */
export function composer({ send, stop }) {
  let works = false;
  let sending = false;
  let refused = "";
  const field = el("textarea", { rows: "1", "aria-label": "Message", dir: "auto", oninput: grown, onkeydown: pressed });
  const problem = el("p.problem", { role: "alert", hidden: true });
  const hint = el("p.hint", { hidden: true });
  const node = el("form.composer", { onsubmit: submitted });
  const attached = attachments(node, able);
  const { clip } = attached;
  const way = el("select", { "aria-label": "While it works, a message is to" }, WAYS.map(([value, text]) => el("option", { value }, text)));
  const ways = el("span.ways", { hidden: true }, way);
  const keys = el("span.quiet.keys", {}, el("kbd", {}, "Enter"), " sends, ", el("kbd", {}, "Shift+Enter"), " new line");
  const halt = el("button.button.danger", { type: "button", hidden: true, onclick: halted }, icon("stop_circle"), "Stop");
  const go = el("button.button.primary", { type: "submit" }, icon("send"), "Send");
  fill(node, problem, hint, attached.node,
    el("div.box", {}, field, el("div.row", {}, clip, keys, el("span.fillup"), ways, halt, go)));

  function grown() {
    field.style.height = "auto";
    field.style.height = `${Math.min(TALLEST, field.scrollHeight + 2)}px`;
    able();
  }

  function able() {
    const empty = field.value.trim() === "" && attached.count() === 0;
    go.disabled = sending || empty || refused !== "";
    field.disabled = refused !== "";
    clip.disabled = refused !== "";
  }

  function pressed(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!go.disabled) node.requestSubmit();
  }

  async function submitted(event) {
    event.preventDefault();
    if (go.disabled) return;
    sending = true;
    problem.hidden = true;
    able();
    try {
      const files = await attached.body();
      await send({ text: field.value.trim(), ...files }, works ? way.value : null);
      clear();
    } catch (error) {
      fill(problem, error.message).hidden = false;
    } finally {
      sending = false;
      able();
      field.focus();
    }
  }

  async function halted() {
    halt.disabled = true;
    try {
      await stop();
    } catch (error) {
      fill(problem, error.message).hidden = false;
      halt.disabled = false;
    }
  }

  function clear() {
    field.value = "";
    problem.hidden = true;
    attached.clear();
    grown();
  }

  function state(now) {
    field.placeholder = now.works ? `Send ${now.agent} a message while it works` : `Message ${now.agent}`;
    if (now.works !== works) halt.disabled = false;
    works = now.works;
    refused = now.refused;
    ways.hidden = halt.hidden = !works;
    keys.hidden = works;
    fill(hint, refused).hidden = refused === "";
    able();
  }

  able();
  return { node, state, clear, focus: () => field.focus() };
}
