// Texts in pieces as elements: what a text hid is marked as hidden.

import { el } from "../dom.js";
import { pieces } from "./visible.js";

/** Pieces ({text, escaped}) as nodes; an escape is marked and named. */
export function nodes(parts) {
  return parts.map(({ text, escaped }) => (escaped ? el("span.escape", { title: "A character that cannot be seen" }, text) : text));
}

/** Any text as nodes, its hidden characters marked. */
export function seen(text) {
  return nodes(pieces(text));
}
