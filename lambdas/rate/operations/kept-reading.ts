import type { Clock } from '../../foundation/dynamo.ts'
import { PATTERNS_KEPT_MS } from '../core/bounds.ts'

type Reading<T> = { readonly startedMs: number; readonly value: Promise<T> }

/** One process's copy of a row of patterns, which it reads once in a while, when a call needs it. */
export class KeptReading<T> {
  readonly #readNow: () => Promise<T>
  readonly #clock: Clock
  #reading: Reading<T> | undefined
  #last: T | undefined

  constructor(clock: Clock, readNow: () => Promise<T>) {
    this.#readNow = readNow
    this.#clock = clock
  }

  /** The row as of less than half a minute ago, or as of the given time if that is later. */
  async get(
    sinceMs = Number.NEGATIVE_INFINITY,
  ): Promise<{ readonly value: T; readonly asOfMs: number }> {
    const nowMs = this.#clock.nowMs()
    const known = this.#reading
    const isFresh =
      known !== undefined &&
      known.startedMs >= sinceMs &&
      // If somebody has set the clock back, we must not keep it for ever.
      Math.abs(nowMs - known.startedMs) <= PATTERNS_KEPT_MS
    const { value, startedMs } = isFresh ? known : this.#read(nowMs)
    return { value: await value, asOfMs: startedMs }
  }

  #read(startedMs: number): Reading<T> {
    const value = this.#readNow()
    const reading = { startedMs, value }
    this.#reading = reading
    // All calls that wait for this read fail with it; the next call reads again.
    value.then(
      (read) => {
        this.#last = read
      },
      () => {
        if (this.#reading === reading) this.#reading = undefined
      },
    )
    return reading
  }

  /** The last value read, however old; for a caller that cannot wait for the next read. */
  get last(): T | undefined {
    return this.#last
  }

  /** Call this after a change by this process. */
  forget(): void {
    this.#reading = undefined
  }
}
