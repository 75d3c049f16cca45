// A decision that can be taken back, until it is sent (docs/decisions/0066).

import { el, fill, icon } from "../dom.js";
import { seen } from "./pieces.js";

const GRACE_MS = 5000;
let last = null; // the held decision: {send, undo}
addEventListener("pagehide", () => last?.send());

/**
 * Hold a decision, with a button to take it back.
 * @param {HTMLElement} place Shows the decision and the button.
 * @param {string} said e.g. "Approve: Refund 12 EUR".
 * @param {() => Promise<object>} send
 * @returns {Promise<object|null>} The decision; null: it was taken back.
 * @throws {import("../api.js").Refusal} As `send` does.
 */
export function hold(place, said, send) {
  last?.send();
  return new Promise((resolve, reject) => {
    const undo = el("button.button", { type: "button", data: { act: "undo" }, onclick: () => end(() => line.remove() ?? resolve(null)) }, icon("undo"), "Undo");
    const line = el("p.grace", {}, el("span.clip", {}, seen(said)), undo);
    const mine = { undo, send: () => end(sendNow) };
    const timer = setTimeout(mine.send, GRACE_MS);
    last = mine;
    fill(place, line);

    function end(then) {
      if (last !== mine) return;
      last = null;
      clearTimeout(timer);
      then();
    }

    function sendNow() {
      undo.remove();
      send().then(resolve, reject).finally(() => setTimeout(() => line.remove(), GRACE_MS));
    }
  });
}

/** Take the held decision back; return true if there was one. */
export function takeBack() {
  const some = last !== null;
  last?.undo.click();
  return some;
}
