import { type Clock, systemClock } from '../lambdas/foundation/system.ts'

export type MovableClock = Clock & { move(ms: number): void }

/**
 * The system's time, and as much later as a test has moved it. It runs on between moves, and its sleeps are
 * real: code that pauses for a moment before it tries again does so here too.
 */
export function movableClock(): MovableClock {
  let movedMs = 0
  return {
    nowMs: () => systemClock.nowMs() + movedMs,
    sleep: systemClock.sleep,
    move(ms) {
      if (Number.isFinite(ms) && ms >= 0) movedMs += ms
      else throw new RangeError(`Cannot move the time by ${ms} ms because time only goes on`)
    },
  }
}
