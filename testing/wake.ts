import type { Clock } from '../shared/system.ts'
import type { MovableClock } from './clock.ts'
import { type FakeContext, fakeContext, type LogLevel } from './fake-context.ts'

export type TestedHandler<Run> = (event: ConsumerEvent, context: FakeContext) => Promise<Run>
type ConsumerEvent = { readonly 'detail-type': string; readonly detail: { readonly queue: string } }

export type Wake = <Run>(queue: string, handler: TestedHandler<Run>) => Promise<Run>

/**
 * Calls handlers as EventBridge does. Where a run only waits for the retry of what failed, the time moves on at once,
 * unless another run is at work: nobody would have extended its lock meanwhile.
 */
export function wakeOn(time: MovableClock, logLevel: LogLevel | undefined): Wake {
  let atWork = 0
  let skippedMs = 0
  const clock: Clock = {
    nowMs: time.nowMs,
    sleep: time.sleep,
    async skip(ms, signal) {
      if (atWork > 1) return time.sleep(ms, signal)
      time.move(ms)
      skippedMs += ms
    },
  }
  return async (queue, handler) => {
    const context = fakeContext({ clock, logLevel })
    const beforeMs = skippedMs
    // Without this, a handler that always fails would be tried for a minute.
    const getRemainingTimeInMillis = () =>
      Math.max(0, context.getRemainingTimeInMillis() - (skippedMs - beforeMs))
    atWork += 1
    try {
      const event = { 'detail-type': 'Items Available', detail: { queue } }
      return await handler(event, { ...context, getRemainingTimeInMillis })
    } finally {
      atWork -= 1
    }
  }
}
