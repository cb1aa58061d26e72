import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { lock, PAST_A_SECOND_MS, pushAll, valuesIn } from '../items.ts'

export const expiry: Check = {
  name: 'expiry',
  promise: 'When a lock expires, its items return to their old place with nobody asking',
  waits: true,
  steps: {
    'The sweeper alone ends an expired lock': async ({ queue, until, sweeperWithinMs, saw }) => {
      const it = queue<string>({ returns: true })
      await it.push('left alone')
      const { lock: held } = await lock(it, { ttlSeconds: 1 })
      // We only look, because a pop would end the lock itself. The clock alone makes the item ready; its
      // delivery is counted only when somebody writes that the lock has ended.
      const isBack = async () => {
        const [item] = (await it.peek()).items
        return item?.state === 'ready' && item.deliveries === 1
      }
      await until('the sweeper to end an expired lock', isBack, sweeperWithinMs)
      const afterMs = Math.max(0, Date.now() - (held?.expiresAtMs ?? 0))
      saw('the sweeper', `${Math.ceil(afterMs / 1_000)} s after a lock had expired`)
      const { items } = await lock(it)
      same('deliveries', items[0]?.deliveries, 2)
    },

    'The next pop gets the items of an expired lock before later ones': async ({
      queue,
      pause,
    }) => {
      const it = queue<string>({ returns: true })
      await pushAll(it, ['a', 'b', 'c'])
      await lock(it, { count: 2, ttlSeconds: 1 })
      await it.push('d')
      await pause(PAST_A_SECOND_MS)
      same('the items', valuesIn(await lock(it, { count: 4 })), ['a', 'b', 'c', 'd'])
    },
  },
}
