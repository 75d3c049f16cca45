// Rows without events of their own: requested again when a key changes.

import { Refusal } from "../api.js";

const AGAIN_MS = 5000;

/** Refreshes rows, one request at a time; a change meanwhile causes another request. */
export class Look {
  /** @param {{read: () => Promise<any[]>, show: (rows: any[]) => void}} how */
  constructor({ read, show }) {
    Object.assign(this, { read, show, wanted: "", isBusy: false });
  }

  /** Refresh if the key `now` has changed. */
  async at(now) {
    if (now === this.wanted) return;
    this.wanted = now;
    if (this.isBusy) return;
    this.isBusy = true;
    let asked = "";
    while (asked !== this.wanted) {
      asked = this.wanted;
      try {
        const rows = await this.read();
        if (asked === this.wanted) this.show(rows);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (!willPass(error)) continue;
        asked = "";
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
    this.isBusy = false;
  }
}

/** Return true if a retry may succeed: the server is unavailable, or limits the rate. */
function willPass({ status }) {
  return status === 0 || status === 429 || status >= 500;
}
