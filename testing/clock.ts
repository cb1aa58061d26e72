import { TIMES_END_MS } from '../engine/core/item.ts'
import { type Clock, inWholeMs, systemClock } from '../shared/system.ts'

export type MovableClock = Clock & { move(ms: number): void }

/**
 * The system's time, and as much later as a test has moved it. It runs on between moves, and its sleeps are
 * real: code that pauses for a moment before it tries again does so here too.
 */
export function movableClock(): MovableClock {
  let movedMs = 0
  const clock = inWholeMs({
    nowMs: () => systemClock.nowMs() + movedMs,
    sleep: systemClock.sleep,
  })
  const refusal = (ms: number): string | undefined => {
    if (!(ms >= 0)) return 'time only goes on'
    return clock.nowMs() + ms < TIMES_END_MS ? undefined : "PushPop's times end on 2059-05-25"
  }
  return {
    ...clock,
    move(ms) {
      const why = refusal(ms)
      if (why !== undefined) throw new RangeError(`Cannot move the time by ${ms} ms because ${why}`)
      movedMs += ms
    },
  }
}
