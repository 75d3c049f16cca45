// Rows that no event tells: asked for anew when something says that there may be others.

import { Refusal } from "../api.js";

const AGAIN_MS = 5000;

/** Asks, one request at a time; what changes meanwhile is asked for afterwards. */
export class Look {
  /** @param {{read: () => Promise<any[]>, show: (rows: any[]) => void}} how */
  constructor({ read, show }) {
    Object.assign(this, { read, show, wanted: "", isBusy: false });
  }

  /** Ask, if `now` is another word than before. */
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

/** Whether the same may be answered later: the server is away, or was asked too often. */
function willPass({ status }) {
  return status === 0 || status === 429 || status >= 500;
}
