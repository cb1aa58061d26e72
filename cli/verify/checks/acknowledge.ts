import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'
import {
  drained,
  lock,
  PAST_A_SECOND_MS,
  PAST_SHORT_MS,
  pushAll,
  SHORT_SECONDS,
  valuesIn,
} from '../items.ts'

export const acknowledge: Check = {
  name: 'acknowledge',
  promise: 'An acknowledged item is never delivered again',
  steps: {
    'An acknowledged item does not come back after its lock’s time': async ({ queue, pause }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId } = await lock(it, { count: 2, ttlSeconds: SHORT_SECONDS })
      same('the acknowledgement', await it.acknowledge(lockId), { itemsAcknowledged: 2 })
      await pause(PAST_SHORT_MS)
      same('what is left', await drained(it, 3), ['c'])
    },

    'Some items of a lock can be acknowledged; the others come back': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const { lockId, items } = await lock(it, { count: 3, ttlSeconds: 60 })
      const ids = [items[0], items[2]].map((item) => item?.id ?? '')
      same('the acknowledgement', await it.acknowledge(lockId, { ids }), { itemsAcknowledged: 2 })
      await it.release(lockId)
      same('what is left', await drained(it, 3), ['b'])
    },

    'The next pop acknowledges the previous lock in the same request': async ({ queue }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      const first = await lock(it, { ttlSeconds: 60 })
      const second = await lock(it, { ttlSeconds: 60, acknowledge: first.lockId })
      same('items_acknowledged', second.itemsAcknowledged, 1)
      same('the next items', valuesIn(second), ['b'])
      await it.release(second.lockId)
      same('what is left', await drained(it, 3), ['b', 'c'])
    },

    'Many locks are acknowledged in one call, and each has its result': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b', 'c'])
      const options = { competing: true, ttlSeconds: 60 }
      const [first, second] = [await lock(it, options), await lock(it, options)]
      const ids = [first.lockId, NO_LOCK, second.lockId]
      const results = await it.acknowledgeMany(ids)
      same(
        'the results',
        results.map(({ lockId, kind }) => [lockId, kind]),
        [
          [ids[0], 'acknowledged'],
          [ids[1], 'refused'],
          [ids[2], 'acknowledged'],
        ],
      )
      same('what is left', await drained(it, 3), ['c'])
    },

    'A second acknowledgement answers the same': async ({ queue }) => {
      const it = queue<string>()
      await pushAll(it, ['a', 'b'])
      const { lockId } = await lock(it, { count: 2 })
      const answers = [await it.acknowledge(lockId), await it.acknowledge(lockId)]
      same('the answers', answers, [{ itemsAcknowledged: 2 }, { itemsAcknowledged: 2 }])
    },

    'An expired lock is refused, and so is one that never existed': async ({ queue, pause }) => {
      const it = queue<string>({ returns: true })
      await it.push('a')
      await refused(it.acknowledge(NO_LOCK), { code: 'LOCK_NOT_FOUND', status: 404 })
      const { lockId } = await lock(it, { ttlSeconds: 1 })
      await pause(PAST_A_SECOND_MS)
      await refused(it.acknowledge(lockId), { code: 'LOCK_EXPIRED', status: 410 })
      const again = await lock(it)
      holds(again.lockId !== lockId, 'a second lock has the first one’s id')
      await refused(it.acknowledge(NO_LOCK), { code: 'INVALID_LOCK_ID', status: 400 })
    },
  },
}

/** Has the form of a lock id, and belongs to nobody. */
const NO_LOCK = 'AAAAAAAAAAA'
