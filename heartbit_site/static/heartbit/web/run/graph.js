// The graph of a workflow's run: its nodes show their states, and open their details.

import { WORKSPACE } from "../api.js";
import { el, fill } from "../dom.js";
import { NodeDetails } from "./node-details.js";
import { described } from "./node-words.js";

const WIDE = matchMedia("(min-width: 1200px)");
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Card of the graph; hidden for runs that have none. */
export class Graph {
  /** @param {HTMLElement} beside Place of the details of a node if there is room. */
  constructor(beside) {
    Object.assign(this, { run: null, beside });
    this.forget();
    this.box = el("div.graph-box");
    this.details = new NodeDetails(() => this.close());
    this.drawn = document.querySelector("[data-part=graph] svg")?.cloneNode(true); // with the page
    this.element = el("section.card.graph", { "aria-label": "Graph", hidden: true },
      el("header", {}, el("h2", {}, "Graph"), el("span.quiet", {}, "Select a node to see its input, output and run.")), this.box, this.details.element);
    if (this.drawn) {
      this.element.hidden = false;
      this.box.append(this.drawn.cloneNode(true));
    }
  }

  /** Show the graph of a run, with what has changed in it. */
  draw(run) {
    if (run.kind !== "workflow") {
      this.element.hidden = true;
      return;
    }
    if (this.run !== run) {
      this.run = run;
      this.forget();
      this.details.hide();
      this.beside.hidden = true;
      this.load(run);
    }
    if (!this.nodes.size) return;
    const begun = [...run.nodes].filter(([name, part]) => this.colour(name, part));
    if (begun.length && !this.opened) this.reveal();
    for (; this.read < run.events.length; this.read += 1) this.follow(run.events[this.read]);
    if (this.opened) this.details.show(run, this.opened);
  }

  forget() {
    Object.assign(this, { nodes: new Map(), edges: new Map(), parts: new Map(), signs: {}, read: 0, opened: "" });
  }

  /** Fetch the drawing of the run's version, once. */
  async load(run) {
    const isDrawn = run.id === document.getElementById("run").dataset.run;
    const svg = (isDrawn && this.drawn?.cloneNode(true)) || await this.fetch(run);
    if (this.run !== run || !svg) return;
    this.element.hidden = false;
    this.prepare(svg);
    fill(this.box, svg);
    this.draw(run);
    this.reveal();
  }

  async fetch(run) {
    const answer = await fetch(`/w/${WORKSPACE}/runs/${run.id}/drawing/`, { credentials: "same-origin" }).catch(() => null);
    const text = answer && (answer.ok || answer.status === 422) ? await answer.text() : "";
    if (this.run !== run) return null;
    this.element.hidden = !text;
    if (text && !answer.ok) fill(this.box, el("p.quiet.inside", {}, text));
    return answer?.ok && text ? document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true) : null;
  }

  /** Make the nodes buttons; the arrow keys move between them. */
  prepare(svg) {
    svg.setAttribute("role", "group");
    this.signs = JSON.parse(svg.dataset.signs);
    for (const node of svg.querySelectorAll("[data-node]")) {
      node.querySelector("title").remove(); // its name is said, and shown as its details
      node.setAttribute("role", "button");
      node.setAttribute("aria-pressed", "false");
      node.setAttribute("aria-label", described(node.dataset.label));
      node.setAttribute("tabindex", this.nodes.size ? "-1" : "0");
      node.addEventListener("click", () => this.open(node.dataset.node));
      node.addEventListener("keydown", (event) => this.press(event, node));
      this.nodes.set(node.dataset.node, node);
    }
    for (const edge of svg.querySelectorAll(".edge")) this.edges.set(`${edge.dataset.from}\n${edge.dataset.to}`, edge);
  }

  /** Show the state of a node; return true if something of it has begun. */
  colour(name, part) {
    const node = this.nodes.get(name);
    if (!node || this.parts.get(name) === part) return false;
    const isNew = node.dataset.state !== part.state;
    this.parts.set(name, part);
    node.dataset.state = part.state;
    node.setAttribute("aria-label", described(node.dataset.label, part));
    node.querySelector(".sign").setAttribute("d", this.signs[part.state]);
    node.querySelector(".visits").textContent = part.visits > 1 ? `${part.visits}×` : "";
    return isNew && ["asks", "running"].includes(part.state);
  }

  /** Mark the edges that a commit's messages took. */
  follow({ event, payload }) {
    if (event !== "graph.committed") return;
    const failed = (payload.finished ?? []).map((id) => this.run.calls.get(id)).filter((call) => call?.status === "error");
    for (const { node, message } of payload.next ?? []) {
      if (message?.call === "input") this.mark("start", `node ${node}`);
      for (const { tool } of failed) this.mark(`node ${tool}`, `node ${node}`, "is-error");
    }
    for (const { edge, source, target } of payload.taken ?? []) {
      this.mark(`node ${source}`, `node ${target}`);
      this.mark(`node ${source}`, `join ${edge}`);
      this.mark(`join ${edge}`, `node ${target}`);
    }
    for (const { node } of payload.yields ?? []) this.mark(`node ${node}`, `end ${node}`);
  }

  mark(from, to, kind = "edge") {
    const edge = this.edges.get(`${from}\n${to}`);
    if (edge?.classList.contains(kind)) edge.classList.add("is-taken");
  }

  press(event, node) {
    const all = [...this.nodes.values()];
    const step = STEPS[event.key];
    if (event.key === "Enter" || event.key === " ") this.open(node.dataset.node);
    else if (event.key === "Escape") this.close();
    else if (step) this.focus(all[(all.indexOf(node) + step + all.length) % all.length]);
    else return;
    event.preventDefault();
  }

  focus(node) {
    for (const one of this.nodes.values()) one.setAttribute("tabindex", one === node ? "0" : "-1");
    node.focus();
  }

  open(name) {
    const isSame = this.opened === name;
    this.beside.hidden = isSame || !WIDE.matches;
    (this.beside.hidden ? this.element : this.beside).append(this.details.element);
    this.setPressed(this.opened, false);
    this.opened = isSame ? "" : name;
    this.setPressed(this.opened, true);
    if (isSame) this.details.hide();
    else this.details.show(this.run, name);
    this.focus(this.nodes.get(name));
    if (!isSame) this.details.element.focus({ preventScroll: WIDE.matches });
  }

  setPressed(name, is) {
    this.nodes.get(name)?.setAttribute("aria-pressed", String(is));
  }

  close() {
    if (this.opened) this.open(this.opened);
  }

  /** Scroll to a node with something open, unless it is visible: to a question first. */
  reveal() {
    const node = this.box.querySelector("[data-state=asks]") ?? this.box.querySelector("[data-state=running]");
    if (!node) return;
    const [one, box] = [node.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (one.left >= box.left && one.right <= box.right && one.top >= box.top && one.bottom <= box.bottom) return;
    this.box.scrollLeft += one.left - box.left - (box.width - one.width) / 2;
    this.box.scrollTop += one.top - box.top - (box.height - one.height) / 2;
  }
}
