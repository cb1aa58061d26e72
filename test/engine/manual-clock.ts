/** A clock that only tests and the sleeps of the engine move: no test waits for real. */
export class ManualClock {
  now = Date.UTC(2030, 0, 1)

  nowMs(): number {
    return this.now
  }

  async sleep(ms: number): Promise<void> {
    this.now += Math.ceil(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }

  pass(ms: number): void {
    this.now += ms
  }

  /** The same time, wrong by so much. */
  skewed(ms: number): { nowMs(): number; sleep(ms: number): Promise<void> } {
    return { nowMs: () => this.now + ms, sleep: (duration) => this.sleep(duration) }
  }
}
