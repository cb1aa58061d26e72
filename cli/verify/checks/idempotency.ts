import type { Check } from '../check.ts'
import { refused, same } from '../claims.ts'
import { drained, pushAll, together } from '../items.ts'

const KEY = 'order-17'

/** Only one of the calls did it; all others say that they repeat it. */
function asOnce(pushed: object = {}): object {
  const { repeated: _, ...answer } = pushed as { repeated?: true }
  return answer
}

export const idempotency: Check = {
  name: 'idempotency',
  promise: 'An idempotency key gives a call one effect and one answer',
  steps: {
    'A push that is repeated has the same ids, and is there once': async ({ queue }) => {
      const it = queue<string>()
      const items = [{ item: 'a' }, { item: 'b', priority: 2 }]
      const first = await it.pushMany(items, { idempotencyKey: KEY })
      const second = await it.pushMany(items, { idempotencyKey: KEY })
      same('the second answer', asOnce(second), first)
      same('the items', await drained(it, 4), ['a', 'b'])
    },

    'The same holds for repetitions that overlap': async ({ queue }) => {
      const it = queue<string>()
      const push = () => it.push('once', { idempotencyKey: KEY })
      const [first, ...others] = await together([push, push, push])
      for (const other of others) same('another answer', asOnce(other), asOnce(first))
      same('the items', await drained(it, 3), ['once'])
    },

    'The key with another body is refused, and nothing is pushed': async ({ queue }) => {
      const it = queue<string>()
      await it.push('a', { idempotencyKey: KEY })
      const other = it.push('b', { idempotencyKey: KEY })
      await refused(other, { code: 'IDEMPOTENCY_CONFLICT', status: 422, field: 'Idempotency-Key' })
      same('the items', await drained(it, 2), ['a'])
    },

    'A pop that is repeated has the same items and the same lock': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const options = { ack: true, count: 2, ttlSeconds: 60, idempotencyKey: KEY }
      const first = await it.pop(options)
      same('the second answer', await it.pop(options), first)
    },
  },
}
