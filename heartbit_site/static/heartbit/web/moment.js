// The one way in which scripts show a moment; heartbit_site/shell/moment.py does the same on the server.

import { duration } from "./words.js";

const timeZone = document.body.dataset.zone || "UTC";
const day = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "short" });
const clock = { timeZone, hour: "2-digit", minute: "2-digit" };
const time = new Intl.DateTimeFormat("en-GB", clock);
const date = new Intl.DateTimeFormat("en-GB", { timeZone, day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat("en-GB", { timeZone, year: "numeric" });
const whole = new Intl.DateTimeFormat("en-GB", { ...clock, weekday: "short", day: "numeric", month: "short", year: "numeric", second: "2-digit", timeZoneName: "short" });

/** Return a moment as text: 17:05, 26 Nov 17:05, or 26 Nov 2025, 17:05. */
export function short(iso) {
  const at = new Date(iso);
  const now = new Date();
  if (day.format(at) === day.format(now)) return time.format(at);
  if (year.format(at) === year.format(now)) return `${date.format(at)} ${time.format(at)}`;
  return `${date.format(at)} ${year.format(at)}, ${time.format(at)}`;
}

/** Return a moment as an element; hovering gives its zone, day and seconds. */
export function moment(iso) {
  const made = document.createElement("time");
  made.dateTime = iso;
  made.title = `${whole.format(new Date(iso))} (${timeZone})`;
  made.textContent = short(iso);
  return made;
}

/** Return the time since a moment as an element; hovering gives the moment. */
export function since(iso) {
  const made = moment(iso);
  const ms = Date.now() - new Date(iso).getTime();
  made.textContent = ms < 5000 ? "just now" : `${duration(Math.floor(ms / 1000) * 1000).replace(".0 s", " s")} ago`;
  return made;
}
