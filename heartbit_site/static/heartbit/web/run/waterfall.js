// Time of runs as coloured bars on one scale.

import { el, fill } from "../dom.js";
import { duration } from "../words.js";
import { KINDS } from "./spans.js";

const TICKS = 3;
const APART = 26; // percent between a tick and the mark of a break

/**
 * Draw spans into a track.
 * @param {HTMLElement} track
 * @param {Array<{kind: string, from: number, to: number}>} spans
 * @param {Scale} scale
 */
export function bars(track, spans, scale) {
  fill(track, spans.map((span) => placed(scale, span, el(`span.bar.${span.kind}`, { title: told(span) }))),
    scale.breaks.map((one) => placed(scale, one, el("span.cut"))));
}

function placed(scale, { from, to }, made) {
  const left = scale.at(from);
  made.style.left = `${left}%`;
  made.style.width = `${scale.at(to) - left}%`;
  return made;
}

/** Return a span in words, with the reason if its work was lost. */
export function told({ kind, from, to, why }) {
  return `${KINDS[kind]}: ${duration(to - from)}${why ? `, ${why}` : ""}`;
}

/** Return the scale above the bars. */
export function axis(scale) {
  const cuts = scale.breaks.map((one) => placed(scale, one, el(`span.gap${scale.at(one.to) > 80 ? ".at-end" : ""}`, { title: `A wait of ${duration(one.to - one.from)}, cut short here` }, `// ${duration(one.to - one.from)}`)));
  const places = Array.from({ length: TICKS }, (_, index) => (100 * index) / TICKS);
  const ticks = places.filter((place) => cuts.every(({ style }) => Math.abs(Number.parseFloat(style.left) - place) > APART)).map((place) => {
    const tick = el("span.tick", {}, duration(scale.time(place)));
    tick.style.left = `${place}%`;
    return tick;
  });
  return el("div.axis", { "aria-hidden": "true" }, ticks, cuts);
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
