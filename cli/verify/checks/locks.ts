import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'
import { drained, lock, PAST_SHORT_MS, pushAll, SHORT_SECONDS, valuesIn } from '../items.ts'

const LOCKED = { code: 'QUEUE_LOCKED', status: 423 } as const

export const locks: Check = {
  name: 'locks',
  promise: 'A live lock keeps a queue exclusive, and its holder can extend or release it',
  steps: {
    'Another pop is refused with 423, and told until when': async ({ queue, once }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b'])
      const held = await lock(it, { ttlSeconds: 60 })
      for (const options of [{}, { ack: true }]) {
        const error = await refused(once(it).pop(options), LOCKED)
        same('lock_expires_at', error.lockExpiresAtMs, held.lock?.expiresAtMs)
        holds((error.retryAfterMs ?? 0) > 0, 'the refusal had no Retry-After')
      }
    },

    'A pop without acknowledgement takes its items for good': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const popped = await it.pop({ count: 2 })
      holds(popped.lock === undefined, 'a pop without require_ack made a lock')
      same('the items', [valuesIn(popped), await drained(it, 3)], [['a', 'b'], ['c']])
    },

    'A lock lives for 30 s, or as long as was asked for: 1 to 300 s': async ({ queue }) => {
      const lived: (number | undefined)[] = []
      for (const options of [{}, { ttlSeconds: 7 }, { ttlSeconds: 0 }, { ttlSeconds: 9_999 }]) {
        const it = queue<string>()
        await it.push('a')
        lived.push((await lock(it, options)).lock?.ttlSeconds)
      }
      same('ttl_seconds', lived, [30, 7, 1, 300])
    },

    'A lock that is extended outlives its first time': async ({ queue, once, pause }) => {
      const it = queue<string>()
      await it.push('a')
      const { lockId } = await lock(it, { ttlSeconds: SHORT_SECONDS })
      const extended = await it.extend(lockId, 60)
      same('ttl_seconds', extended.ttlSeconds, 60)
      await pause(PAST_SHORT_MS)
      await refused(once(it).pop(), LOCKED)
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 1 })
    },

    'Released items are at the front again at once, in their old order': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId } = await lock(it, { count: 2, ttlSeconds: 60 })
      await it.push('d')
      same('the release', await it.release(lockId), { itemsReleased: 2 })
      same('the items', await drained(it, 4), ['a', 'b', 'c', 'd'])
    },

    'Some items of a lock can be released; the others stay locked': async ({ queue, once }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId, items } = await lock(it, { count: 3, ttlSeconds: 60 })
      await it.release(lockId, { ids: items.slice(1, 2).map(({ id }) => id) })
      await refused(once(it).pop(), LOCKED)
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 2 })
      same('the items', await drained(it, 1), ['b'])
    },

    'A returned item says how often it was delivered': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await it.push('a')
      const first = await lock(it)
      await it.release(first.lockId)
      const second = await lock(it)
      const deliveries = [...first.items, ...second.items].map((item) => item.deliveries)
      same('deliveries', deliveries, [1, 2])
    },
  },
}
