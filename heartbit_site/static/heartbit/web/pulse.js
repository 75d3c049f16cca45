// Change notifications for the page, shared by its parts.

import { keep } from "./socket.js";

const KINDS = ["runs", "calls", "fleet", "knowledge", "definitions"];
const listeners = new Set();
const watchers = new Set();
let last = null;
let changed = [];

/** Call back with each pulse ({waiting, runs, calls, ...}) and its changed kinds; with the last one at once. */
export function onPulse(listener) {
  listeners.add(listener);
  if (last) listener(last, changed);
}

/** Call back with each state of the connection: live, reconnecting, offline. */
export function onConnection(watcher) {
  watchers.add(watcher);
}

if (document.body.dataset.socket) keep(document.body.dataset.socket, {
  told(pulse) {
    const drawn = (last === null && pulse.unchanged) || []; // the page already shows this state
    changed = KINDS.filter((kind) => pulse[kind] !== last?.[kind] && !drawn.includes(kind));
    last = pulse;
    for (const listener of listeners) listener(pulse, changed);
  },
  state(what) {
    if (what !== "live") last = null; // treat the next pulse as a change: some may have been missed
    for (const watcher of watchers) watcher(what);
  },
});
