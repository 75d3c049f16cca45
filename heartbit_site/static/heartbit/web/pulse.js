// Change notifications of the workspace, shared by the parts of a page.

import { WORKSPACE } from "./api.js";
import { keep } from "./socket.js";

const listeners = new Set();
const watchers = new Set();
let last = null;

/** Call back with each pulse ({waiting, newest_waiting, live, newest_run}); with the last one at once. */
export function onPulse(listener) {
  listeners.add(listener);
  if (last) listener(last);
}

/** Call back with each state of the connection: live, reconnecting, offline. */
export function onConnection(watcher) {
  watchers.add(watcher);
}

keep(`/ws/${WORKSPACE}/`, {
  told(data) {
    last = data;
    for (const listener of listeners) listener(data);
  },
  state(what) {
    for (const watcher of watchers) watcher(what);
  },
});
