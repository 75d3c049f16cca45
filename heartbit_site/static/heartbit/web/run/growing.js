// Text that grows as a model writes it, without a redraw.

/** Set the text of a text node; a common beginning stays untouched. */
export function grow(node, text) {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}
