// Coalesced work: many requests, one execution; immediate, then throttled, and only while visible.
// Failed work is retried with increasing delays.

const PAUSE_MS = 500;
const AGAIN_MS = 1000;
const LONGEST_MS = 60000;
const TIMES_AS_LONG = 4; // a slow server gets fewer requests

export class Soon {
  /** @param {() => Promise<void>} work Never runs twice at a time. */
  constructor(work) {
    this.work = work;
    this.isAsked = false;
    this.isBusy = false;
    this.again = AGAIN_MS;
    document.addEventListener("visibilitychange", () => this.begin());
  }

  /** Run the work soon, once for all calls until then. */
  ask() {
    this.isAsked = true;
    this.begin();
  }

  async begin() {
    if (this.isBusy || !this.isAsked || document.hidden) return;
    this.isBusy = true;
    this.isAsked = false;
    const began = performance.now();
    let pause = PAUSE_MS;
    try {
      await this.work();
      this.again = AGAIN_MS;
    } catch {
      this.isAsked = true;
      pause = this.again;
      this.again = Math.min(LONGEST_MS, this.again * 2);
    }
    const took = performance.now() - began;
    setTimeout(() => {
      this.isBusy = false;
      this.begin();
    }, Math.max(pause, TIMES_AS_LONG * took));
  }
}
