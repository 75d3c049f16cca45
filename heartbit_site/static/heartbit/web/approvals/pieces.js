// Texts as elements, with hidden characters marked.

import { el } from "../dom.js";
import { pieces } from "./visible.js";

/** Return pieces ({text, escaped}) as nodes; an escape is marked and named. */
export function nodes(parts) {
  return parts.map(({ text, escaped }) => (escaped ? el("span.escape", { title: "A character that cannot be seen" }, text) : text));
}

/** Return a text as nodes, with its hidden characters marked. */
export function seen(text) {
  return nodes(pieces(text));
}
