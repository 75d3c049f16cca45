// Work that many ask for and that is done once: at once, then after a pause, and only while visible.
// Work that fails is done again, after longer and longer pauses.

const PAUSE_MS = 500;
const AGAIN_MS = 1000;
const LONGEST_MS = 60000;
const TIMES_AS_LONG = 4; // a slow server is asked less often

export class Soon {
  /** @param {() => Promise<void>} work Never two at a time. */
  constructor(work) {
    this.work = work;
    this.isAsked = false;
    this.isBusy = false;
    this.again = AGAIN_MS;
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
