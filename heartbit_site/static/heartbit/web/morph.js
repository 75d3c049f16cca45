// Make one element equal to another without losing a person's input: kept nodes remain the same
// nodes, so focus, selection, ticked boxes, typed text and open sections survive.

/**
 * @param {Element} old Element in the page.
 * @param {Element} now Element to copy; its new nodes are moved out of it.
 */
export function morph(old, now) {
  if (old.isEqualNode(now)) return;
  attributes(old, now);
  children(inside(old), [...inside(now).childNodes]);
}

/** Return the element with the children: the theme's scroll bars wrap them in extra elements. */
function inside(element) {
  return element.querySelector(":scope > .simplebar-wrapper .simplebar-content") ?? element;
}

/** Make the children of an element equal to others; match keyed ones at any position. */
export function children(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.children) {
    const key = keyOf(child);
    if (key) keyed.set(key, child);
  }
  let at = parent.firstChild;
  for (const now of wanted) {
    const key = keyOf(now);
    const match = key ? keyed.get(key) : fits(at, now) ? at : null;
    if (match && match.nodeName === now.nodeName) {
      if (match !== at) parent.insertBefore(match, at);
      else at = at.nextSibling;
      keyed.delete(key);
      if (match.nodeType === Node.ELEMENT_NODE) morph(match, now);
      else if (match.data !== now.data) match.data = now.data;
    } else {
      parent.insertBefore(document.adoptNode(now), at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

/** Return true if a node without a key may be turned into the other node. */
function fits(old, now) {
  return old && old.nodeName === now.nodeName && !keyOf(old);
}

/** Return a node's key: its id, or a row's checkbox or link; empty for text and the like. */
export function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  if (node.id) return node.id;
  if (node.dataset.call) return `call ${node.dataset.call}`;
  if (node.dataset.row) return `row ${node.dataset.row}`;
  if (!node.matches("tbody, tr")) return "";
  const box = node.querySelector("input.action-select");
  return box ? `row ${box.value}` : node.querySelector("th a[href], td a[href]")?.getAttribute("href") ?? "";
}

function attributes(old, now) {
  // Set by the page's own scripts: scroll bars, visibility, open sections.
  if (old.hasAttribute("data-simplebar")) return;
  const isScripted = [...old.attributes].some(({ name }) => name.startsWith("x-"));
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !isKept(old, name, isScripted)) old.removeAttribute(name);
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value && !isKept(old, name, isScripted)) old.setAttribute(name, value);
  }
}

function isKept(element, name, isScripted) {
  if (name === "style") return isScripted;
  if (name === "open") return element.matches("details, dialog");
  return (name === "value" || name === "checked") && element.matches("input, textarea, select");
}
