// Values and texts as a person reads them.

import { seen } from "../approvals/pieces.js";
import { el } from "../dom.js";

const LONGEST = 100000;

/** JSON text, indented; what is no JSON stays as it is. */
export function pretty(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/** A block of code with hidden characters marked; of a very long text the beginning, and what it is cut by. */
export function code(text, label) {
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${(text.length - LONGEST).toLocaleString("en")} characters more` : text;
  return el("pre.code", { tabindex: "0", "aria-label": label }, seen(shown));
}
