import { randomBytes } from 'node:crypto'
import type { Check } from '../check.ts'
import { same } from '../claims.ts'
import { drained, lock, numbers, pushAll, valuesIn } from '../items.ts'

/** Six segments of 100. Those between the buffer at the front and the tail go to S3. */
const ITEMS = 600
/** Of these at least; the last ones may stay in the tail. */
const ITEMS_SEALED = 500
/** Small enough to go into the record and be sealed from there, as a producer's pushes are. */
const ITEMS_A_PUSH = 10

/** Over 12 KB even when compressed: such a push becomes one S3 object. */
const LARGE_ITEMS = 200
const LARGE_ITEM_BYTES = 200

export const longQueue: Check = {
  name: 'long-queue',
  promise: 'A long queue goes through S3 and comes back in order',
  waits: true,
  steps: {
    '600 items go to S3 and come back in order': async ({ queue, until, saw }) => {
      const it = queue<string>({ items: ITEMS, offloads: ITEMS_SEALED })
      const values = numbers(ITEMS).map((n) => `item ${n} ${'.'.repeat(60)}`)
      for (let at = 0; at < ITEMS; at += ITEMS_A_PUSH) {
        await pushAll(it, values.slice(at, at + ITEMS_A_PUSH))
      }
      await until('housekeeping to offload the middle of a long queue', async () => {
        const [lane] = (await it.inspect({ consistent: true })).priorities
        const { headOffloadedSegment: from, tailOffloadedSegment: to } = lane ?? {}
        if (from === undefined || to === undefined) return false
        saw('in S3', `segments ${from} to ${to} of a queue of ${ITEMS}`)
        return true
      })
      const popped: string[] = []
      let last: string | undefined
      while (popped.length < ITEMS) {
        const acknowledge = last === undefined ? {} : { acknowledge: last }
        const locked = await lock(it, { count: 100, ttlSeconds: 60, ...acknowledge })
        popped.push(...valuesIn(locked))
        last = locked.lockId
      }
      same('the items', popped, values)
      await it.acknowledge(last ?? '')
      same('what is left', (await it.inspect({ consistent: true })).count, 0)
    },

    'A bulk push of 80 KB comes back whole': async ({ queue }) => {
      const it = queue<string>({ items: LARGE_ITEMS })
      const values = numbers(LARGE_ITEMS).map(() => randomBytes(LARGE_ITEM_BYTES).toString('hex'))
      await pushAll(it, values)
      same('the items', await drained(it, LARGE_ITEMS), values)
    },
  },
}
