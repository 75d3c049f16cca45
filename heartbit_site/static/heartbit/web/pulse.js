// Change notifications for the page, shared by its parts.

import { keep } from "./socket.js";

const KINDS = ["runs", "calls", "fleet", "knowledge", "definitions"];
const listeners = new Set();
const watchers = new Set();
let last = null;
let changed = [];
let send = () => {};

/** Call back with each pulse ({waiting, runs, calls, ...}) and its changed kinds; with the last one at once. */
export function onPulse(listener) {
  listeners.add(listener);
  if (last) listener(last, changed);
}

/** Call back with each state of the connection: live, reconnecting, offline. */
export function onConnection(watcher) {
  watchers.add(watcher);
}

/** Tell the server what the reader looks at; a pulse with `looks` says who else does. */
export function tellLook(call) {
  send({ type: "look", call });
}

if (document.body.dataset.socket) keep(document.body.dataset.socket, {
  opened(sender) { send = sender; },
  told(pulse) {
    const drawn = (last === null && pulse.unchanged) || []; // the page already shows this state
    changed = KINDS.filter((kind) => pulse[kind] !== last?.[kind] && !drawn.includes(kind));
    last = pulse;
    for (const listener of listeners) listener(pulse, changed);
  },
  state(what) {
    if (what !== "live") [last, send] = [null, () => {}]; // treat the next pulse as a change: some may have been missed
    for (const watcher of watchers) watcher(what);
  },
});
