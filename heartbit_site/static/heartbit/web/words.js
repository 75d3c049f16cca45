// Formats of durations, amounts, money and names, the same as in the admin.

import { USER } from "./api.js";

/** Format milliseconds: "340 ms", "12.3 s", "4 min 10 s", "3 h 5 min", "2 d 4 h". */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.floor((minutes % 1440) / 60);
  return `${Math.floor(minutes / 1440)} d${hours ? ` ${hours} h` : ""}`;
}

/** Format tokens: "1,234 in, 56 out". */
export function tokens(input, output) {
  return `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out`;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Format tokens for little space: "1.23K in, 56 out". */
export function shortTokens(input, output) {
  return `${COMPACT.format(input)} in, ${COMPACT.format(output)} out`;
}

/** Format money as base/amounts.py does; null is an unknown price, which differs from 0. */
export function cost(usd) {
  if (usd === null || usd === undefined) return "unknown";
  const amount = Number(usd);
  return amount > 0 && amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(amount >= 1 || amount === 0 ? 2 : 4)}`;
}

/** Return a person's name, or "You" for the reader. */
export function person(name) {
  return name === USER ? "You" : name;
}
