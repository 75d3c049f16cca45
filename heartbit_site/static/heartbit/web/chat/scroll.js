// A list that stays at its newest line, unless the reader has scrolled up.

import { el, icon } from "../dom.js";

const NEAR = 48; // pixels from the end that count as the end

/**
 * Keep an element scrolled to its end while its content grows.
 * @param {HTMLElement} scroller Scrolling element.
 * @param {HTMLElement} content Growing element in it.
 * @returns {{button: HTMLElement, toEnd: () => void, keepPlace: (change: () => void) => void}}
 *   A button that jumps to the end; `keepPlace` keeps the position while content is added above.
 */
export function stick(scroller, content) {
  let atEnd = true;
  const button = el("button.button.newest", { type: "button", hidden: true, onclick: toEnd }, icon("arrow_downward"), "Jump to the newest");
  function toEnd() {
    atEnd = true;
    scroller.scrollTop = scroller.scrollHeight;
    button.hidden = true;
  }
  scroller.addEventListener("scroll", () => {
    atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
    button.hidden = atEnd;
  }, { passive: true });
  const watch = new ResizeObserver(() => {
    if (atEnd) toEnd();
    else button.hidden = false;
  });
  watch.observe(content);
  watch.observe(scroller);
  function keepPlace(change) {
    const below = scroller.scrollHeight - scroller.scrollTop;
    change();
    scroller.scrollTop = scroller.scrollHeight - below;
  }
  return { button, toEnd, keepPlace };
}
