// The scale of the timeline: time by place, with long waits as breaks, and a window that is zoomed into. Pure.

const WORK = new Set(["model", "tool", "lost"]);
const LEAST_MS = 5000; // shorter waits are no breaks
const BREAK = 0.08; // width of a break, as a share of the rest

/** Maps milliseconds to percents of a track. */
export class Scale {
  /**
   * @param {Array<{kind: string, from: number, to: number}>} spans All spans of the tree.
   * @param {number} begin
   * @param {number} end
   * @param {[number, number]} view The part that is shown, in shares of the whole.
   */
  constructor(spans, begin, end, view = [0, 1]) {
    const parts = [];
    let [at, work] = [begin, 0];
    for (const { from, to } of spans.filter(({ kind }) => WORK.has(kind)).sort((one, other) => one.from - other.from)) {
      if (from > at) parts.push({ from: at, to: from, isIdle: true });
      if (to > at) {
        work += to - Math.max(at, from);
        parts.push({ from: Math.max(at, from), to });
      }
      at = Math.max(at, to);
    }
    if (end > at) parts.push({ from: at, to: end, isIdle: true });
    for (const part of parts) part.isBreak = Boolean(part.isIdle) && work > 0 && part.to - part.from > Math.max(work, LEAST_MS);
    const rest = parts.reduce((sum, part) => sum + (part.isBreak ? 0 : part.to - part.from), 0) || 1;
    let edge = 0;
    for (const part of parts) {
      Object.assign(part, { left: edge, width: part.isBreak ? rest * BREAK : part.to - part.from });
      edge += part.width;
    }
    Object.assign(this, { parts, begin, whole: edge || 1, view, breaks: parts.filter(({ isBreak }) => isBreak) });
  }

  /** Return the place of a time in percent of the track; outside of the window it is below 0 or above 100. */
  at(ms) {
    const part = this.parts.find(({ to }) => ms <= to) ?? this.parts.at(-1);
    if (!part) return 0;
    const inside = Math.min(1, Math.max(0, (ms - part.from) / (part.to - part.from || 1)));
    const [low, high] = this.view;
    return (100 * ((part.left + inside * part.width) / this.whole - low)) / (high - low);
  }

  /** Return the milliseconds since the beginning at a place. */
  time(percent) {
    const [low, high] = this.view;
    const place = (low + (percent / 100) * (high - low)) * this.whole;
    const part = this.parts.find(({ left, width }) => place <= left + width) ?? this.parts.at(-1);
    return part ? part.from + ((place - part.left) / (part.width || 1)) * (part.to - part.from) - this.begin : 0;
  }
}

/** Return the window after a zoom about a place, both as shares; a factor below 1 shows more. */
export function zoomed([low, high], factor, about) {
  const width = Math.min(1, Math.max(0.005, (high - low) / factor));
  const first = Math.min(1 - width, Math.max(0, about - ((about - low) / (high - low)) * width));
  return [first, first + width];
}
