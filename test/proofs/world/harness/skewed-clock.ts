import type { Random } from '../../../../testing/random.ts'
import type { Scheduler } from './scheduler.ts'

export const SKEW_MAX_MS = 5_000

/**
 * A writer's own clock: up to five seconds off, and set anew now and then, so it also runs
 * backwards. The operation remembers its readings: a rule about time must hold by one
 * of them.
 */
export class SkewedClock {
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #skewMaxMs: number
  readonly #jumps: number
  readonly #onRead: (nowMs: number) => void
  #skewMs = 0

  constructor(options: {
    scheduler: Scheduler
    random: Random
    skewMaxMs: number
    /** Probability that the clock is set anew before a reading. */
    jumps: number
    onRead: (nowMs: number) => void
  }) {
    this.#scheduler = options.scheduler
    this.#random = options.random
    this.#skewMaxMs = options.skewMaxMs
    this.#jumps = options.jumps
    this.#onRead = options.onRead
    this.#set()
  }

  #set(): void {
    this.#skewMs = this.#random.between(-this.#skewMaxMs, this.#skewMaxMs)
  }

  nowMs(): number {
    if (this.#random.chance(this.#jumps)) this.#set()
    const nowMs = Math.floor(this.#scheduler.nowMs) + this.#skewMs
    this.#onRead(nowMs)
    return nowMs
  }
}
