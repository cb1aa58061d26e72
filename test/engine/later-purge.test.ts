import { expect, it } from 'vitest'
import { openSimulated } from './stage.ts'
import { bulky, drain, named, push } from './traffic.ts'
import { timedOut } from './wire.ts'

// A purge of a queue that has very much for later in rows.

type Stage = ReturnType<typeof openSimulated>

/** Rows, and in them references to batches, that the queue still has. */
const leftOf = async (stage: Stage, kinds = /^[tb]#/): Promise<number> =>
  (await stage.store.rows()).filter(({ pk }) => kinds.test(`${pk}`)).length

/** Rows in some hundred seconds, batches among them, beside items of two lanes. */
async function holding(): Promise<{ stage: Stage; queue: string; count: number }> {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  for (let n = 0; n < 120; n += 1) {
    await push(queues, queue, [{ text: bulky(`n${n}`, 100), delaySeconds: 1_000 + n }])
  }
  for (let n = 0; n < 40; n += 1) {
    const some = Array.from({ length: 20 }, (_, m) => ({
      text: bulky(`b${n}.${m}`, 100),
      delaySeconds: 2_000 + n,
    }))
    await push(queues, queue, some)
  }
  await push(queues, queue, named('now', 3))
  await push(queues, queue, named('then', 2, 7))
  return { stage, queue, count: 120 + 800 + 5 }
}

/** An engine by whose clock each query of what is scheduled takes so long. */
const slow = (stage: Stage, ms: number) =>
  stage.engine({
    before({ name, input }) {
      if (name === 'QueryCommand' && JSON.stringify(input).includes('"t#')) stage.clock.pass(ms)
    },
  })

it('A purge answers in time, with its lanes empty, and the sweeper deletes the rows that are left.', async () => {
  const { stage, queue, count } = await holding()
  const atMs = stage.clock.nowMs()
  expect(await slow(stage, 3_000).purge(queue)).toEqual({ itemsPurged: count })
  expect(stage.clock.nowMs() - atMs).toBeLessThan(10_000)
  expect(await stage.engine().inspect(queue)).toMatchObject({ count: 0, scheduledCount: 0 })
  expect(await leftOf(stage)).toBeGreaterThan(0)
  const { checkAtMs = 0 } = await stage.record(queue)
  expect(checkAtMs).toBeLessThanOrEqual(atMs + 60_000)
  stage.clock.pass(70_000)
  await stage.engine().returnExpiredLocks()
  expect(await leftOf(stage)).toBe(0)
  expect((await stage.record(queue)).scheduled.purged).toEqual([])
})

it('A purge that died before its lanes were empty is ended by a repetition, and leaves nothing.', async () => {
  const { stage, queue } = await holding()
  let writes = 0
  const dying = stage.engine({
    before({ name }) {
      writes += /^(Update|TransactWrite)Command$/.test(name) ? 1 : 0
      if (writes > 1) throw timedOut()
    },
  })
  await expect(dying.purge(queue)).rejects.toThrow()
  expect(await stage.engine().inspect(queue)).toMatchObject({ count: 5, scheduledCount: 0 })
  expect(await leftOf(stage)).toBeGreaterThan(0)
  expect(await stage.engine().purge(queue)).toEqual({ itemsPurged: 5 })
  expect(await leftOf(stage)).toBe(0)
})

it('The rows of a purge that died are deleted by the sweeper, long before the first would have been due.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  for (let n = 0; n < 40; n += 1) {
    await push(stage.engine(), queue, [{ text: bulky(`n${n}`, 100), delaySeconds: 100_000 + n }])
  }
  const dying = stage.engine({
    before({ name }) {
      if (name === 'BatchWriteCommand') throw timedOut()
    },
  })
  expect(await dying.purge(queue)).toEqual({ itemsPurged: 40 })
  expect(await leftOf(stage)).toBeGreaterThan(0)
  stage.clock.pass(61_000)
  await stage.engine().returnExpiredLocks()
  expect(await leftOf(stage)).toBe(0)
})

it('A queue that was purged is not forgotten before its rows are deleted.', async () => {
  const { stage, queue } = await holding()
  const denied = () =>
    stage.engine({
      before({ name, input }) {
        if (name === 'BatchWriteCommand' && JSON.stringify(input).includes('"t#')) {
          throw new Error('AccessDeniedException')
        }
      },
    })
  await denied().purge(queue)
  for (let n = 0; n < 4; n += 1) {
    stage.clock.pass(700_000)
    await denied().returnExpiredLocks()
  }
  expect((await stage.record(queue)).scheduled.purged).toHaveLength(1)
  for (let n = 0; n < 3; n += 1) {
    stage.clock.pass(700_000)
    await stage.engine().returnExpiredLocks()
  }
  expect(await leftOf(stage)).toBe(0)
  expect(await stage.stored(queue)).toBeUndefined()
})

it('Purges one after another, whose rows are all there yet, leave what came after them.', async () => {
  const { stage, queue } = await holding()
  await slow(stage, 6_000).purge(queue)
  const soon = (name: string) =>
    Array.from({ length: 30 }, (_, n) => ({
      text: bulky(`${name}${n}`, 100),
      delaySeconds: 50 + n,
    }))
  for (const item of soon('second')) await push(stage.engine(), queue, [item])
  await slow(stage, 6_000).purge(queue)
  for (const item of soon('third')) await push(stage.engine(), queue, [item])
  expect((await stage.record(queue)).scheduled.purged.length).toBeGreaterThan(0)
  for (let n = 0; n < 3; n += 1) {
    stage.clock.pass(70_000)
    await stage.engine().returnExpiredLocks()
  }
  const texts = (await drain(stage.engine(), queue)).map(({ text }) => text.slice(1, 6))
  expect(texts).toEqual(Array(30).fill('third'))
  expect(await leftOf(stage, /^t#/)).toBe(0)
})
