// Whose turn it is, where many queues are worked and few at once. Time is an argument.
//
//   idle ──has something free──▶ ready ──first in line──▶ at work ──its turn is over──▶ ready, last in line
//    ▲                                                       └──nothing more to do──▶ idle, or put off
//    └──put off: until a time nobody looks, because it is locked, failing or at its limit

import type { Ending } from './run.ts'

/** A queue as the list tells it. Without a count its record could not be read just now. */
export type Standing = {
  readonly queue: string
  readonly count?: number | undefined
  readonly lockedCount?: number | undefined
}

/** How a turn ended: as a worker ends, or by an error. `batches`: how often its handler was called. */
export type TurnEnd = { readonly ending: Ending | 'failed'; readonly batches: number }

type Place = {
  state: 'idle' | 'ready' | 'at work'
  notBeforeMs: number
  /** Turns in a row that came to nothing. */
  fruitless: number
  /** Locks that keep items which failed until they may come again, and until when. */
  readonly kept: Map<string, number>
}

/** After turns that found nothing although the list showed items: it lags, or others are faster. */
const FRUITLESS_FIRST_MS = 250
const FRUITLESS_MS_MAX = 5_000
/** After an error that repeating has not cured. */
const FAILED_FIRST_MS = 1_000
const FAILED_MS_MAX = 60_000
/** What is remembered of a queue that is idle goes after this long. */
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
      const { state, notBeforeMs, kept } = place
      const isKeeping = [...kept.values()].some((endMs) => endMs > nowMs)
      const isOld = state === 'idle' && notBeforeMs + REMEMBERED_MS < nowMs
      if (isOld && !isKeeping) this.#places.delete(queue)
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

  /** It is to come back after so long; a lock may keep its items until then. */
  putOff(queue: string, untilMs: number, lockId: string | undefined, nowMs: number): void {
    const { kept } = this.#placeOf(queue)
    for (const [id, endMs] of kept) if (endMs < nowMs) kept.delete(id)
    if (lockId !== undefined) kept.set(lockId, untilMs)
    // Where consumers compete, others of its items are free meanwhile.
    if (lockId === undefined || !this.#competing) this.#placeOf(queue).notBeforeMs = untilMs
  }

  /** `random` in [0, 1): what failed together must not come back together. */
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

  /** Locks that still keep items back. */
  kept(nowMs: number): [queue: string, lockId: string][] {
    return [...this.#places].flatMap(([queue, { kept }]) =>
      [...kept].filter(([, endMs]) => endMs > nowMs).map(([id]): [string, string] => [queue, id]),
    )
  }

  #hasFree({ count = 0, lockedCount = 0 }: Standing): boolean {
    return this.#competing ? count > lockedCount : count > 0 && lockedCount === 0
  }

  #queueUp(queue: string, place: Place): void {
    place.state = 'ready'
    this.#line.push(queue)
  }

  #placeOf(queue: string): Place {
    let place = this.#places.get(queue)
    if (place === undefined) {
      place = { state: 'idle', notBeforeMs: 0, fruitless: 0, kept: new Map() }
      this.#places.set(queue, place)
    }
    return place
  }
}
