import { expect, it } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { transactionCanceledByConflict } from '../../testing/simulated/network.ts'
import '../support/engine-loaded.ts'
import { openSimulated } from './stage.ts'
import { lockItems, named, popItems, push } from './traffic.ts'
import { losingRaces } from './wire.ts'

// A process remembers a record whose rows a read may not show yet. When another process has joined those rows, the
// remembered record still says that something is due: it must not lead to "empty", "locked" or a refusal.

const opened = () => {
  const stage = openSimulated()
  const [pops, producer, wake] = [stage.engine(), stage.engine(), stage.engine()]
  return { stage, pops, producer, wake, queue: stage.queue() }
}

type PutOff = Pick<ReturnType<typeof opened>, 'stage' | 'producer' | 'queue'>

/** The record names the row of a moved item until the next seal or join. */
async function putOff({ stage, producer, queue }: PutOff): Promise<void> {
  const { ids } = await push(producer, queue, [{ text: '"later"', delaySeconds: 600 }])
  await producer.move(queue, { ids, deliverAtMs: stage.clock.now + 20_000 })
  expect((await stage.record(queue)).scheduled.unseen).toHaveLength(1)
}

const textsOf = async (pops: Queues, queue: string, count = 100) => {
  const popped = await pops.pop(queue, { count })
  return popped.kind === 'items' ? popped.items.map(({ text }) => text) : popped.kind
}

it('A process that remembers a row which others have joined since pops its items, and all that came after.', async () => {
  const { stage, pops, producer, wake, queue } = opened()
  await putOff({ stage, producer, queue })
  expect(await textsOf(pops, queue)).toBe('empty')
  stage.clock.pass(60_000)
  await wake.returnExpiredLocks()
  await push(producer, queue, named('now', 2))
  expect(await textsOf(pops, queue)).toEqual(['"later"', '"now0"', '"now1"'])
  expect(await textsOf(pops, queue)).toBe('empty')
})

it('A process that remembers the rows of a seal which others have joined since pops their items.', async () => {
  const { stage, pops, producer, wake, queue } = opened()
  const dueMs = stage.clock.now + 60_000
  let pushes = 0
  do {
    await push(producer, queue, [{ text: String(pushes), deliverAtMs: dueMs }])
    pushes += 1
  } while ((await stage.record(queue)).scheduled.seals === 0)
  expect(await textsOf(pops, queue)).toBe('empty')
  stage.clock.pass(120_000)
  await wake.returnExpiredLocks()
  expect(await textsOf(pops, queue)).toEqual(Array.from({ length: pushes }, (_, n) => String(n)))
})

it('A process that remembers such a row also joins what has come due in the record since.', async () => {
  const { stage, pops, producer, wake, queue } = opened()
  await putOff({ stage, producer, queue })
  expect(await textsOf(pops, queue)).toBe('empty')
  stage.clock.pass(30_000)
  await wake.returnExpiredLocks()
  expect(await textsOf(wake, queue)).toEqual(['"later"'])
  await push(producer, queue, [{ text: '"second"', delaySeconds: 10 }])
  stage.clock.pass(20_000)
  expect(await textsOf(pops, queue)).toEqual(['"second"'])
})

it('A process that remembers such a row is not kept out by a lock that was acknowledged long ago.', async () => {
  const { stage, pops, producer, wake, queue } = opened()
  await push(producer, queue, named('now', 1))
  await putOff({ stage, producer, queue })
  const held = await lockItems(producer, queue, { ttlSeconds: 300 })
  expect(await textsOf(pops, queue)).toBe('locked')
  await producer.acknowledge(queue, { lockId: held.lock.id })
  stage.clock.pass(60_000)
  await wake.returnExpiredLocks()
  expect(await textsOf(pops, queue)).toEqual(['"later"'])
})

it('Items that are free are popped while transactions on their record conflict.', async () => {
  const { stage, producer, queue } = opened()
  const pops = stage.engine({
    before({ name }) {
      if (name === 'TransactWriteCommand') throw transactionCanceledByConflict(2)
    },
  })
  await putOff({ stage, producer, queue })
  expect(await textsOf(pops, queue)).toBe('empty')
  await push(producer, queue, named('now', 2))
  stage.clock.pass(30_000)
  expect(await textsOf(pops, queue)).toEqual(['"now0"', '"now1"'])
})

it('A join that is refused because another one lands meanwhile does not answer "empty".', async () => {
  const { stage, producer, wake, queue } = opened()
  await putOff({ stage, producer, queue })
  stage.clock.pass(30_000)
  let isFirst = true
  const pops = stage.engine({
    async before({ name }) {
      if (name !== 'TransactWriteCommand') return
      if (isFirst) await wake.returnExpiredLocks()
      isFirst = false
      throw transactionCanceledByConflict(2)
    },
  })
  // It has just read the record, by which the item is still in its row.
  expect(await textsOf(pops, queue)).toEqual(['"later"'])
})

it('A pop that has just read the record asks again about a row that others join before it reads the rows.', async () => {
  const { stage, producer, wake, queue } = opened()
  await putOff({ stage, producer, queue })
  stage.clock.pass(30_000)
  let isFirst = true
  const pops = stage.engine({
    async before({ name }) {
      if (name !== 'QueryCommand' || !isFirst) return
      isFirst = false
      await wake.returnExpiredLocks()
    },
  })
  expect(await textsOf(pops, queue)).toEqual(['"later"'])
})

it('A pop that pauses after lost races passes over nothing that has come due in the pause.', async () => {
  const { stage, producer, queue } = opened()
  await push(producer, queue, named('a', 5, 5))
  const races = losingRaces(2, () => popItems(stage.engine(), queue))
  let isDue = false
  const clock = {
    nowMs: () => stage.clock.now,
    async sleep(ms: number) {
      isDue = true
      await push(producer, queue, [{ text: '"due"', delaySeconds: 1 }])
      stage.clock.pass(2_000 + ms)
    },
  }
  expect(await textsOf(stage.engine({ ...races, clock }), queue, 1)).toEqual(['"due"'])
  expect([isDue, races.lost]).toEqual([true, 2])
})
