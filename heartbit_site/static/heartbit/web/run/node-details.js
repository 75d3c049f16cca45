// The details of a node: its visits with their input, output, retries and child runs, as the server draws them.

import { el } from "../dom.js";
import { children } from "../morph.js";
import { fetched } from "./fragment.js";

/** Box of the chosen node. */
export class NodeDetails {
  /** @param {() => void} close Closes the box. */
  constructor(close) {
    this.shown = "";
    this.element = el("div.card.inside.stack.node-details", { hidden: true, tabindex: "-1", role: "region", "aria-label": "Node" });
    this.element.addEventListener("click", ({ target }) => target.closest("[data-close]") && close());
    this.element.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  }

  hide() {
    this.element.hidden = true;
    this.shown = "";
    this.element.replaceChildren();
  }

  /** Show a node as it is now. */
  async show(run, name) {
    const now = JSON.stringify([run.id, name, run.nodes.get(name), [...run.calls.values()].filter(({ tool }) => tool === name).map(({ status }) => status)]);
    if (now === this.shown) return;
    this.shown = now;
    this.element.hidden = false;
    this.element.setAttribute("aria-label", `Node ${name}`);
    const html = await fetched(`${run.id}/nodes/?${new URLSearchParams({ name })}`);
    if (html && now === this.shown) children(this.element, [...new DOMParser().parseFromString(html, "text/html").body.childNodes]);
  }
}
