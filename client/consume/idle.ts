// Decides which worker looks at an empty queue, and how often: one looks for all of them, less and less often.

import { delay } from '../delay.ts'

const FIRST_PAUSE_MS = 100

export type Idle = {
  /** This worker found nothing. Resolves when it should look again. */
  foundNothing(worker: number): Promise<void>
  /** This worker found something: there may be more for the others. */
  foundItems(worker: number): void
}

export function idleQueue(stop: AbortSignal, idleMsMax: number): Idle {
  /** The worker that looks; the others wait until it wakes them. */
  let scout: number | undefined
  let emptyLooks = 0
  let wake = new AbortController()
  stop.addEventListener('abort', () => wake.abort())

  return {
    async foundNothing(worker) {
      if (scout !== undefined && scout !== worker) return woken(wake.signal)
      scout = worker
      emptyLooks += 1
      await delay(idlePauseMs(emptyLooks, idleMsMax), wake.signal)
    },
    foundItems(worker) {
      if (scout === worker) scout = undefined
      emptyLooks = 0
      if (stop.aborted) return
      wake.abort()
      wake = new AbortController()
    },
  }
}

/** Doubles up to a bound, minus up to half at random, so that many consumers do not come at once. */
export function idlePauseMs(emptyLooks: number, idleMsMax: number, random = Math.random): number {
  const bound = Math.min(idleMsMax, FIRST_PAUSE_MS * 2 ** (emptyLooks - 1))
  return bound * (0.5 + random() / 2)
}

const woken = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
