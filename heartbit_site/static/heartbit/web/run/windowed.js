// A long list of rows of equal height; only visible rows have elements.

import { el } from "../dom.js";

const BEYOND = 8;

/** A scrolling box of rows. */
export class Windowed {
  /**
   * @param {{height: number, label: string, make: (item: any) => {element: HTMLElement, update: (item: any) => void}}} how
   *   `height` in pixels; `make` builds the view of an item, whose `update` gets later changes.
   */
  constructor({ height, label, make }) {
    Object.assign(this, { height, make, items: [], views: new Map() });
    this.inner = el("div.windowed-inner");
    this.element = el("div.windowed", { tabindex: "0", role: "region", "aria-label": label }, this.inner);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Show these items; each has a `key`. */
  show(items) {
    this.items = items;
    this.inner.style.height = `${items.length * this.height}px`;
    this.draw();
  }

  /** Scroll an item into view. */
  reveal(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight) this.element.scrollTop = Math.max(0, top - clientHeight / 2);
  }

  /** Create visible rows and remove the others. */
  draw() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.height) + BEYOND);
    const kept = new Set();
    for (let index = first; index < last; index += 1) {
      const item = this.items[index];
      kept.add(item.key);
      let view = this.views.get(item.key);
      if (view) view.update(item);
      else {
        view = this.make(item);
        this.views.set(item.key, view);
        this.inner.append(view.element);
      }
      view.element.style.transform = `translateY(${index * this.height}px)`;
    }
    for (const [key, view] of this.views) {
      if (kept.has(key)) continue;
      view.element.remove();
      this.views.delete(key);
    }
  }
}
