import { expect, it } from 'vitest'
import { useEmbedded } from './stage.ts'
import { codeOf, drain, expectCode, lockItems, named, popItems, push } from './traffic.ts'

const stage = useEmbedded()

it('A queue takes exactly as many items as its capacity, from any number of producers.', async () => {
  const queue = stage.queue()
  await stage.engine().configure(queue, { capacity: 25 })
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, async (_, producer) => {
      const queues = stage.engine()
      let pushed = 0
      for (let item = 0; item < 6; item += 1) {
        const call = push(queues, queue, named(`p${producer}-`, 1, producer % 2, item))
        const landed = await call.then(
          () => 1,
          (error: { code: string }) => {
            expect(error.code).toBe('QUEUE_FULL')
            return 0
          },
        )
        pushed += landed
      }
      return pushed
    }),
  )
  expect(outcomes.reduce((sum: number, pushed) => sum + pushed, 0)).toBe(25)
  expect(await drain(stage.engine(), queue)).toHaveLength(25)
})

it('A bulk push that would not fit as a whole stores nothing, no batch either.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { capacity: 100 })
  await push(queues, queue, named('a', 60))
  await expectCode(push(queues, queue, named('b', 41)), 'QUEUE_FULL')
  await expectCode(push(stage.engine(), queue, named('b', 1_000)), 'QUEUE_FULL')
  expect(await stage.rows(queue, 'b')).toHaveLength(1)
  await push(queues, queue, named('c', 40))
  expect((await queues.inspect(queue, { consistent: true })).count).toBe(100)
})

it('A push of more items than the capacity says that it can never fit; one that may fit later does not.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { capacity: 3 })
  await push(queues, queue, named('a', 1))
  const pushOf = (count: number) => push(queues, queue, named('b', count))
  await expect(pushOf(4)).rejects.toMatchObject({ code: 'QUEUE_FULL', retryable: false })
  await expect(pushOf(3)).rejects.toMatchObject({ code: 'QUEUE_FULL', retryable: true })
})

it('Room returns when items are settled, not when they are locked.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { capacity: 4 })
  await push(queues, queue, named('a', 4))
  const { lock } = await lockItems(queues, queue, { count: 3 })
  await expectCode(push(queues, queue, named('b', 1)), 'QUEUE_FULL')
  await queues.release(queue, { lockId: lock.id })
  await expectCode(push(queues, queue, named('b', 1)), 'QUEUE_FULL')
  await popItems(queues, queue, { count: 1 })
  await push(queues, queue, named('b', 1))
  const next = await lockItems(queues, queue, { count: 2 })
  await queues.acknowledge(queue, { lockId: next.lock.id })
  // What is acknowledged makes room before anyone is told that the queue is full.
  await push(queues, queue, named('c', 2))
  expect(await codeOf(push(queues, queue, named('c', 4)))).toBe('QUEUE_FULL')
  await queues.purge(queue)
  await push(queues, queue, named('d', 4))
})

it('Raised, lowered and taken away, a capacity counts from what is there.', async () => {
  const { queues, queue } = await stage.holding(named('a', 10))
  await queues.configure(queue, { capacity: 5 })
  await expectCode(push(queues, queue, named('b', 1)), 'QUEUE_FULL')
  await popItems(queues, queue, { count: 6 })
  await push(queues, queue, named('b', 1))
  await expectCode(push(queues, queue, named('b', 1)), 'QUEUE_FULL')
  await queues.configure(queue, { capacity: 7 })
  await push(queues, queue, named('c', 2))
  await expectCode(push(queues, queue, named('c', 1)), 'QUEUE_FULL')
  await queues.configure(queue, { capacity: null })
  await push(queues, queue, named('d', 1_000))
  expect((await queues.inspect(queue, { consistent: true })).count).toBe(1_007)
})

it('Items that come to a dead-letter queue do not ask for room.', async () => {
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(`${queue}-deadletter`, { capacity: 1 })
  await queues.configure(queue, { capacity: 3 })
  await push(queues, queue, named('a', 3))
  const { lock } = await lockItems(queues, queue, { count: 3 })
  await queues.deadLetter(queue, { lockId: lock.id })
  expect((await queues.inspect(`${queue}-deadletter`, { consistent: true })).count).toBe(3)
  await push(queues, queue, named('b', 3))
  // Nor do those that are brought back.
  expect(await queues.redrive(`${queue}-deadletter`)).toEqual({ itemsRedriven: 3, itemsLeft: 0 })
  await expectCode(push(queues, queue, named('c', 1)), 'QUEUE_FULL')
  expect(await drain(queues, queue)).toHaveLength(6)
  await push(queues, queue, named('c', 3))
})
