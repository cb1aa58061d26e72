import { expect, it } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { holding, onSimulated, openSimulated } from './stage.ts'
import { lockItems, named, popItems, push, textsOf } from './traffic.ts'
import { timedOut } from './wire.ts'

/** What is not known is not said, and what was true of another queue of that name is not believed. */

const QUEUE = 'orders'

it('A warm engine does not take a queue that was forgotten and made again for the one it knew.', async () => {
  const stage = openSimulated()
  const [warm, other, queue] = [stage.engine(), stage.engine(), 'queue']
  await push(warm, queue, [{ text: '"old"' }])
  await popItems(other, queue)
  stage.clock.pass(11 * 60_000)
  for (let run = 0; run < 3; run += 1) await other.returnExpiredLocks()
  expect(await stage.stored(queue)).toBeUndefined()
  await push(other, queue, [{ text: '"new"' }])
  // Version, lane and tail are as it remembers them; the birth is not.
  expect(textsOf((await popItems(warm, queue)).items)).toEqual(['"new"'])
})

it('An acknowledge that may yet land is not refused because the lock has ended since.', async () => {
  const { stage, queue, queues } = await holding(named('a', 1))
  const { lock } = await lockItems(queues, queue, { ttlSeconds: 5 })
  let sent = 0
  queues.wire.steering = {
    before: ({ name }) => {
      if (name !== 'UpdateCommand') return
      sent += 1
      if (sent > 1) return
      stage.clock.pass(6_000)
      throw timedOut()
    },
  }
  const refused = queues.acknowledge(queue, { lockId: lock.id })
  await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
})

const settlings: readonly [string, (queues: Queues, lockId: string) => Promise<unknown>][] = [
  ['A release', (queues, lockId) => queues.release(QUEUE, { lockId })],
  ['An acknowledgement', (queues, lockId) => queues.acknowledge(QUEUE, { lockId })],
  ['An extension', (queues, lockId) => queues.extend(QUEUE, { lockId, ttlSeconds: 60 })],
]

it.each(settlings)(
  '%s whose answer was lost says so, though the record has a newer format by its next sending.',
  async (_, settle) => {
    const { stage, queues } = onSimulated()
    await push(queues, QUEUE, named('a', 2))
    const { lock } = await lockItems(queues, QUEUE)
    const stored = await stage.stored(QUEUE)
    if (stored === undefined) throw new Error('unreachable')
    let sent = 0
    queues.wire.steering = {
      before: async ({ name }) => {
        if (name !== 'UpdateCommand') return
        sent += 1
        if (sent === 1) throw timedOut()
        await stage.plant({ ...stored, fm: 2 })
      },
    }
    const refused = settle(queues, lock.id)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(sent).toBe(2)
  },
)

it("A queue's first push whose answer was lost is not sent again, because it may yet land.", async () => {
  const stage = openSimulated()
  const queues = stage.engine({
    before({ name }) {
      if (name === 'PutCommand') throw timedOut()
    },
  })
  const refused = push(queues, QUEUE, named('a', 1))
  await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
  const sent = queues.wire.sent.map(({ name }) => name)
  expect(sent).toEqual(['UpdateCommand', 'GetCommand', 'PutCommand', 'GetCommand'])
})

it('A push whose answer was lost, and which is not to be found, does not say that nothing happened.', async () => {
  const { queues } = onSimulated()
  await push(queues, QUEUE, named('a', 1))
  queues.wire.steering = {
    before({ name }) {
      if (name === 'UpdateCommand') throw timedOut()
    },
  }
  const refused = push(queues, QUEUE, named('b', 1))
  await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
})
