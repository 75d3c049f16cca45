// Work that many ask for and that is done once: at once, then after a pause, and only while visible.

const PAUSE_MS = 500;
const TIMES_AS_LONG = 4; // a slow server is asked less often

export class Soon {
  /** @param {() => Promise<void>} work Never two at a time. */
  constructor(work) {
    this.work = work;
    this.isAsked = false;
    this.isBusy = false;
    document.addEventListener("visibilitychange", () => this.begin());
  }

  /** Do it soon, once, however often this is called meanwhile. */
  ask() {
    this.isAsked = true;
    this.begin();
  }

  async begin() {
    if (this.isBusy || !this.isAsked || document.hidden) return;
    this.isBusy = true;
    this.isAsked = false;
    const began = performance.now();
    try {
      await this.work();
    } catch {
      // The server is away: its socket says when it is back, and everything is fetched then.
    }
    const took = performance.now() - began;
    setTimeout(() => {
      this.isBusy = false;
      this.begin();
    }, Math.max(PAUSE_MS, TIMES_AS_LONG * took));
  }
}
