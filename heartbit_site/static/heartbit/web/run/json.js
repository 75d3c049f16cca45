// Values and texts in readable form.

import { seen } from "../approvals/pieces.js";
import { el } from "../dom.js";

const LONGEST = 100000;

/** Return JSON text indented, and other text unchanged. */
export function pretty(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/** Return a block of code with hidden characters marked; a very long text is cut, with a note. */
export function code(text, label) {
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${(text.length - LONGEST).toLocaleString("en")} characters more` : text;
  return el("pre.code", { tabindex: "0", "aria-label": label }, seen(shown));
}

/** Return a JSON object's values: multi-line texts as they are, each below its name, the rest as JSON. */
export function values(text, label) {
  const value = objectIn(text);
  const texts = Object.entries(value).filter(([, one]) => typeof one === "string" && one.trim().includes("\n"));
  if (!texts.length) return code(pretty(text), label);
  const rest = Object.entries(value).filter(([name]) => !texts.some(([other]) => other === name));
  return [rest.length ? code(JSON.stringify(Object.fromEntries(rest), null, 2), label) : null,
    texts.map(([name, one]) => [el("p.quiet", {}, seen(name)), code(one, `${label}: ${name}`)])];
}

function objectIn(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {}; // plain text, or malformed JSON of a model
  }
}
