// The inbox's keyboard shortcuts. Pure except for the document's key events.

export const KEYS = [["j", "the next call"], ["k", "the one before"], ["a", "approve or answer it"], ["e", "edit its arguments"], ["d", "deny it"], ["u", "undo the last decision"], ["t", "try it without keeping it"], ["Escape", "close a form"], ["?", "these keys"]];
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

const LEAST = 60; // pixels of a swipe

/** Call back with 1 or -1 when a finger swipes to the left or to the right, outside of fields. */
export function onSwipe(element, swiped) {
  let from = null;
  element.addEventListener("touchstart", ({ touches, target }) => {
    from = touches.length === 1 && !target.closest("input, textarea, select, .scroll") ? touches[0] : null;
  }, { passive: true });
  element.addEventListener("touchend", ({ changedTouches: [to] }) => {
    const [x, y] = from ? [to.clientX - from.clientX, to.clientY - from.clientY] : [0, 0];
    if (Math.abs(x) > LEAST && Math.abs(x) > 2 * Math.abs(y)) swiped(x < 0 ? 1 : -1);
  }, { passive: true });
}
