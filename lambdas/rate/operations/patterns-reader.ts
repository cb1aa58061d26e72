import type { Clock, Dynamo } from '../../foundation/dynamo.ts'
import { PATTERNS_KEPT_MS } from '../core/bounds.ts'
import { patternsKey } from '../core/keys.ts'
import type { Patterns } from '../core/patterns.ts'
import { decodePatterns } from '../store/patterns-item.ts'

type Reading = { readonly startedMs: number; readonly patterns: Promise<Patterns> }

/** The patterns as one process knows them: read once in a while, when a call needs them. */
export class PatternsReader {
  readonly #dynamo: Dynamo
  readonly #clock: Clock
  #reading: Reading | undefined

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo
    this.#clock = clock
  }

  /** As they were less than half a minute ago, or since the given time where that is later. */
  async get(
    sinceMs = Number.NEGATIVE_INFINITY,
  ): Promise<{ readonly patterns: Patterns; readonly asOfMs: number }> {
    const nowMs = this.#clock.nowMs()
    const known = this.#reading
    const isFresh =
      known !== undefined &&
      known.startedMs >= sinceMs &&
      // A clock that was set back must not keep them for ever.
      Math.abs(nowMs - known.startedMs) <= PATTERNS_KEPT_MS
    const { patterns, startedMs } = isFresh ? known : this.#read(nowMs)
    return { patterns: await patterns, asOfMs: startedMs }
  }

  #read(startedMs: number): Reading {
    const patterns = this.#dynamo.get(patternsKey, true).then(decodePatterns)
    const reading = { startedMs, patterns }
    this.#reading = reading
    // All calls that wait for this read fail with it; the next call reads again.
    patterns.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  /** After a change by this very process. */
  forget(): void {
    this.#reading = undefined
  }
}
