// The inbox's keyboard shortcuts. Pure except for the document's key events.

export const KEYS = [["j", "the next call"], ["k", "the one before"], ["a", "approve or answer it"], ["e", "edit its arguments"], ["d", "deny it"], ["t", "try it without keeping it"], ["Escape", "close a form"], ["?", "these keys"]];
/** Shortcuts that decide nothing. */
export const LOOKS = new Set(["j", "k", "?"]);

/**
 * Call back for keys pressed outside of fields, without modifiers.
 * @param {(key: string) => boolean} pressed Returns true if it handled the key.
 */
export function onKey(pressed) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !"jk".includes(event.key)) return;
    const writing = event.target.closest("input, select, textarea, dialog[open]");
    if (writing && event.key !== "Escape") return;
    if (pressed(event.key)) event.preventDefault();
  });
}
