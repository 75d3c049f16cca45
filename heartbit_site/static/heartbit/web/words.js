// How times, amounts and money are said: as the admin says them.

/** A duration of milliseconds: "340 ms", "12.3 s", "4 min 10 s", "3 h 5 min", "2 d 4 h". */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** A moment, in the reader's own time. */
export function moment(iso) {
  return iso ? new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) : "";
}

/** How long ago. */
export function ago(iso) {
  const ms = Date.now() - new Date(iso).getTime();
  return ms < 5000 ? "just now" : `${duration(Math.floor(ms / 1000) * 1000).replace(".0 s", " s")} ago`;
}

/** Tokens: "1,234 in, 56 out". */
export function tokens(input, output) {
  return `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out`;
}

/** Money; null is an unknown price, which is not nothing. */
export function cost(usd) {
  if (usd === null || usd === undefined) return "unknown";
  const amount = Number(usd);
  return amount === 0 ? "$0" : `$${amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
}
