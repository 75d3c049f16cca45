// A confirmation dialog that stays open when the server refuses.

import { Refusal } from "../api.js";
import { el, fill, sentence } from "../dom.js";

let number = 0;

/**
 * Ask for confirmation.
 * @param {{title: string, label: string, danger?: boolean, body: any, send: (data: FormData) => Promise<any>}} how
 *   `label` is the button's text, `send` performs the action.
 */
export function ask({ title, label, danger = false, body, send }) {
  number += 1;
  const problem = el("div", { role: "alert" });
  const go = el(danger ? "button.button.danger" : "button.button.primary", {}, label);
  const form = el("form.inside.stack", {}, el("h2", { id: `ask-${number}` }, title), body, problem,
    el("div.actions", {}, go, el("button.button", { type: "button", onClick: () => box.close() }, "Close")));
  const box = el("dialog", { "aria-labelledby": `ask-${number}`, onClose: () => box.remove() }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    fill(problem);
    try {
      await send(new FormData(form));
      box.close();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      fill(problem, el("p.problem", {}, sentence(error.message)));
    } finally {
      go.disabled = false;
    }
  });
  document.body.append(box);
  box.showModal();
}
