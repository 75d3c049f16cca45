// Time of runs as coloured bars on one scale.

import { el, fill } from "../dom.js";
import { duration } from "../words.js";
import { KINDS } from "./spans.js";

const TICKS = 4;

/**
 * Draw spans into a track.
 * @param {HTMLElement} track
 * @param {Array<{kind: string, from: number, to: number}>} spans
 * @param {{begin: number, whole: number}} scale Milliseconds.
 */
export function bars(track, spans, { begin, whole }) {
  fill(track, spans.map((span) => {
    const bar = el(`span.bar.${span.kind}`, { title: `${KINDS[span.kind]}: ${duration(span.to - span.from)}` });
    bar.style.left = `${(100 * (span.from - begin)) / whole}%`;
    bar.style.width = `${(100 * (span.to - span.from)) / whole}%`;
    return bar;
  }));
}

/** Return the scale above the bars. */
export function axis({ whole }) {
  const ticks = Array.from({ length: TICKS }, (_, index) => {
    const tick = el("span.tick", {}, index ? duration((whole * index) / TICKS) : "0");
    tick.style.left = `${(100 * index) / TICKS}%`;
    return tick;
  });
  return el("div.axis", { "aria-hidden": "true" }, ticks);
}

/**
 * Return the legend of the colours, with the time of each in the selected run.
 * @param {Set<string>} kinds Kinds to show.
 * @param {Map<string, number>} sums Milliseconds.
 */
export function legend(kinds, sums) {
  return el("ul.legend", { "aria-label": "Where the time went" }, Object.entries(KINDS).filter(([kind]) => kinds.has(kind))
    .map(([kind, name]) => el("li", {}, el(`span.swatch.${kind}`, { "aria-hidden": "true" }), `${name} `,
      sums.has(kind) ? el("span.number.quiet", {}, duration(sums.get(kind))) : null)));
}

/** Return the time of each kind in one run. */
export function sumsOf(spans) {
  const sums = new Map();
  for (const { kind, from, to } of spans) sums.set(kind, (sums.get(kind) ?? 0) + to - from);
  return sums;
}
