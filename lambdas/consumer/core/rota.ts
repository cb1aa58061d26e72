// Decides whose turn it is when we work many queues, but only a few at once. Time is an argument.
//
//   idle ──has something free──▶ ready ──first in line──▶ at work ──its turn is over──▶ ready, last in line
//    ▲                                                       └──nothing more to do──▶ idle, or put off
//    └──put off: we do not look at it until some time, because it is locked, failing or at its limit
//
// Failed items wait in the queue itself: the list shows when they are back, or whether other items can be popped
// meanwhile.

import type { Standing } from './look.ts'
import type { Ending } from './run.ts'

/** How a turn ended: the worker's ending, or an error. `batches`: how often the worker called its handler. */
export type TurnEnd = { readonly ending: Ending | 'failed'; readonly batches: number }

type Place = {
  state: 'idle' | 'ready' | 'at work'
  notBeforeMs: number
  /** How many turns in a row found nothing. */
  fruitless: number
}

/** After a turn that found nothing although the list showed items: the list lags, or others are faster. */
const FRUITLESS_FIRST_MS = 250
const FRUITLESS_MS_MAX = 5_000
/** After an error that repeating has not cured. */
const FAILED_FIRST_MS = 1_000
const FAILED_MS_MAX = 60_000
/** We forget what we know of an idle queue after this long. */
const REMEMBERED_MS = 60_000

export class Rota {
  readonly #competing: boolean
  readonly #places = new Map<string, Place>()
  readonly #line: string[] = []

  constructor({ competing }: { readonly competing: boolean }) {
    this.#competing = competing
  }

  get someoneWaits(): boolean {
    return this.#line.length > 0
  }

  /** What a look showed. */
  seen(standings: readonly Standing[], nowMs: number): void {
    for (const [queue, place] of this.#places) {
      const { state, notBeforeMs } = place
      if (state === 'idle' && notBeforeMs + REMEMBERED_MS < nowMs) this.#places.delete(queue)
    }
    for (const standing of standings) {
      if (!this.#hasFree(standing)) continue
      const place = this.#placeOf(standing.queue)
      if (place.state === 'idle' && place.notBeforeMs <= nowMs) this.#queueUp(standing.queue, place)
    }
  }

  /** The next in line, now at work. */
  next(): string | undefined {
    const queue = this.#line.shift()
    if (queue !== undefined) this.#placeOf(queue).state = 'at work'
    return queue
  }

  /** We do not look at it before then. */
  putOff(queue: string, untilMs: number): void {
    this.#placeOf(queue).notBeforeMs = untilMs
  }

  /** `random` in [0, 1): queues that failed together must not come back together. */
  ended(queue: string, { ending, batches }: TurnEnd, nowMs: number, random: number): void {
    const place = this.#placeOf(queue)
    place.state = 'idle'
    if (ending === 'continued') {
      this.#queueUp(queue, place)
      return
    }
    if (batches > 0 && ending !== 'failed') {
      place.fruitless = 0
      return
    }
    const [firstMs, mostMs] =
      ending === 'failed'
        ? [FAILED_FIRST_MS, FAILED_MS_MAX]
        : [FRUITLESS_FIRST_MS, FRUITLESS_MS_MAX]
    const pauseMs = Math.min(mostMs, firstMs * 2 ** place.fruitless) * (0.75 + random / 4)
    place.fruitless += 1
    place.notBeforeMs = Math.max(place.notBeforeMs, nowMs + pauseMs)
  }

  #hasFree({ count = 0, lockedCount = 0, waitingCount = 0, isBlocked }: Standing): boolean {
    const free = count - lockedCount - waitingCount
    return free > 0 && (this.#competing || (lockedCount === 0 && !isBlocked))
  }

  #queueUp(queue: string, place: Place): void {
    place.state = 'ready'
    this.#line.push(queue)
  }

  #placeOf(queue: string): Place {
    let place = this.#places.get(queue)
    if (place === undefined) {
      place = { state: 'idle', notBeforeMs: 0, fruitless: 0 }
      this.#places.set(queue, place)
    }
    return place
  }
}
