import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { QueueError } from '../../shared/errors.ts'
import { openSimulated, Stage } from './stage.ts'
import { bulky, drain, lockItems, named, push } from './traffic.ts'
import { timedOut } from './wire.ts'

// A purge of items for later that the record itself refers to, in batches.

type Opened = ReturnType<typeof openSimulated>

const leftOf = async (stage: Opened, kinds = /^[tb]#/): Promise<number> =>
  (await stage.store.rows()).filter(({ pk }) => kinds.test(`${pk}`)).length

const bulk = (name: string, delaySeconds: number) =>
  Array.from({ length: 20 }, (_, n) => ({ text: bulky(`${name}${n}`, 100), delaySeconds }))

/** The record has two references; nothing is in rows. */
async function holding(): Promise<{ stage: Opened; queue: string }> {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  await push(queues, queue, named('now', 5))
  await push(queues, queue, bulk('a', 100))
  await push(queues, queue, bulk('b', 200))
  expect((await stage.record(queue)).scheduled).toMatchObject({ seals: 0, items: 40 })
  return { stage, queue }
}

const isWrite = (name: string): boolean => /^(Update|TransactWrite)Command$/.test(name)

/** A process that dies once so many writes of records are made. */
function dyingAfter(stage: Opened, writes: number) {
  let left = writes
  return stage.engine({
    before({ name }) {
      left -= isWrite(name) ? 1 : 0
      if (left < 0) throw timedOut()
    },
    after({ name }) {
      if (left <= 0 && !isWrite(name)) throw timedOut()
    },
  })
}

it('A purge leaves no batch that the record referred to.', async () => {
  const { stage, queue } = await holding()
  expect(await leftOf(stage)).toBe(2)
  expect(await stage.engine().purge(queue)).toEqual({ itemsPurged: 45 })
  expect(await leftOf(stage)).toBe(0)
  expect((await stage.record(queue)).scheduled.purged).toEqual([])
})

it('The batches of a purge that died right after its write are deleted by the sweeper.', async () => {
  const { stage, queue } = await holding()
  await expect(dyingAfter(stage, 1).purge(queue)).rejects.toThrow()
  expect(await stage.engine().inspect(queue)).toMatchObject({ count: 5, scheduledCount: 0 })
  expect(await leftOf(stage, /^b#/)).toBe(2)
  stage.clock.pass(70_000)
  await stage.engine().returnExpiredLocks()
  expect(await leftOf(stage)).toBe(0)
})

it('Batches are deleted even if a read does not show yet which they are.', async () => {
  const { stage, queue } = await holding()
  const { dynamodb } = stage.store
  const blind = new Stage(
    Object.assign(Object.create(stage.store), {
      dynamodb: {
        async send(command: never) {
          const answer = (await dynamodb.send(command)) as { Items?: { sk: string }[] }
          if (!((command as object) instanceof QueryCommand)) return answer
          return { ...answer, Items: answer.Items?.filter(({ sk }) => !sk.startsWith('~')) }
        },
      },
    }),
  )
  await blind.engine({ clock: stage.clock }).purge(queue)
  expect(await leftOf(stage)).toBe(0)
})

it('A purge whose answer was lost leaves a batch alone that has joined its lane.', async () => {
  const { stage, queue } = await holding()
  stage.clock.pass(150_000)
  let meanwhile = async (): Promise<void> => {
    meanwhile = async () => {}
    const consumer = stage.engine()
    await lockItems(consumer, queue, { count: 25 })
    await expect(dyingAfter(stage, 1).purge(queue)).rejects.toThrow()
    throw timedOut()
  }
  let writes = 0
  const first = stage.engine({
    async before({ name }) {
      writes += isWrite(name) ? 1 : 0
      if (writes > 0) await meanwhile()
      if (writes > 1) throw timedOut()
    },
  })
  await expect(first.purge(queue)).rejects.toThrow()
  stage.clock.pass(1_000_000)
  await stage.engine().returnExpiredLocks()
  expect(await drain(stage.engine(), queue)).toHaveLength(25)
})

it('A purge that has to wait for the rows of many before it empties the lanes all the same, and says so.', async () => {
  const { stage, queue } = await holding()
  const denied = () =>
    stage.engine({
      before({ name }) {
        if (name === 'BatchWriteCommand') throw new Error('AccessDeniedException')
      },
    })
  for (let purges = 0; purges < 16; purges += 1) {
    await denied().purge(queue)
    await push(stage.engine(), queue, bulk('c', 100))
  }
  await push(stage.engine(), queue, named('new', 7))
  const slow = stage.engine({
    before({ name }) {
      if (name === 'QueryCommand') stage.clock.pass(6_000)
    },
  })
  const error = await slow.purge(queue).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(QueueError)
  expect(error).toMatchObject({ code: 'BUSY', outcome: 'unknown' })
  expect(await stage.engine().inspect(queue)).toMatchObject({ count: 0, scheduledCount: 20 })
  expect(await stage.engine().purge(queue)).toEqual({ itemsPurged: 20 })
  expect(await leftOf(stage)).toBe(0)
})
