// Elements without markup: text is always text, so nothing written by a model can become HTML.

/**
 * Create an element.
 * @param {string} tag e.g. "button", or "button.primary" with classes.
 * @param {object} [properties] Attributes; `on*` are listeners, `data` a data set, null is omitted.
 * @param {...(Node|string|number|null|Array)} children Nodes and texts.
 */
export function el(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) set(made, key, value);
  made.append(...nodes(children));
  return made;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith("on")) element.addEventListener(key.slice(2).toLowerCase(), value);
  else if (key === "data") Object.assign(element.dataset, value);
  else if (key === "value") element.value = value;
  else element.setAttribute(key, value === true ? "" : value);
}

function nodes(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (one instanceof Node ? one : document.createTextNode(String(one))));
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Return a symbol of the icon font; decorative, so without a name. */
export function icon(name) {
  return el("span.icon", { "aria-hidden": "true" }, name);
}

/** Return a sentence as nodes; text in backticks, such as a command, becomes code. */
export function sentence(text) {
  return text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

const TONES = {
  running: "info", waiting: "primary", succeeded: "success", failed: "danger",
  cancelled: "warning", quarantined: "danger", ok: "success", error: "danger",
  "waits for you": "warning", "waits for sub-agents": "info", timeout: "danger", delivered: "success", invalid: "warning", refused: "warning", uncertain: "warning",
};

/** Return a small coloured label of a status, with its word as the server writes it. */
export function pill(status) {
  return el(`span.pill.${TONES[status] ?? "neutral"}`, {}, status[0].toUpperCase() + status.slice(1).replaceAll("_", " "));
}

/** Show a short note at the edge of the page; screen readers announce it. */
export function note(text, tone = "info") {
  const box = el(`p.note.${tone}`, {}, sentence(text));
  document.getElementById("notes").append(box);
  setTimeout(() => box.remove(), tone === "danger" ? 10000 : 5000);
}
