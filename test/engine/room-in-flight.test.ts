import { beforeEach, describe, expect, it } from 'vitest'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { onSimulated } from './stage.ts'
import { expectCode, idsOf, lockItems, named, push, tidy } from './traffic.ts'

const competing = { competing: true, requireAck: true }

const setUp = async (maxDeliveries?: number) => {
  const { stage, queues, queue } = onSimulated()
  await queues.configure(queue, { maxDeliveries })
  for (let from = 0; from < 3_000; from += 1_000) {
    await push(queues, queue, named('a', 1_000, 0, from))
  }
  const events = () => stage.announced.filter((line) => line === `${queue}: items-available`)
  return { stage, queues, queue, events }
}

/** Locks as many items as a queue may have in flight, and finds that it gets no more. */
const crowd = async ({ queues, queue }: Awaited<ReturnType<typeof setUp>>) => {
  const locks: Awaited<ReturnType<typeof lockItems>>[] = []
  for (let n = 0; n < 20; n += 1) {
    const ttlSeconds = 30
    locks.push(await lockItems(queues, queue, { competing: true, count: 100, ttlSeconds }))
  }
  await expectCode(queues.pop(queue, competing), 'TOO_MANY_LOCKS')
  return locks
}

describe('A consumer that was refused because too much was in flight', () => {
  let world: Awaited<ReturnType<typeof setUp>>

  describe('of which each item is dead once its lock ends', () => {
    beforeEach(async () => {
      world = await setUp(1)
    })

    it('is called when the first of the dead have moved, and not again for the rest of them.', async () => {
      const { stage, queues, queue, events } = world
      await crowd(world)
      stage.clock.pass(30_000)
      await queues.wake({ untilMs: stage.clock.now, deadlineMs: stage.clock.now + 60_000 })
      await expectCode(queues.pop(queue, competing), 'TOO_MANY_LOCKS')
      stage.announced.length = 0
      await tidy(queues, queue)
      expect(await queues.inspect(deadLetterQueueOf(queue), { consistent: true })).toMatchObject({
        count: 2_000,
      })
      expect(events()).toEqual([`${queue}: items-available`])
    })
  })

  describe('of which some were dead before the last were locked', () => {
    beforeEach(async () => {
      world = await setUp(1)
    })

    it('is called when the dead have moved, though claims came between.', async () => {
      const { stage, queues, queue, events } = world
      await lockItems(queues, queue, { competing: true, count: 100, ttlSeconds: 1 })
      for (let n = 0; n < 18; n += 1) {
        await lockItems(queues, queue, { competing: true, count: 100, ttlSeconds: 300 })
      }
      stage.clock.pass(1_500)
      await queues.wake({ untilMs: stage.clock.now, deadlineMs: stage.clock.now + 60_000 })
      let isFull = false
      const mover = stage.engine({
        before: async ({ name }) => {
          if (name !== 'TransactWriteCommand' || isFull) return
          isFull = true
          await lockItems(queues, queue, { competing: true, count: 100, ttlSeconds: 300 })
          await expectCode(queues.pop(queue, competing), 'TOO_MANY_LOCKS')
          stage.announced.length = 0
        },
      })
      await mover.housekeep(queue)
      expect(isFull).toBe(true)
      expect(events()).toEqual([`${queue}: items-available`])
    })
  })

  describe('of which each may be delivered again', () => {
    beforeEach(async () => {
      world = await setUp()
    })

    it('is called when one of the waiting ones is cancelled that leaves no gap.', async () => {
      const { stage, queues, queue, events } = world
      const [first] = await crowd(world)
      const ids = idsOf(first?.items ?? [])
      await queues.release(queue, { lockId: first?.lock.id as string, delaySeconds: 600 })
      await expectCode(queues.pop(queue, competing), 'TOO_MANY_LOCKS')
      stage.announced.length = 0
      await queues.cancel(queue, ids.slice(0, 1))
      expect(events()).toHaveLength(1)
    })

    for (const [how, part] of [
      ['all of its lock', false],
      ['a part of its lock', true],
    ] as const) {
      it(`is not called when a holder acknowledges ${how}: the holder pops again.`, async () => {
        const { stage, queues, queue, events } = world
        const [first] = await crowd(world)
        stage.announced.length = 0
        const lockId = first?.lock.id as string
        const ids = idsOf(first?.items ?? []).slice(0, 10)
        await queues.acknowledge(queue, part ? { lockId, ids } : { lockId })
        await queues.pop(queue, { count: 1 })
        expect(events()).toEqual([])
        expect((await lockItems(queues, queue, competing)).items).toHaveLength(1)
      })
    }
  })
})
