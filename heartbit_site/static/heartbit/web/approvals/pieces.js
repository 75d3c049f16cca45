// Texts as elements, with hidden characters marked.

import { el, sentence } from "../dom.js";
import { pieces } from "./visible.js";

/** Return pieces ({text, escaped}) as nodes; an escape is marked and named. */
export function nodes(parts) {
  return parts.map(({ text, escaped }) => (escaped ? el("span.escape", { title: "A character that cannot be seen" }, text) : text));
}

/** Return pieces of a sentence of Heartbit's as nodes: text in backticks becomes code. */
export function prose(parts) {
  return parts.map((one) => (one.escaped ? nodes([one]) : sentence(one.text)));
}

/** Return a text as nodes, with its hidden characters marked. */
export function seen(text) {
  return nodes(pieces(text));
}
