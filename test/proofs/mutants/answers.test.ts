import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { TAIL_SOFT_BYTES } from '../../../engine/core/limits.ts'
import { onSimulated, openSimulated, Stage } from '../../engine/stage.ts'
import { codeOf, drain, lockItems, named, pushOneByOne, textsOf } from '../../engine/traffic.ts'
import { throttled, timedOut } from '../../engine/wire.ts'

/** What an answer may depend on, and what not. */

const isRow = (input: Readonly<Record<string, unknown>>): boolean =>
  JSON.stringify(input).includes('"s#')

it('A push is answered by its append alone: it succeeds if its seal cannot.', async () => {
  const { stage, queue } = onSimulated()
  const queues = stage.engine({
    before: ({ input }) => {
      if (isRow(input)) throw timedOut()
    },
  })
  const items = named('a', 100)
  expect(await pushOneByOne(queues, queue, items)).toHaveLength(100)
  expect((await stage.record(queue)).tailBytes).toBeGreaterThan(TAIL_SOFT_BYTES)
  expect(stage.background.map(({ step }) => step)).toContain('seal')
  expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(items))
})

it('A tail that nobody can seal is full at its hard cap.', async () => {
  const { stage, queue } = onSimulated()
  const queues = stage.engine({
    before: ({ input }) => {
      if (isRow(input)) throw timedOut()
    },
  })
  const items = named('a', 1_000)
  expect(await codeOf(pushOneByOne(queues, queue, items))).toBe('BUSY')
  expect((await stage.record(queue)).tailBytes).toBeLessThan(20 * 1024)
})

it('A claim and an acknowledge are answered alone: they succeed if their fold cannot.', async () => {
  const { stage, queue } = onSimulated()
  await pushOneByOne(stage.engine(), queue, named('a', 60))
  await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 200 })
  const isFenced = ({ UpdateExpression }: Readonly<Record<string, unknown>>): boolean =>
    /\bv=:/.test(String(UpdateExpression))
  const queues = stage.engine({
    before: ({ input }) => {
      if (isFenced(input)) throw timedOut()
    },
  })
  const request = { competing: true, ttlSeconds: 250 }
  let acknowledge = (await lockItems(queues, queue, request)).lock.id
  for (let pops = 0; pops < 30; pops += 1) {
    acknowledge = (await lockItems(queues, queue, { ...request, acknowledge })).lock.id
  }
  expect(stage.background.map(({ step }) => step)).toContain('fold')
  await queues.acknowledge(queue, { lockId: acknowledge })
})

it('A row that an eventually consistent read does not show yet is found by a strong one.', async () => {
  const { store } = openSimulated()
  const lagging = new Stage({
    ...store,
    dynamodb: {
      send: async (command: never) => {
        const answer = await store.dynamodb.send(command)
        const { input } = command as QueryCommand
        const isStale = (command as object) instanceof QueryCommand && !input.ConsistentRead
        return isStale ? { Items: [] } : answer
      },
    },
  })
  const queue = lagging.queue()
  await pushOneByOne(lagging.engine(), queue, named('a', 200))
  expect((await lagging.record(queue)).lanes.get(0)?.sealed).toBeGreaterThan(0)
  expect(textsOf(await drain(lagging.engine(), queue))).toEqual(textsOf(named('a', 200)))
})

it('A write that is sent again, and then refused, may have been made by its first sending.', async () => {
  const { stage, queue } = onSimulated()
  await pushOneByOne(stage.engine(), queue, named('a', 3))
  let writes = 0
  const queues = stage.engine({
    before: ({ name }) => {
      if (name !== 'UpdateCommand') return
      writes += 1
      throw writes === 1 ? timedOut() : throttled()
    },
  })
  await expect(queues.pop(queue)).rejects.toMatchObject({ outcome: 'unknown' })
})

it('A purge that fails after a part of it was done does not say that nothing happened.', async () => {
  const { stage, queue } = onSimulated()
  const items = Array.from({ length: 300 }, (_, priority) => ({ text: '1', priority }))
  for (const from of [0, 100, 200]) {
    await stage.engine().push(queue, { items: items.slice(from, from + 100) })
  }
  let writes = 0
  const queues = stage.engine({
    before: ({ name }) => {
      if (name === 'UpdateCommand') writes += 1
      if (writes > 1) throw throttled()
    },
  })
  await expect(queues.purge(queue)).rejects.toMatchObject({ outcome: 'unknown' })
})

it('A claim whose items cannot be read does not say that nothing happened.', async () => {
  const { stage, queue } = onSimulated()
  await pushOneByOne(stage.engine(), queue, named('a', 200))
  await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 100 })
  const queues = stage.engine({
    before: ({ name }) => {
      if (name === 'QueryCommand') throw timedOut()
    },
  })
  const request = { competing: true, requireAck: true, ttlSeconds: 200 }
  await expect(queues.pop(queue, request)).rejects.toMatchObject({ outcome: 'unknown' })
})
