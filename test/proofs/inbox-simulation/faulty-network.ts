import { connectionReset, requestTimeout, throttling } from '../../../testing/simulated/faults.ts'
import type { Network } from '../../../testing/simulated/simulated-client.ts'
import type { VirtualTime } from '../../../testing/simulated/virtual-time.ts'

/** What can become of a request, in shares of all requests. */
export type Faults = {
  /** It got lost on the way there. */
  readonly lost: number
  /** It was carried out, and its answer got lost. */
  readonly answerLost: number
  /** It is carried out some time after its sender has given it up. */
  readonly late: number
}

type Options = {
  readonly time: VirtualTime
  readonly random: () => number
  readonly faults: Faults
  /** The table refuses everything. */
  readonly isThrottled: () => boolean
  /** The process ends while it waits for the answer to this request, counted from 1. */
  readonly diesAt: number
  readonly onDeath: () => void
}

const LATE_MS_MAX = 60_000
const never = <T>(): Promise<T> => new Promise(() => {})

/** Between one process and the store. */
export function faultyNetwork(options: Options): Network {
  const { time, random, faults, isThrottled, diesAt, onDeath } = options
  let requests = 0
  let isDead = false
  const later = (apply: () => unknown): void => {
    void time.sleep(LATE_MS_MAX * random()).then(() => {
      try {
        apply()
      } catch {
        // Refused by the store, and nobody hears of it.
      }
    })
  }
  return {
    async deliver<T>(_: unknown, apply: () => T): Promise<T> {
      if (isDead) return never()
      requests += 1
      await time.sleep(2 + 8 * random())
      if (isDead) return never()
      const fate = random()
      if (requests === diesAt) {
        isDead = true
        onDeath()
        // It is carried out now, or later, or never.
        if (fate < 0.3) quietly(apply)
        else if (fate < 0.6) later(apply)
        return never()
      }
      if (isThrottled()) throw throttling()
      if (fate < faults.lost) throw connectionReset()
      if (fate < faults.lost + faults.answerLost) {
        quietly(apply)
        throw requestTimeout()
      }
      if (fate < faults.lost + faults.answerLost + faults.late) {
        later(apply)
        throw requestTimeout()
      }
      return apply()
    },
  }
}

function quietly(apply: () => unknown): void {
  try {
    apply()
  } catch {
    // Refused by the store; the answer is lost all the same.
  }
}
