// Header of a conversation: agent, title and actions.

import { api, may } from "../api.js";
import { el, fill, icon, note } from "../dom.js";
import { chatAddress, go } from "./places.js";

/**
 * Return the header of a thread.
 * @param {{changed: () => void, deleted: (conversation: string) => void}} how
 * @returns {{node: HTMLElement, show: (agent: object, conversation: object|null) => void}}
 */
export function threadHead({ changed, deleted }) {
  const node = el("header.thread-head");

  function show(agent, found) {
    fill(node,
      el("a.iconic.back", { href: chatAddress(agent.name), data: { go: "" }, "aria-label": "Back to the conversations" }, icon("arrow_back")),
      el("div.titles", {}, el("h2.clip", { dir: "auto" }, found ? found.heading || "Conversation" : "New conversation"), el("p.quiet.clip", {}, `with ${agent.name}${found?.private ? ", private to you" : ""}`)),
      found && may("runs:write") && el("div.actions", {},
        el("button.iconic", { type: "button", "aria-label": "Rename", title: "Rename", onclick: () => rename(found) }, icon("edit")),
        el("button.iconic", { type: "button", "aria-label": "Delete", title: "Delete", onclick: () => remove(agent, found) }, icon("delete"))));
  }

  function rename(found) {
    const title = el("input", { maxlength: "200", value: found.title || found.heading, autocomplete: "off" });
    ask("Rename the conversation", el("label", {}, "Title", title), "Rename", async () => {
      await api(`/conversations/${found.id}`, { method: "PATCH", body: { title: title.value.trim() } });
      changed();
    });
  }

  function remove(agent, found) {
    const text = el("p", {}, "The conversation is deleted for everyone in the workspace. Its runs stay in the list of runs, with their cost.");
    ask("Delete the conversation?", text, "Delete", async () => {
      await api(`/conversations/${found.id}`, { method: "DELETE" });
      note("The conversation is deleted.", "success");
      deleted(found.id);
      go(chatAddress(agent.name));
    });
  }
  return { node, show };
}

function ask(title, content, label, act) {
  const problem = el("p.problem", { role: "alert", hidden: true });
  const box = el("dialog", { "aria-label": title, onclose: () => box.remove() },
    el("form.inside.stack", { method: "dialog", onsubmit: done }, el("h2", {}, title), content, problem,
      el("div.actions", {}, el("button.button.primary", {}, label), el("button.button", { type: "button", onclick: () => box.close() }, "Cancel"))));
  async function done(event) {
    event.preventDefault();
    try {
      await act();
      box.close();
    } catch (error) {
      fill(problem, error.message).hidden = false;
    }
  }
  document.body.append(box);
  box.showModal();
}
