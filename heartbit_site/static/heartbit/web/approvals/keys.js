// The inbox's keys and swipes.

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

/** Call back with 1 or -1 when a finger swipes to the left or to the right, outside of fields. */
export function onSwipe(element, swiped) {
  let from = null;
  element.addEventListener("touchstart", ({ touches, target }) => {
    from = touches.length === 1 && !target.closest("input, textarea, select, .scroll") ? touches[0] : null;
  }, { passive: true });
  element.addEventListener("touchend", ({ changedTouches: [to] }) => {
    const [x, y] = from ? [to.clientX - from.clientX, to.clientY - from.clientY] : [0, 0];
    if (Math.abs(x) > 60 && Math.abs(x) > 2 * Math.abs(y)) swiped(x < 0 ? 1 : -1);
  }, { passive: true });
}
