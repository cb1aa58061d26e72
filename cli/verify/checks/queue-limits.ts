import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'
import { pushAll, valuesIn } from '../items.ts'

/** A smooth limit has no windows, so the second call cannot fall into the next one. */
const ONE_IN_FIVE_SECONDS = { maxRequests: 1, windowMillis: 5_000, algorithm: 'smooth' } as const

const LIMITED = { code: 'RATE_LIMITED', status: 429 } as const

export const queueLimits: Check = {
  name: 'queue-limits',
  promise:
    'Calls beyond a queue’s push_limit or pop_limit are refused, and told when to come again',
  steps: {
    'A push beyond push_limit is refused, and a pop is not': ({ withLimits, once }) =>
      withLimits(async (it) => {
        await it.configure({ pushLimit: ONE_IN_FIVE_SECONDS })
        await it.push('a')
        const error = await refused(once(it).push('b'), LIMITED)
        holds(isSoon(error.retryAfterMs), `retry_after_ms was ${error.retryAfterMs}`)
        same('the items', valuesIn(await it.pop()), ['a'])
      }),

    'A pop beyond pop_limit is refused, and a push is not': ({ withLimits, once }) =>
      withLimits(async (it) => {
        await it.configure({ popLimit: ONE_IN_FIVE_SECONDS })
        await pushAll(it, ['a', 'b'])
        same('the items', valuesIn(await it.pop()), ['a'])
        const error = await refused(once(it).pop(), LIMITED)
        holds(isSoon(error.retryAfterMs), `retry_after_ms was ${error.retryAfterMs}`)
      }),
  },
}

const isSoon = (ms = 0): boolean => ms > 0 && ms <= ONE_IN_FIVE_SECONDS.windowMillis
