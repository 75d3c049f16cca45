// Text that grows as a model writes it, without being drawn anew.

/** Let a text node say a text; what it begins with already stays untouched. */
export function grow(node, text) {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}
