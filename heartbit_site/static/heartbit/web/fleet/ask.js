// A confirmation dialog that describes the consequences.

import { el } from "../dom.js";

/**
 * Ask for confirmation.
 * @param {{title: string, text: string, button: string, danger?: boolean, reason?: boolean,
 *          word?: string, fields?: Element[]}} what `reason` adds a field for a reason; `word` must be
 *   typed first; `fields` are the caller's own.
 * @returns {Promise<string|null>} The reason, or "" without one; null: no.
 */
export function ask({ title, text, button, danger = false, reason = false, word = "", fields = [] }) {
  return new Promise((answer) => {
    const why = reason
      ? el("input", { name: "reason", maxlength: 200, autocomplete: "off", placeholder: "Shown to people who see blocked runs" })
      : null;
    const typed = word ? el("input", { name: "word", autocomplete: "off", autocapitalize: "none", required: true, oninput: check }) : null;
    const yes = el(danger ? "button.button.danger" : "button.button.primary", { disabled: Boolean(word) }, button);
    const dialog = el("dialog.ask", { "aria-labelledby": "ask-title", onclose: close },
      el("form.inside.stack", { method: "dialog", onsubmit: () => { dialog.returnValue = "yes"; } },
        el("h2", { id: "ask-title" }, title),
        el("p", {}, text),
        ...fields,
        why && el("label", {}, "Reason", why),
        typed && el("label", {}, el("span", {}, "Type ", el("code", {}, word), " to confirm"), typed),
        el("div.actions", {}, yes,
          el("button.button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"))));

    function check() {
      yes.disabled = typed.value.trim() !== word;
    }
    function close() {
      dialog.remove();
      answer(dialog.returnValue === "yes" ? why?.value.trim() ?? "" : null);
    }
    document.body.append(dialog);
    dialog.showModal();
  });
}
