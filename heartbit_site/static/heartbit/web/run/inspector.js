// Parts that the server draws beside the answer of the chosen run: facts, artifacts, files, deliveries, shared values.

import { children } from "../morph.js";
import { fetched } from "./fragment.js";

const AGAIN_MS = 5000; // after a failure, and while a run is queued
const DELIVERING_MS = 3000;
const PAUSE_MS = 300; // between two requests

/** Draws them again when the run has gone on, one request at a time. */
export class Inspector {
  /**
   * @param {HTMLElement} element
   * @param {{drawn: string, show: () => void}} how `drawn` is the run, with its last event, that the server drew.
   */
  constructor(element, { drawn, show }) {
    Object.assign(this, { element, show, looks: 0, isBusy: false, drawn: drawn.split(" ")[0], wanted: null, shown: drawn });
  }

  /** Refresh when another run is chosen, or when it or its tree has got further. */
  draw(store, run, root) {
    const tree = store.rows(root);
    const results = tree.flatMap((row) => [...row.run.calls.values()]).filter(({ result }) => result != null).length;
    const look = run.status === "queued" ? Math.floor(Date.now() / AGAIN_MS) : "";
    const turns = [...run.turns.values()].filter(({ answered }) => answered).length;
    this.wanted = [run.id, run.status, turns, results, tree.filter((row) => row.run.ending).length, this.looks, look].join(" ");
    if (this.shown === `${run.id} ${run.seq}`) this.shown = this.wanted; // as the server drew it
    if (this.shown !== this.wanted && !this.isBusy) this.load(run.id);
  }

  /** Return the reason why a run is blocked, and its payload, as drawn. */
  of(id) {
    return this.drawn === id ? document.getElementById("beside-run").dataset : {};
  }

  async load(id) {
    this.isBusy = true;
    const { wanted } = this;
    const html = await fetched(`${id}/inspector/`);
    if (html === "") this.shown = wanted;
    if (html && wanted.split(" ")[0] === this.wanted.split(" ")[0]) this.take(id, html, wanted);
    await new Promise((resolve) => setTimeout(resolve, html === null ? AGAIN_MS : PAUSE_MS));
    this.isBusy = false;
    this.show();
  }

  take(id, html, wanted) {
    children(this.element, [...new DOMParser().parseFromString(html, "text/html").body.childNodes]);
    Object.assign(this, { drawn: id, shown: wanted });
    if (this.element.querySelector("[data-again]")) setTimeout(() => this.lookAgain(), DELIVERING_MS);
  }

  lookAgain() {
    this.looks += 1;
    this.show();
  }
}
